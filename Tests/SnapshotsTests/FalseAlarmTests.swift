import TestKit
import Testing

@testable import Snapshots

/// SQLite 3.40 calls sound databases damaged: what its `quick_check` says of NULLs is looked at twice.
@Suite struct FalseAlarmTests {
  /// Its key has another order than its columns, and a column that may be NULL is, in more rows than SQLite lists.
  private static let table = """
    CREATE TABLE w(k TEXT, v BLOB, s INT, PRIMARY KEY(s, k)) WITHOUT ROWID;
    WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150) INSERT INTO w SELECT 'b' || i, NULL, i FROM n;
    """

  /// A table that has NULLs where it says that it has none.
  private static let violation = """
    CREATE TABLE strict(a, b); INSERT INTO strict VALUES (NULL, NULL), (NULL, 1); PRAGMA writable_schema=1;
    UPDATE sqlite_schema SET sql = 'CREATE TABLE strict(a NOT NULL, b)' WHERE name = 'strict';
    """

  /// A folder with `a.db` in it.
  private func image(_ more: String = "") throws -> Scratch {
    let scratch = try Scratch()
    try SQLite.run(Self.table + more, on: scratch.file("a.db"))
    return scratch
  }

  @Test(arguments: [
    "",
    "CREATE TABLE g(k, v, d AS (v) NOT NULL, s, PRIMARY KEY(s, k)) WITHOUT ROWID; INSERT INTO g VALUES (1, 2, 3)",
    """
    CREATE TABLE "a.b
    ok"("k." TEXT, v, s, PRIMARY KEY(s, "k.")) WITHOUT ROWID; INSERT INTO "a.b
    ok" VALUES ('x', NULL, 1)
    """,
  ])
  func `a sound table is called sound`(more: String) async throws {
    let scratch = try image(more)
    #expect(try await checkImage(at: scratch.file("a.db")) == .ok)
    let proof = try await proveImage(at: scratch.file("a.db"), ImageTrial())
    #expect(proof.findings.isEmpty && !proof.isBroken)
  }

  @Test func `a sound database is vacuumed, and so is its source`() async throws {
    let desk = try Desk()
    try SQLite.run(Self.table, on: desk.source)
    var request = desk.request(.vacuum)
    request.checksSource = true
    let snapshot = try await takeSnapshot(request)
    #expect(snapshot.method == .vacuum && snapshot.check == .ok && snapshot.sourceCheck == .ok)
  }

  @Test func `a rule that is broken is told, and nothing else`() async throws {
    let scratch = try image(Self.violation)
    let outcome = try await checkImage(at: scratch.file("a.db"))
    #expect(outcome == .damaged(["NULL value in strict.a", "NULL value in strict.a"]))
    #expect(try await proveImage(at: scratch.file("a.db"), ImageTrial()).isBroken)
  }

  @Test(arguments: [false, true])
  func `an index by the application's function neither makes an alarm true nor hides what is`(
    isBroken: Bool
  ) async throws {
    let scratch = try image(
      """
      CREATE TABLE x(a); INSERT INTO x VALUES (1); CREATE INDEX i ON x(lower(a)); PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON x(frob(a))' WHERE name = 'i';
      """ + (isBroken ? Self.violation : ""))
    let outcome = try await checkImage(at: scratch.file("a.db"))
    #expect(outcome.isDamaged == isBroken)
    if case .damaged(let lines) = outcome { #expect(Set(lines) == ["NULL value in strict.a"]) }
  }

  @Test func `an index by the application's collation is no damage here either`() async throws {
    let scratch = try image()
    let database = try TestDatabase(scratch.file("a.db"))
    database.replaceNoCase()
    try database.run("CREATE TABLE x(a); INSERT INTO x VALUES ('a'), ('b'), ('c')")
    try database.run("CREATE INDEX i ON x(a COLLATE NOCASE)")
    database.close()
    #expect(try await checkImage(at: scratch.file("a.db")) == .ok)
    let proof = try await proveImage(at: scratch.file("a.db"), ImageTrial())
    #expect(proof.findings.first?.contains("REINDEX") == true && !proof.isBroken)
  }
}
