import Glibc
import Sealift

/// Finds the configuration file and reads it.
enum ConfigurationFile {
  /// - Parameter named: the value of `--config`.
  /// - Throws: `OperationError` of kind `.usage` when a file that was named is not there, or when the file is wrong. No
  ///   file in any of the usual places is no error: a URL on the command line needs none.
  static func load(named: String?) throws -> Configuration {
    try Environment.demandText()
    if let named { return try read(named, because: "--config") }
    if let variable = Environment.filled("SEALIFT_CONFIG") { return try read(variable, because: "SEALIFT_CONFIG") }
    for place in usualPlaces where place.mayBeThere {
      return try read(place.path, because: nil, isTrusted: place.isTrusted)
    }
    return Configuration()
  }

  /// In the order they are looked at.
  private static var usualPlaces: [ConfigurationPlace] {
    let own = [("XDG_CONFIG_HOME", "sealift"), ("HOME", ".config/sealift")].compactMap { variable, way in
      Environment.folder(variable).map { ConfigurationPlace(path: "\($0)/\(way)/config.json", folder: $0) }
    }
    return own + [ConfigurationPlace(path: "/etc/sealift/config.json", folder: nil)]
  }

  private static let wayOut =
    "Make it readable for this user, take it away, name the one that is meant with --config, or set HOME to a "
    + "folder of this user's."

  private static func read(_ path: String, because reason: String?, isTrusted: Bool = true) throws -> Configuration {
    let bytes: [UInt8]
    do {
      bytes = try CommandingFile.read(Paths.expanded(path) ?? path, limit: 1 << 20, isTrusted: isTrusted)
    } catch {
      try demandOwn(path, error.reason)
      throw OperationError(
        .usage, code: "configurationUnreadable",
        "cannot read the configuration \(path)\(reason.map { " named by \($0)" } ?? ""): \(error.reason)",
        hint:
          reason == nil
          ? wayOut
          : "Without a configuration a target can be given as a URL: `sealift --target file:///srv/backup push ./app.db`."
      )
    }
    return try Configuration(json: bytes, file: path)
  }

  /// - Throws: where it can be read, and is not to be obeyed.
  private static func demandOwn(_ path: String, _ reason: String) throws {
    let hint: String
    switch reason {
    case CommandingFile.exposed: hint = "Close it with `chmod o-w \(path)`, and see what it says now."
    case CommandingFile.foreign:
      hint =
        "Name it with --config or SEALIFT_CONFIG where it is to be obeyed all the same, or set HOME (or "
        + "XDG_CONFIG_HOME) to a folder of root's that not everybody may write to."
    default: return
    }
    throw OperationError(
      .usage, code: "configurationExposed",
      "the configuration \(path) is not obeyed: \(reason), and it names commands that are run", hint: hint)
  }
}

/// Paths as people write them.
enum Paths {
  /// `~/` is the home folder.
  /// - Returns: `nil` where it is not known: then a folder called `~` must not be taken for it.
  static func expanded(_ path: String) -> String? {
    guard path.hasPrefix("~/") else { return path }
    return Environment.folder("HOME").map { $0 + path.dropFirst() }
  }

  /// The same for who only tells it: as it is where that cannot be.
  static func absolute(_ path: String) -> String { (try? fromRoot(path)) ?? path }

  /// From the root, without `.` parts; links and `..` are left to the system.
  /// - Throws: `.usage` where the name of the working folder is no text: what is made of it names another place.
  static func fromRoot(_ path: String) throws -> String {
    if path.hasPrefix("/") { return path }
    guard let buffer = getcwd(nil, 0) else { return path }
    defer { free(buffer) }
    guard let folder = String(validatingCString: buffer) else {
      throw OperationError(
        .usage, "the name of the working folder is not UTF-8: it cannot be told where \(path) is",
        hint: "Change to a folder whose name is UTF-8, or give a path that begins with '/'.")
    }
    var relative = path[...]
    while relative.hasPrefix("./") { relative = relative.dropFirst(2).drop { $0 == "/" } }
    return folder == "/" ? "/\(relative)" : "\(folder)/\(relative)"
  }

  /// Without links and detours where the file exists; else as it is.
  static func resolved(_ path: String) -> String {
    guard let buffer = realpath(path, nil) else { return path }
    defer { free(buffer) }
    return String(cString: buffer)
  }

  /// Both are the same place, in bytes: letters that only look alike are those of two.
  static func leadToOnePlace(_ path: String, _ other: String) -> Bool {
    resolved(path).utf8.elementsEqual(resolved(other).utf8)
  }

  /// The database's name for a path: its file without folder and extension.
  static func databaseName(_ path: String) -> String? {
    let file = path.split(separator: "/").last.map(String.init) ?? ""
    guard let dot = file.lastIndex(of: "."), dot != file.startIndex else { return file.isEmpty ? nil : file }
    return String(file[..<dot])
  }

  /// A folder that was named to work in. Where it is missing a disk may not be mounted, and plain copies of databases would
  /// come to lie on the one below.
  /// - Returns: it from the root.
  /// - Throws: `.usage` where there is none.
  static func existingFolder(_ path: String) throws -> String {
    guard isFolder(path) else {
      throw OperationError(
        .usage, code: "noFolder", "there is no folder '\(path)'", hint: "Make it, or name another one.")
    }
    return try fromRoot(path)
  }

  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  static func isFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }
}
