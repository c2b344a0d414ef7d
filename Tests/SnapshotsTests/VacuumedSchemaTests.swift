import CSQLite
import TestKit
import Testing

@testable import Snapshots

/// Entries of the schema that work, and that SQLite's VACUUM passes over without a word because of how they begin.
@Suite struct VacuumedSchemaTests {
  private func desk(_ edit: String, wal: Bool = false) throws -> Desk {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    try database.run("PRAGMA journal_mode=\(wal ? "WAL" : "DELETE")")
    try database.run(
      """
      CREATE TABLE plain(a, b TEXT UNIQUE); INSERT INTO plain VALUES(1, 'one'), (2, 'two');
      CREATE TABLE other(a \(wal ? "CHECK(a > 0)" : "")); CREATE UNIQUE INDEX i ON other(a);
      INSERT INTO other VALUES(7);
      CREATE TABLE counted(a INTEGER PRIMARY KEY AUTOINCREMENT, b); INSERT INTO counted(b) VALUES('x'), ('y');
      CREATE VIEW seen AS SELECT b FROM plain;
      CREATE TRIGGER noted AFTER INSERT ON other BEGIN SELECT 1; END;
      CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words VALUES('some words');
      """)
    try database.run("PRAGMA writable_schema=1; UPDATE sqlite_schema SET \(edit)")
    database.close()
    return desk
  }

  private static func beginning(_ old: String, as new: String, of name: String) -> String {
    "sql = '\(new)' || substr(sql, length('\(old)') + 1) WHERE name = '\(name)'"
  }

  private static let edits = [
    beginning("CREATE TABLE", as: "create table", of: "plain"),
    beginning("CREATE TABLE", as: "CREATE TEMP TABLE", of: "plain"),
    beginning("CREATE TABLE", as: "CREATE/**/temporary TABLE", of: "plain"),
    beginning("CREATE UNIQUE INDEX", as: "create unique index", of: "i"),
    beginning("CREATE TABLE", as: "Create Table", of: "counted"),
    "type = 'TABLE' WHERE name = 'plain'",
  ]

  @Test(arguments: edits, SnapshotMethod.allCases)
  func `what a vacuum would leave out is copied by pages, and not repacked`(
    _ edit: String, _ method: SnapshotMethod
  ) async throws {
    let desk = try desk(edit)
    let snapshot = try await desk.take(method)
    #expect(snapshot.method == .pages && snapshot.check == .ok)
    #expect((snapshot.fallback?.contains("would leave out") == true) == (method == .vacuum))
    #expect(!snapshot.fallbackIsPassing)

    let image = try fileBytes(snapshot.path)
    let repacked = desk.scratch.file("repacked.db")
    try writeFile(repacked, [])
    let error = await #expect(throws: SnapshotError.self) {
      try await repackImage(at: snapshot.path, into: repacked, isWAL: nil)
    }
    #expect(error?.code == .sqlite && error?.message.contains("would leave out") == true)
    #expect(error?.hint?.contains("without --vacuum") == true)
    #expect(try fileBytes(snapshot.path) == image && fileBytes(repacked).isEmpty)
    #expect(try contents(ofImage: snapshot.path) == desk.contents())
    #expect(try TestDatabase(snapshot.path).text("SELECT group_concat(b) FROM plain") == "one,two")
  }

  /// SQLite copies these entries as they are.
  @Test(arguments: ["VIEW", "TRIGGER", "VIRTUAL TABLE"], [false, true])
  func `what has no pages of its own may begin as it likes`(_ kind: String, _ wal: Bool) async throws {
    let edit = "sql = 'create ' || substr(sql, 8) WHERE sql LIKE 'CREATE \(kind) %'"
    let desk = try desk(edit, wal: wal)
    let snapshot = try await desk.take(.vacuum)
    #expect(snapshot.method == .vacuum && snapshot.fallback == nil && snapshot.check == .ok)
    #expect(try contents(ofImage: snapshot.path) == desk.contents())
  }

  private func entries(_ path: String) throws -> StoredEntries {
    try StoredEntries(Connection(path, flags: SQLITE_OPEN_READONLY))
  }

  /// Whatever it may be that a vacuum loses.
  @Test(arguments: edits)
  func `a copy that lacks something is found by what it has`(_ edit: String) throws {
    let desk = try desk(edit)
    let own = desk.scratch.file("own.db")
    let source = try TestDatabase(desk.source)
    try source.run("VACUUM INTO '\(own)'")
    #expect(try entries(desk.source).loss(in: entries(own)) != nil)
    // Of another schema nothing is known.
    try source.run("CREATE TABLE later(a)")
    #expect(try entries(desk.source).loss(in: entries(own)) == nil)
  }

  @Test(arguments: ["", "DROP TABLE counted", "ALTER TABLE plain RENAME TO Fresh; ANALYZE; REINDEX; VACUUM"])
  func `a copy that lacks nothing is taken`(_ change: String) async throws {
    let desk = try desk("sql = sql WHERE 0")
    let source = try TestDatabase(desk.source)
    try source.run(change)
    let own = desk.scratch.file("own.db")
    try source.run("VACUUM INTO '\(own)'")
    #expect(try entries(desk.source).loss(in: entries(own)) == nil)
    source.close()
    #expect(try await desk.take(.vacuum).method == .vacuum)
  }
}
