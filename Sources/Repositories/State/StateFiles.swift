import Glibc
import Storage

/// Small private files of the state folder: 0600 in 0700 folders, replaced whole, durable when written.
///
/// Nothing here is ever needed to restore: a lost or broken state file costs bytes or a remark, never a version.
package enum StateFiles {
  /// Makes the folder and its parents, 0700, with names that are durable.
  /// - Throws: `.stateFolder` when it cannot be made, or when another user was there first (`PlantedEntry`).
  package static func makeFolder(_ path: String) throws(RepositoryError) {
    var made = PathSteps.isAbsolute(path) ? "/" : "."
    for component in PathSteps.of(path) {
      let parent = made
      made += (made.hasSuffix("/") ? "" : "/") + component
      if mkdir(made, 0o700) == 0 {
        // What is written durably in it is lost with its name.
        try synchronizeFolder(of: made)
      } else if errno != EEXIST {
        throw failure("cannot make the folder \(made)", errno)
      }
      if let refusal = PlantedEntry.refusal(of: made, in: parent, foldersToo: true) {
        throw RepositoryError(
          .stateFolder, refusal,
          hint: "Copies of databases would pass through their hands: name a folder where only this user makes names.")
      }
    }
  }

  /// The content, or `nil` when there is no such file. Refuses more than `limit` bytes.
  /// - Parameters:
  ///   - owners: users whose file it has to be; anybody's, where none are given.
  ///   - demandsFolder: nobody knows what was in a folder that a file stands in the place of.
  package static func read(
    _ path: String, limit: Int = 64 << 20, of owners: [UInt32]? = nil, demandsFolder: Bool = false
  ) throws(RepositoryError) -> [UInt8]? {
    let descriptor = open(path, readFlags)
    guard descriptor >= 0 else {
      let number = errno
      let isAbsent = number == ENOTDIR && !(demandsFolder && isOther(thanFolder: PathSteps.folder(of: path)))
      if number == ENOENT || isAbsent { return nil }
      throw failure("cannot read \(path)", number)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("cannot read \(path)", errno) }
    guard isFile(status) else { throw failure("cannot read \(path): it is no file") }
    guard status.st_size <= limit else { throw failure("cannot read \(path)", EFBIG) }
    if let owners, !owners.contains(status.st_uid) { throw failure("\(path) is another user's", EPERM) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let problem = bytes.withUnsafeMutableBytes { fill($0, from: descriptor, at: 0) }
    guard problem == 0 else { throw failure("cannot read \(path)", problem) }
    return bytes
  }

  /// For a file that is not to be held in memory: hands out its descriptor and its length in bytes.
  /// - Returns: what `body` made of it; `nil` when there is no such file.
  static func reading<Value>(_ path: String, _ body: (_ descriptor: Int32, _ length: Int) -> Value?) -> Value? {
    let descriptor = open(path, readFlags)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    return fstat(descriptor, &status) == 0 && isFile(status) ? body(descriptor, Int(status.st_size)) : nil
  }

  /// Not blocking: notes beside a database are read as well, and to open a pipe that somebody planted there under their
  /// name would wait for whoever writes to it.
  private static let readFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY

  private static func isFile(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFREG }

  /// - Returns: 0, or the number of an error; a file that ends before the buffer does is one.
  static func fill(_ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at offset: Int) -> Int32 {
    var rest = buffer[...]
    while !rest.isEmpty {
      let part = UnsafeMutableRawBufferPointer(rebasing: rest)
      let got = pread(descriptor, part.baseAddress, part.count, off_t(offset + buffer.count - rest.count))
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { return got < 0 ? errno : EIO }
      rest = rest.dropFirst(got)
    }
    return 0
  }

  /// Replaces the file: a reader, or a machine that died in between, finds the old content or the new.
  package static func write(_ bytes: [UInt8], to path: String, durably: Bool = true) throws(RepositoryError) {
    try replace(path, durably: durably) { descriptor in bytes.withUnsafeBytes { put($0, to: descriptor) } }
  }

  /// The same, with what `fill` puts into the new file.
  /// - Parameter fill: gets its descriptor; returns 0, or the number of an error.
  static func replace(_ path: String, durably: Bool = true, _ fill: (Int32) -> Int32) throws(RepositoryError) {
    let temporary = "\(path).\(getpid())-\(UInt32.random(in: 0...UInt32.max)).new"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure("cannot write \(path)", errno) }
    var problem = fill(descriptor)
    if problem == 0, durably, fsync(descriptor) != 0 { problem = errno }
    if close(descriptor) != 0, problem == 0 { problem = errno }
    if problem == 0, rename(temporary, path) != 0 { problem = errno }
    guard problem == 0 else {
      unlink(temporary)
      throw failure("cannot write \(path)", problem)
    }
    if durably { try synchronizeFolder(of: path) }
  }

  /// - Returns: 0, or the number of an error.
  static func put(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = UnsafeRawBufferPointer(rebasing: rest)
      let done = Glibc.write(descriptor, part.baseAddress, part.count)
      if done < 0, errno != EINTR { return errno }
      rest = rest.dropFirst(max(0, done))
    }
    return 0
  }

  /// The names in a folder but those that begin with a dot; none when it cannot be read.
  package static func names(in path: String) -> [String] { (try? everyName(in: path)) ?? [] }

  /// The same of a folder whose content protects: only one that is not there has none, and nobody knows what was in one
  /// that a file stands in the place of.
  static func everyName(in path: String) throws(RepositoryError) -> [String] {
    guard let folder = opendir(path) else {
      let number = errno
      let isAbsent = number == ENOTDIR && ![path, PathSteps.folder(of: path)].contains(where: isOther(thanFolder:))
      if number == ENOENT || isAbsent { return [] }
      throw failure("cannot read \(path)", number)
    }
    defer { closedir(folder) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(folder) else {
        guard errno == 0 else { throw failure("cannot read \(path)", errno) }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
  }

  /// Whether something stands in the place of a folder that is none.
  static func isOther(thanFolder path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
  }

  /// How to go on without what of the memory of a chain cannot be read: the line that puts it away, or the file that stands
  /// in the place of its folder.
  static func wayOut(of path: String) -> String {
    let folder = PathSteps.folder(of: path)
    let obstacle = isOther(thanFolder: folder) ? folder : path
    return
      "Make that readable; or, once `sealift list` shows what it should, go on without: mv '\(obstacle)' '\(obstacle).bad'"
  }

  /// Removes what `write` left behind in a folder when its process was killed an hour ago or longer.
  package static func removeAbandoned(in folder: String) {
    var status = stat()
    for name in names(in: folder) where name.hasSuffix(".new") {
      let path = "\(folder)/\(name)"
      if lstat(path, &status) == 0, secondsSince(status.st_mtim) > 3600 { remove(path) }
    }
  }

  package static func remove(_ path: String) { unlink(path) }

  static func synchronizeFolder(of path: String) throws(RepositoryError) {
    let folder = PathSteps.folder(of: path)
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot open \(folder)", errno) }
    defer { close(descriptor) }
    guard synchronizeNames(in: descriptor) == 0 else { throw failure("cannot synchronise \(folder)", errno) }
  }

  static func failure(_ message: String, _ number: Int32) -> RepositoryError {
    failure("\(message): \(String(cString: strerror(number)))")
  }

  private static func failure(_ message: String) -> RepositoryError {
    RepositoryError(
      .stateFolder, message,
      hint:
        "Check space and permissions there. Who moves the state folder (`stateFolder`, else SEALIFT_STATE) copies all of it: another one remembers nothing of what was pushed."
    )
  }
}
