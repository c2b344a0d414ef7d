import TestKit
import Testing

@testable import Snapshots

/// Restores where a later SQLite than ours wrote the schema of the version, or that of the database it goes into.
@Suite struct LaterSchemaTests {
  private func make(_ path: String, _ schema: String, later: Bool = false, journal: String = "delete") throws {
    let database = try TestDatabase(path)
    try database.run("PRAGMA journal_mode=\(journal); \(schema)")
    guard later else { return database.close() }
    try database.run(
      """
      CREATE VIEW later AS SELECT 1; PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE VIEW later AS SELECT 1 FROBNICATE BY 2' WHERE name = 'later'
      """)
    database.close()
  }

  @Test(arguments: [false, true])
  func `a table of such a version is refused for the version's sake`(dryRun: Bool) async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try make(image, "CREATE TABLE t(a)", later: true)
    try make(path, "CREATE TABLE mine(a)")
    let before = try fileBytes(path)
    var copy = TableCopy(image: image, database: path, tables: ["t"], busyTimeout: .seconds(5))
    copy.dryRun = dryRun
    let error = await #expect(throws: SnapshotError.self) { try await copy.run() }
    #expect(error?.code == .table && error?.message.hasPrefix("the schema of the version may be of a later") == true)
    #expect(error?.message.contains(path) == false && error?.hint?.contains("whole version") == true)
    #expect(try fileBytes(path) == before)
  }

  @Test func `a database with such a schema gets no table, and is not called damaged`() async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try make(image, "CREATE TABLE t(a)")
    try make(path, "CREATE TABLE mine(a)", later: true)
    let copy = TableCopy(image: image, database: path, tables: ["t"], busyTimeout: .seconds(5))
    let error = await #expect(throws: SnapshotError.self) { try await copy.run() }
    #expect(error?.code == .sqlite && error?.message.hasPrefix("the schema of \(path) may be of a later") == true)
    #expect(error?.hint?.contains("damage") == false)
  }

  @Test(arguments: ["delete", "wal"])
  func `a live restore writes over such a database`(journal: String) async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try make(image, "CREATE TABLE t(a); INSERT INTO t VALUES(7)")
    try make(path, "CREATE TABLE mine(a)", later: true, journal: journal)
    let live = LiveRestore(image: image, database: path, undo: nil, busyTimeout: .seconds(5))
    let outcome = try await live.run(undoKept: {}) { _, _, _ in }
    #expect(outcome.isWAL == (journal == "wal") && outcome.pages == 2)
    #expect(try TestDatabase(path).text("SELECT a FROM t") == "7")
  }
}
