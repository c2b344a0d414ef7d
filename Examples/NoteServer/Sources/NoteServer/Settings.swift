import Foundation

/// What the server is told: by a JSON file that `NOTES_CONFIG` names, and by variables such as `NOTES_DATABASE`, which win.
/// Secrets stand in files of mode 0600 of their own, never in arguments or variables.
struct Settings: Sendable {
  /// The names in the JSON file; `stateFolder` is `NOTES_STATE_FOLDER` as a variable.
  enum Key: String, CaseIterable {
    case database, host, port, target, passphraseFile, keyFile, adminTokenFile, stateFolder, pushEvery

    var variable: String {
      "NOTES_" + rawValue.reduce(into: "") { $0 += $1.isUppercase ? "_\($1)" : $1.uppercased() }
    }
  }

  /// What opens the repository: the file that holds it.
  enum Secret: Sendable {
    case passphraseFile(String)
    case keyFile(String)
  }

  /// The path of the SQLite file. All paths begin with a slash.
  var database: String
  var host = "127.0.0.1"
  /// 0 takes any that is free; the log says which.
  var port = 8080
  /// The folder that versions are pushed to.
  var target: String
  var secret: Secret
  /// What the administrator's requests are known by.
  var adminTokenFile: String
  /// Of this server alone, mode 0700: what Sealift remembers, and copies that are being restored.
  var stateFolder: String
  /// `nil`: nothing is pushed but on demand and before migrations.
  var pushEvery: Duration?

  init(environment: [String: String]) throws {
    var texts: [Key: String] = [:]
    if let file = environment["NOTES_CONFIG"] { texts = try Self.read(file) }
    let keys = Dictionary(uniqueKeysWithValues: Key.allCases.map { ($0.variable, $0) })
    for (name, text) in environment where name.hasPrefix("NOTES_") && name != "NOTES_CONFIG" {
      guard let key = keys[name] else { throw Self.wrong("there is no setting \(name)") }
      texts[key] = text
    }
    func path(_ key: Key) throws -> String {
      guard let path = texts[key] else {
        throw Self.wrong(
          "the setting '\(key.rawValue)' is missing", hint: "Give it in the file, or as \(key.variable).")
      }
      guard path.hasPrefix("/") else { throw Self.wrong("'\(key.rawValue)' is no path that begins with a slash") }
      return path
    }
    func privateFile(_ key: Key) throws -> String {
      let file = try path(key)
      try PrivateFile.demandPrivate(file)
      return file
    }
    func number(_ key: Key, in range: ClosedRange<Int>) throws -> Int? {
      guard let text = texts[key] else { return nil }
      guard let number = Int(text), range.contains(number) else {
        throw Self.wrong("'\(key.rawValue)' is not a number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
    database = try path(.database)
    host = texts[.host] ?? host
    port = try number(.port, in: 0...65535) ?? port
    target = try path(.target)
    guard texts[.keyFile] == nil || texts[.passphraseFile] == nil else {
      throw Self.wrong("there are both 'keyFile' and 'passphraseFile'", hint: "One of them opens the repository.")
    }
    secret =
      if texts[.keyFile] != nil {
        .keyFile(try privateFile(.keyFile))
      } else {
        .passphraseFile(try privateFile(.passphraseFile))
      }
    adminTokenFile = try privateFile(.adminTokenFile)
    stateFolder = try path(.stateFolder)
    pushEvery = try number(.pushEvery, in: 1...1_000_000).map { .seconds($0) }
  }

  /// One flat object of strings and whole numbers; a name that means nothing is an error.
  private static func read(_ path: String) throws -> [Key: String] {
    let document: [String: Text]
    do {
      document = try JSONDecoder().decode([String: Text].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw wrong("\(path) cannot be read as an object of strings and whole numbers: \(error)")
    }
    return try document.reduce(into: [:]) { texts, entry in
      guard let key = Key(rawValue: entry.key) else { throw wrong("\(path): there is no setting '\(entry.key)'") }
      texts[key] = entry.value.text
    }
  }

  private struct Text: Decodable {
    var text: String

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      text = if let number = try? value.decode(Int.self) { String(number) } else { try value.decode(String.self) }
    }
  }

  private static func wrong(_ message: String, hint: String? = nil) -> Failure {
    Failure(
      .internalServerError, code: "settings", message,
      hint: hint ?? "The settings are: \(Key.allCases.map(\.rawValue).joined(separator: ", ")).")
  }
}
