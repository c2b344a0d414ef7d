import CSQLite
import Glibc
import Storage
import TestKit
import Testing

@testable import Snapshots

/// Rows keep their numbers (rowids) in a copy, as other tables and indexes may name them by those: where a vacuum would
/// give them others, it is made page by page.
@Suite struct RowNumberTests {
  /// A database whose rows have the numbers 1, 3 and 4.
  private func desk(_ schema: String, isLegacy: Bool = false, wal: Bool, closed: Bool = true) throws -> Desk {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    if isLegacy { sl_db_config_int(database.handle, SQLITE_DBCONFIG_LEGACY_FILE_FORMAT, 1, nil) }
    try database.run("PRAGMA journal_mode=\(wal ? "WAL" : "DELETE")")
    try database.run("\(schema); INSERT INTO t VALUES('a'), ('b'), ('c'), ('d'); DELETE FROM t WHERE rowid = 2")
    if closed { database.close() } else { database.closeKeepingWal() }
    return desk
  }

  private func numbers(_ path: String) throws -> String {
    try TestDatabase(path).text("SELECT group_concat(rowid) FROM t")
  }

  // MARK: CHECK

  private static let checked = "CREATE TABLE t(x TEXT CHECK(x <> ''))"
  /// Words that only look like it.
  private static let plain = "CREATE TABLE t(checked TEXT); CREATE VIEW v AS SELECT checked AS \"check\" FROM t"

