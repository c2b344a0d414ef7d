import FoundationEssentials
import Glibc
import Operations
import Storage
import TestKit
import Testing

/// A database that was pushed and has changed since, in the journal mode asked for, with nobody who has it open.
struct RestoreRoad {
  let road: Road
  let path: String
  /// The newest version.
  let version: VersionSummary
  /// What the database held when it was pushed, and what it holds now.
  let pushed: [String]
  let now: [String]

  init(wal: Bool, name: String = "app.db") async throws {
    road = try await Road()
    path = road.scratch.file(name)
    let database = try TestDatabase(path)
    _ = try database.rows("PRAGMA journal_mode=\(wal ? "wal" : "delete")")
    try database.run("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, pad BLOB)")
    try database.run(Self.fill(300, "pushed"))
    pushed = try database.dump()
    version = try await road.push(DatabaseSource(name: "app", path: path)).pushed[0].version
    try database.run("PRAGMA wal_autocheckpoint=0; DELETE FROM t WHERE id > 100; UPDATE t SET v = 'now'")
    now = try database.dump()
    database.closeKeepingWal()
    #expect((FileManager.default.fileExists(atPath: path + "-wal")) == wal)
  }

  static func fill(_ count: Int, _ word: String) -> String {
    """
    INSERT INTO t(v, pad) WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
    SELECT '\(word)', randomblob(900) FROM n
    """
  }

  var restore: Restore { Restore(Pull(road.world)) }

  func run(_ mode: Restore.Mode, _ change: (inout Restore.Request) -> Void = { _ in }) async throws -> Restore.Outcome {
    var request = Restore.Request(place: .file(path), mode: mode)
    change(&request)
    return try await restore.run(.latest(database: "app"), from: road.target, request)
  }

  func refusal(
    _ mode: Restore.Mode, _ change: (inout Restore.Request) -> Void = { _ in }
  ) async -> OperationError? {
    await #expect(throws: OperationError.self) { try await run(mode, change) }
  }

  /// What SQL sees, without leaving anything behind or merging a -wal.
  func dump(_ path: String) throws -> [String] {
    let copy = try Scratch()
    for ending in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: path + ending) {
      try writeFile(copy.file("copy") + ending, fileBytes(path + ending))
    }
    return try TestDatabase(copy.file("copy")).dump()
  }

  /// Names beside the database that begin as it does, also hidden ones.
  var names: [String] { road.files(in: road.scratch.path).filter { $0.contains("app.db") } }

  /// A line for a shell, run by a shell.
  static func shell(_ line: String) async throws -> String {
    let result = try await Child.run(["sh", "-c", line])
    #expect(result.isSuccess, "\(line): \(result.error)")
    return result.output + result.error
  }
}

/// A process of its own that has a database open, and never closes it.
struct Keeper {
  let child: Child
  private let output: String

  /// - Parameter program: Python, with `db` an open connection in autocommit and `say` a function that tells something.
  init(_ path: String, _ program: String, in scratch: Scratch, _ name: String = "keeper") async throws {
    output = scratch.file("\(name).txt")
    child = try Child.python(
      """
      import sqlite3, sys, time
      db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=600)
      def say(text): print(text, flush=True)
      \(program)
      """, path, output: output)
    let output = output
    #expect(
      try await eventually {
        try String(decoding: fileBytes(output), as: UTF8.self).contains("ready")
      })
  }

  var said: [String] {
    get throws { String(decoding: try fileBytes(output), as: UTF8.self).split(separator: "\n").map(String.init) }
  }
}
