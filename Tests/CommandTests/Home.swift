import FoundationEssentials
import TestKit
import Testing

/// A person's place: a database, a folder target opened by a key file (which costs no scrypt), and a configuration.
struct Home {
  let program: Program
  /// Named in the configuration as `disk`.
  let target: String

  init() throws {
    program = try Program()
    target = "file://\(program.file("target"))"
    try program.write("a key of at least thirty-two bytes, known to nobody\n", to: "key")
    try program.write(
      """
      {"host": "web-1", "stateFolder": "\(program.file("state"))",
       "targets": {"disk": {"url": "\(target)", "keyFile": "\(program.file("key"))"}},
       "databases": {"app": {"path": "\(program.file("app.db"))"}}}
      """, to: "config.json")
    try SQLite.run(
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB); INSERT INTO t(b) VALUES (randomblob(9000)), ('a'), ('b')",
      on: program.file("app.db"))
  }

  func callAsFunction(_ arguments: String...) async throws -> ProgramEnd {
    try await program.start(Program.path, ["--config", program.file("config.json")] + arguments)
  }

  func change() throws { try SQLite.run("INSERT INTO t(b) VALUES (randomblob(3000))", on: program.file("app.db")) }

  /// Runs and expects success.
  @discardableResult
  func must(_ arguments: String...) async throws -> String {
    let ending = try await program.start(Program.path, ["--config", program.file("config.json")] + arguments)
    #expect(ending.status == 0, "\(arguments): \(ending.error)")
    return ending.output
  }

  /// Pushes, and returns what the document says of the one version.
  @discardableResult
  func push(_ arguments: String...) async throws -> Version {
    let ending = try await program.start(
      Program.path, ["--config", program.file("config.json"), "--json", "push"] + arguments)
    #expect(ending.status == 0, "\(ending.error)")
    return try #require(try decoded(Versions.self, ending.output).versions.first)
  }

  /// Everything SQL can see of a database.
  func content(_ name: String) throws -> [String] { try TestDatabase(program.file(name), readOnly: true).dump() }

  func bytes(_ name: String) throws -> [UInt8] { try fileBytes(program.file(name)) }
}

/// What scripts read.
struct Versions: Decodable {
  var versions: [Version]
  var failures: [Failure]?

  struct Failure: Decodable {
    var database: String
    var target: String?
    var code: String
  }
}

struct Version: Decodable {
  var id: String
  var database: String
  var target: String
  var time: String
  var size: Int
  var bytesNew: Int
  var bytesTotal: Int
  var pages: Int
  var unchanged: Bool?
  var dryRun: Bool?
  var head: String
  var tags: [String]
  var note: String
  var sha256: String
}
