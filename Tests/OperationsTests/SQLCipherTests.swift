import Glibc
import Operations
import TestKit
import Testing

/// An encrypted database as its application exports it, through the whole road, opened with its passphrase at the end.
///
/// They need Debian's `sqlcipher`. Where the whole test script runs, its absence is a failure.
@Suite(.enabled(if: SQLCipher.isThere || Environment.value("SEALIFT_TEST_TARGETS") != nil)) struct SQLCipherTests {
  private static let passphrase = "correct horse battery staple"
  private static let question = "SELECT count(*), total(length(body)) FROM t"

  /// A database with rows, and an encrypted copy of it.
  private func exported(_ road: Road) async throws -> (plain: String, encrypted: String) {
    let plain = try road.database(rows: 300)
    let encrypted = road.scratch.file("export.db")
    try await SQLCipher.must(
      plain,
      "ATTACH DATABASE '\(encrypted)' AS e KEY '\(Self.passphrase)'; SELECT sqlcipher_export('e'); DETACH DATABASE e;")
    return (plain, encrypted)
  }

  @Test func `an export comes back, and opens with its passphrase only`() async throws {
    let road = try await Road()
    let (plain, encrypted) = try await exported(road)
    let answer = try await SQLCipher.must(plain, Self.question)
    #expect(answer.hasPrefix("300|"))

    let database = DatabaseSource(name: "app", path: encrypted, method: .file)
    for method in [DatabaseSource.Method.vacuum, .pages] {
      let refused = await #expect(throws: OperationError.self) {
        try await road.push(DatabaseSource(name: "app", path: encrypted, method: method))
      }
      #expect(refused?.kind == .sourceUnreadable && refused?.code == "encrypted")
      #expect(refused?.hint?.contains("sqlcipher_export") == true)
    }
    let outcome = try await road.push(database)
    #expect(outcome.failures.isEmpty && outcome.damage == nil && outcome.pushed.count == 1)

    let restored = road.scratch.file("restored.db")
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(restored))
    #expect(try fileBytes(restored) == fileBytes(encrypted))
    #expect(try await SQLCipher.must(restored, "PRAGMA key = '\(Self.passphrase)'; \(Self.question);").contains(answer))
    let wrong = try await SQLCipher.run(restored, "PRAGMA key = 'wrong'; \(Self.question);")
    #expect(!wrong.output.contains(answer) && wrong.error.contains("not a database"))
  }

  @Test func `a database that is in use is not taken for an export`() async throws {
    let road = try await Road()
    let (_, encrypted) = try await exported(road)
    // Ended in the middle of its work, so that its -wal stays.
    let killed = try await SQLCipher.run(
      encrypted, "PRAGMA key = '\(Self.passphrase)'; PRAGMA journal_mode=WAL; DELETE FROM t WHERE id < 100;",
      ".shell kill -9 $PPID")
    #expect(!killed.isSuccess)
    #expect(try !fileBytes(encrypted + "-wal").isEmpty)
    let error = await #expect(throws: OperationError.self) {
      try await road.push(DatabaseSource(name: "app", path: encrypted, method: .file))
    }
    #expect(error?.kind == .sourceUnreadable && error?.code == "sideFiles")
  }
}

/// Debian's program.
enum SQLCipher {
  static let isThere = access("/usr/bin/sqlcipher", X_OK) == 0

  static func run(_ path: String, _ commands: String...) async throws -> ProgramEnd { try await run(path, commands) }

  private static func run(_ path: String, _ commands: [String]) async throws -> ProgramEnd {
    try await Child.run(["sqlcipher", "-batch", path] + commands)
  }

  @discardableResult
  static func must(_ path: String, _ commands: String...) async throws -> String {
    let ending = try await run(path, commands)
    guard ending.isSuccess else { throw DumpError(text: ending.error) }
    return ending.output.trimmingNewline
  }
}

extension String {
  fileprivate var trimmingNewline: String { hasSuffix("\n") ? String(dropLast()) : self }
}
