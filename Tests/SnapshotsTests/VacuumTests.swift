import Glibc
import Snapshots
import TestKit
import Testing

/// A vacuumed copy is as tight as SQLite's own, whatever the schema says.
@Suite struct VacuumTests {
  /// Rows in an order that the index does not have.
  private func desk(_ columns: String, wal: Bool = false) throws -> Desk {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    try database.run("PRAGMA synchronous=OFF; PRAGMA journal_mode=\(wal ? "WAL" : "DELETE")")
    try database.run(
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT \(columns)); CREATE INDEX i ON t(b);"
        + "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t(b) SELECT hex(randomblob(12)) FROM n"
    )
    database.close()
    return desk
  }

  @Test(arguments: ["", "CHECK(length(b) > 0)", "CHECK(length(b) > 0), c AS (a + 1) STORED"], [false, true])
  func `the copy has as many pages as a vacuum leaves`(columns: String, wal: Bool) async throws {
    let desk = try desk(columns, wal: wal)
    let before = try SourceBytes(desk.source)
    let snapshot = try await desk.take(.vacuum)
    #expect(try SourceBytes(desk.source) == before)
    #expect(snapshot.method == .vacuum && snapshot.fallback == nil && snapshot.check == .ok)
    let own = desk.scratch.file("own.db")
    try TestDatabase(desk.source).run("VACUUM INTO '\(own)'")
    #expect(try fileBytes(snapshot.path).count == fileBytes(own).count)
  }

  @Test(arguments: ["", "CHECK(length(b) > 0)", "CHECK(length(b) > 0), c AS (a + 1) STORED"], [false, true])
  func `so has one that is made of an image on its way out`(columns: String, wal: Bool) async throws {
    let desk = try desk(columns, wal: wal)
    let snapshot = try await desk.take(.pages)
    let image = try fileBytes(snapshot.path)
    let repacked = desk.scratch.file("repacked.db")
    try writeFile(repacked, [])
    try await repackImage(at: snapshot.path, into: repacked, isWAL: nil)
    #expect(try fileBytes(snapshot.path) == image)
    #expect(try names(in: desk.spool).count == 1)
    #expect(try Array(fileBytes(repacked)[18..<20]) == (wal ? [2, 2] : [1, 1]))
    let own = desk.scratch.file("own.db")
    try TestDatabase(desk.source).run("VACUUM INTO '\(own)'")
    #expect(try fileBytes(repacked).count == fileBytes(own).count)
  }
}