  /// In a process that may not write to it; one in WAL mode is read without locks.
  @Test(arguments: [checked, plain], [false, true])
  func `what can only be read is not vacuumed where its constraints would be overlooked`(
    _ schema: String, _ wal: Bool
  ) async throws {
    let desk = try desk(schema, wal: wal)
    let isChecked = schema == Self.checked
    chmod(desk.source, 0o444)
    chmod(desk.scratch.file("live"), 0o555)
    chmod(desk.scratch.path, 0o755)
    chmod(desk.spool, 0o777)
    await #expect(processExitsWith: .success) {
      [source = desk.source as String, spool = desk.spool as String, isChecked = isChecked as Bool] in
      dropPrivileges()
      let snapshot = try await takeSnapshot(SnapshotRequest(source: source, spoolFolder: spool))
      #expect(snapshot.check == .ok)
      #expect(snapshot.method == (isChecked ? .pages : .vacuum))
      #expect(snapshot.fallback?.contains("CHECK") == (isChecked ? true : nil))
    }
    chmod(desk.scratch.file("live"), 0o755)
    #expect(try numbers("\(desk.spool)/\(names(in: desk.spool)[0])") == "1,3,4")
  }

  @Test(.enabled(if: geteuid() == 0), arguments: [checked, plain])
  func `nor is what is read without locks to leave nothing beside it`(_ schema: String) async throws {
    let desk = try desk(schema, wal: true)
    let isChecked = schema == Self.checked
    chmod(desk.source, 0o666)
    chmod(desk.scratch.file("live"), 0o777)
    chmod(desk.scratch.path, 0o755)
    chmod(desk.spool, 0o777)
    await #expect(processExitsWith: .success) {
      [source = desk.source as String, spool = desk.spool as String, isChecked = isChecked as Bool] in
      dropPrivileges()
      let snapshot = try await takeSnapshot(SnapshotRequest(source: source, spoolFolder: spool))
      #expect(snapshot.check == .ok && snapshot.sideFilesAppeared.isEmpty)
      #expect(snapshot.method == (isChecked ? .pages : .vacuum))
    }
    #expect(try numbers("\(desk.spool)/\(names(in: desk.spool)[0])") == "1,3,4")
    #expect(try names(in: desk.scratch.file("live")) == ["app.db"])
  }

  @Test(arguments: [checked, plain], [false, true])
  func `what may be written to is vacuumed`(_ schema: String, _ wal: Bool) async throws {
    let desk = try desk(schema, wal: wal)
    let snapshot = try await desk.take(.vacuum)
    #expect(snapshot.method == .vacuum && snapshot.check == .ok)
    #expect(try numbers(snapshot.path) == "1,3,4")
  }

  /// Between our look at the schema and SQLite's own.
  @Test func `a constraint that is added meanwhile is noticed`() throws {
    let desk = try desk("CREATE TABLE t(checked TEXT)", wal: true)
    let watch = Watch(StopSignal(), busyTimeout: .seconds(10))
    let request = desk.request(.vacuum)
    let source = try Source.open(desk.source, request, watch)
    let image = "\(desk.spool)/image"
    try makeImageFile(image)
    let failure = #expect(throws: SQLiteFailure.self) {
      try copyByVacuum(source, into: image, request, ReadTransaction(of: desk.source, maxWalGrowth: nil), watch) { _ in
        let migration = """
          BEGIN; CREATE TABLE u(checked TEXT CHECK(checked <> '')); INSERT INTO u(rowid, checked) SELECT rowid, checked FROM t;
          DROP TABLE t; ALTER TABLE u RENAME TO t; COMMIT
          """
        if (try? TestDatabase(desk.source).run(migration)) == nil { Issue.record("it could not be migrated") }
      }
    }
    // What SQLite made of it, and why it must not be taken.
    #expect(try numbers(image) == "1,2,3")
    #expect(failure?.isPassing == true && failure?.message.contains("meanwhile") == true)
  }

  // MARK: DESC

  private static let descending = [
    "CREATE TABLE t(x); CREATE INDEX i ON t(x DESC)", "CREATE TABLE t(x, UNIQUE(x desc))",
    "CREATE TABLE t(x TEXT PRIMARY KEY\nDESC)",
  ]

  /// What stands in the -wal alone counts: the file itself says nothing of its schema then.
  @Test(arguments: descending, [(false, true), (true, true), (true, false)])
  func `a schema of an old format, which ignores DESC, is not vacuumed, and not repacked`(
    _ schema: String, _ kind: (wal: Bool, closed: Bool)
  ) async throws {
    let desk = try desk(schema, isLegacy: true, wal: kind.wal, closed: kind.closed)
    let before = try SourceBytes(desk.source)
    if !kind.closed { try #require(before.files[""]?[47] == 0) }
    let snapshot = try await desk.take(.vacuum)
    #expect(try SourceBytes(desk.source) == before)
    #expect(snapshot.method == .pages && snapshot.check == .ok)
    #expect(snapshot.fallback?.contains("DESC") == true)

    let image = try fileBytes(snapshot.path)
    #expect(image[47] == 1)
    let repacked = desk.scratch.file("repacked.db")
    try writeFile(repacked, [])
    let error = await #expect(throws: SnapshotError.self) {
      try await repackImage(at: snapshot.path, into: repacked, isWAL: nil)
    }
    #expect(error?.code == .sqlite && error?.message.contains("DESC") == true)
    #expect(error?.hint?.contains("without --vacuum") == true)
    #expect(try fileBytes(snapshot.path) == image)
    #expect(try fileBytes(repacked).isEmpty)
    #expect(try numbers(snapshot.path) == "1,3,4")
  }

  private static let described = "CREATE TABLE t(description); CREATE INDEX desc_ ON t(description)"

  @Test(arguments: [described, descending[0]])
  func `one that says no DESC, or heeds it, is`(_ schema: String) async throws {
    let desk = try desk(schema, isLegacy: schema == Self.described, wal: false)
    let snapshot = try await desk.take(.vacuum)
    #expect(snapshot.method == .vacuum && snapshot.check == .ok)
    let repacked = desk.scratch.file("repacked.db")
    try writeFile(repacked, [])
    let pages = try await desk.take(.pages)
    try await repackImage(at: pages.path, into: repacked, isWAL: nil)
    for path in [snapshot.path, repacked] { #expect(try numbers(path) == "1,3,4") }
  }
}
