import Glibc
import Snapshots
import TestKit
import Testing

/// A file that stands still is copied in large blocks, another page by page: nobody can tell which it was.
@Suite struct StillCopyTests {
  /// Some blocks of 256 KiB and a part of one; a list of free pages.
  private func make(_ path: String, pageSize: Int, wal: Bool) throws -> TestDatabase {
    let database = try TestDatabase(path)
    try database.run(
      """
      PRAGMA page_size=\(pageSize); PRAGMA journal_mode=\(wal ? "WAL" : "DELETE"); PRAGMA synchronous=OFF;
      CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO t(b) SELECT randomblob(900) FROM n;
      """)
    return database
  }

  @Test(arguments: [512, 4096, 65536], [false, true])
  func `every byte arrives, by either road`(_ pageSize: Int, _ wal: Bool) async throws {
    let desk = try Desk()
    try make(desk.source, pageSize: pageSize, wal: wal).close()
    let bytes = try fileBytes(desk.source)
    #expect(try await fileBytes(desk.take(.pages).path) == bytes)

    // Counters that disagree, as an old SQLite leaves them, make the header's size worth nothing: page by page.
    var old = bytes
    old[95] ^= 1
    try writeFile(desk.source, old)
    #expect(try await fileBytes(desk.take(.pages).path) == old)
  }

  @Test func `what waits in the -wal is not left out`() async throws {
    let desk = try Desk()
    let database = try make(desk.source, pageSize: 4096, wal: true)
    try database.run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint=0")
    #expect(size(desk.source + "-wal") == 0)
    #expect(try await fileBytes(desk.take(.pages).path) == fileBytes(desk.source))
    // The size of the database and all of its header stay what they are: only the -wal tells.
    try database.run("UPDATE t SET b = zeroblob(900) WHERE id = 700")
    let copy = try TestDatabase(try await desk.take(.pages).path)
    #expect(try copy.number("SELECT id FROM t WHERE b = zeroblob(900)") == 700)
  }

  /// SQLite reads through one that holds something all the same.
  @Test func `a -wal counts whatever the header says of it`() async throws {
    let desk = try Desk()
    let database = try make(desk.source, pageSize: 4096, wal: true)
    try database.run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint=0")
    try database.run("UPDATE t SET b = zeroblob(900) WHERE id = 700")
    database.closeKeepingWal()
    var bytes = try fileBytes(desk.source)
    (bytes[18], bytes[19]) = (1, 1)
    try writeFile(desk.source, bytes)
    let copy = try TestDatabase(try await desk.take(.pages).path)
    #expect(try copy.number("SELECT id FROM t WHERE b = zeroblob(900)") == 700)
  }

  @Test func `a checkpoint may not write into what is being copied`() async throws {
    let desk = try Desk()
    let database = try make(desk.source, pageSize: 4096, wal: true)
    try database.run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint=0; PRAGMA busy_timeout=0")
    database.close()
    let before = try fileBytes(desk.source)
    let snapshot = try await takeSnapshot(desk.request(.pages)) { [source = desk.source] progress in
      guard progress.stage == .copying, progress.pagesDone == 0 else { return }
      let writer = try TestDatabase(source)
      try writer.run("UPDATE t SET b = zeroblob(900)")
      _ = try writer.rows("PRAGMA wal_checkpoint(FULL)")
      writer.closeKeepingWal()
    }
    #expect(try fileBytes(snapshot.path) == before)
  }

  @Test func `in rollback mode a writer waits until the copy is made`() async throws {
    let desk = try Desk()
    try make(desk.source, pageSize: 4096, wal: false).close()
    let before = try fileBytes(desk.source)
    let snapshot = try await takeSnapshot(desk.request(.pages)) { [source = desk.source] progress in
      guard progress.stage == .copying, progress.pagesDone == 0 else { return }
      let writer = try TestDatabase(source)
      try writer.run("PRAGMA busy_timeout=0")
      #expect(throws: (any Error).self) { try writer.run("UPDATE t SET b = zeroblob(900)") }
    }
    #expect(try fileBytes(snapshot.path) == before)
    #expect(try fileBytes(desk.source) == before)
  }
}
