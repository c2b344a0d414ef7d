import TestKit
import Testing

@testable import Snapshots

/// What a drill finds in an image, and what it refuses to do with it.
@Suite struct ProveImageTests {
  private static let tables = """
    CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE sale(id INTEGER PRIMARY KEY, customer REFERENCES customer);
    INSERT INTO customer VALUES (1, 'a'), (2, 'b');
    INSERT INTO sale VALUES (1, 1), (2, 2), (3, 2);
    """

  /// A folder with `a.db` in it.
  private func image(_ more: String = "") throws -> Scratch {
    let scratch = try Scratch()
    try SQLite.run(Self.tables + more, on: scratch.file("a.db"))
    return scratch
  }

  private func asking(_ query: String, _ limit: Duration = .seconds(60)) -> ImageTrial {
    var trial = ImageTrial()
    trial.query = query
    trial.queryLimit = limit
    return trial
  }

  @Test func `a sound image passes everything`() async throws {
    let scratch = try image()
    var trial = asking("SELECT * FROM sale WHERE customer = 2; -- bought something")
    trial.rows = [.init(table: "customer", rows: 2), .init(table: "sale", rows: 3)]
    let proof = try await proveImage(at: scratch.file("a.db"), trial)
    #expect(proof.findings.isEmpty && proof.unchecked.isEmpty)
    #expect(
      proof.passed == [
        "integrity_check ok", "foreign_key_check ok", "5 rows in 2 tables as at push", "the query returned a row",
      ])
    #expect(try names(in: scratch.path) == ["a.db"])
  }

  @Test func `rows that went, and tables that went, are found`() async throws {
    let scratch = try image()
    var trial = ImageTrial()
    trial.rows = [.init(table: "customer", rows: 3), .init(table: "gone", rows: 0), .init(table: "sale", rows: 3)]
    let proof = try await proveImage(at: scratch.file("a.db"), trial)
    #expect(
      proof.findings == [
        "row counts: table 'customer' has 2 rows, and had 3",
        "row counts: table 'gone' had 0 rows and cannot be counted now",
      ])
  }

  @Test func `a table whose name is not UTF-8 is not looked at, and one row is one`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("a.db")
    // The names of tables are bytes: this one is `t` and E9.
    try SQLite.run(
      "CREATE TABLE one(a); INSERT INTO one VALUES (1); CREATE TABLE te(a); PRAGMA writable_schema = ON;"
        + "UPDATE sqlite_schema SET name = CAST(x'74E9' AS TEXT), tbl_name = CAST(x'74E9' AS TEXT),"
        + " sql = CAST(x'435245415445205441424C452074E9286129' AS TEXT) WHERE name = 'te'", on: path)
    var trial = ImageTrial()
    trial.rows = try await countRows(at: path)
    #expect(trial.rows == [.init(table: "one", rows: 1)])
    let proof = try await proveImage(at: path, trial)
    #expect(proof.passed.contains("1 row in 1 table as at push"))
    #expect(proof.unchecked.contains("row counts: not looked at: 1 table, whose name is not UTF-8"))
  }

  @Test func `rows that refer to nothing are found, unless nobody minds`() async throws {
    let scratch = try image("INSERT INTO sale VALUES (4, 77)")
    var trial = ImageTrial()
    let proof = try await proveImage(at: scratch.file("a.db"), trial)
    #expect(
      proof.findings == ["foreign_key_check: 1 rows refer to rows that are not there, the first in 'sale'"])
    trial.foreignKeys = false
    #expect(try await proveImage(at: scratch.file("a.db"), trial).findings.isEmpty)
  }

  @Test func `damage is found, and nothing is asked of a damaged image`() async throws {
    let scratch = try image(
      """
      UPDATE customer SET name = 'c';
      PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE customer(id INTEGER PRIMARY KEY, name INTEGER CHECK(name > 5))'
        WHERE name = 'customer';
      UPDATE sqlite_schema SET sql = 'CREATE TABLE sale(id INTEGER PRIMARY KEY, customer NOT NULL, more NOT NULL)'
        WHERE name = 'sale';
      """)
    let proof = try await proveImage(at: scratch.file("a.db"), asking("SELECT 1"))
    #expect(proof.findings.count == 1 && proof.findings.first?.hasPrefix("integrity_check: NULL value") == true)
    #expect(proof.findings.first?.contains("REINDEX") == false)
    #expect(proof.passed.isEmpty && proof.isBroken)
  }

  @Test(arguments: ["a function", "a collation"])
  func `indexes by what the application has under SQLite's names are found, and are no broken image`(
    own: String
  ) async throws {
    let scratch = try image("INSERT INTO customer VALUES (3, 'c'), (4, 'd'), (5, 'e')")
    let database = try TestDatabase(scratch.file("a.db"))
    if own == "a function" {
      database.replaceLower()
      try database.run("CREATE INDEX i ON customer(lower(name))")
    } else {
      database.replaceNoCase()
      try database.run("CREATE INDEX i ON customer(name COLLATE NOCASE)")
    }
    database.close()
    #expect(try await checkImage(at: scratch.file("a.db")) == .ok, "the check of a push does not see it")
    let proof = try await proveImage(at: scratch.file("a.db"), ImageTrial())
    #expect(proof.findings.count == 1 && proof.findings.first?.hasPrefix("integrity_check: row ") == true)
    #expect(proof.findings.first?.contains("REINDEX") == true)
    #expect(!proof.isBroken)
  }

  @Test func `what a later SQLite made is not counted here, and that is no finding`() async throws {
    let scratch = try image(
      """
      CREATE TABLE later(id INTEGER PRIMARY KEY); INSERT INTO later VALUES (1);
      CREATE TABLE child(later REFERENCES later); INSERT INTO child VALUES (1);
      PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE later(id INTEGER PRIMARY KEY BY FROB)' WHERE name = 'later';
      """)
    var trial = ImageTrial()
    trial.rows = [.init(table: "customer", rows: 2), .init(table: "later", rows: 1)]
    let proof = try await proveImage(at: scratch.file("a.db"), trial)
    #expect(proof.findings.isEmpty, "\(proof.findings)")
    #expect(proof.unchecked.contains { $0.hasPrefix("row counts: table 'later' had 1 row and") })
    #expect(proof.unchecked.contains { $0.hasPrefix("foreign_key_check: ") })
    #expect(proof.passed == ["2 rows in 1 table as at push"])
    // What can be counted is.
    trial.rows[0].rows = 3
    #expect(try await proveImage(at: scratch.file("a.db"), trial).findings.count == 1)
  }

  @Test func `what is no database is found to be none`() async throws {
    let scratch = try Scratch()
    try writeFile(scratch.file("a.db"), Array("SQLite format 3\0".utf8) + [UInt8](repeating: 7, count: 8000))
    #expect(try await !proveImage(at: scratch.file("a.db"), ImageTrial()).findings.isEmpty)
  }

  @Test func `what needs its application is said, and the rest is looked at`() async throws {
    let scratch = try Scratch()
    let path = scratch.file("a.db")
    try SampleDatabase.applicationCollation.make(at: path)
    let proof = try await proveImage(at: path, asking("SELECT 1"))
    #expect(proof.findings.isEmpty)
    #expect(proof.unchecked.contains { $0.contains("need collations or functions of their application") })
    #expect(proof.passed.contains("the query returned a row"))
  }

  @Test(arguments: [
    ("SELECT * FROM sale WHERE id > 10", "the query returned no row"),
    ("SELECT * FROM orders", "the query failed: no such table: orders"),
    ("SELECT orders FROM sale", "the query failed: no such column: orders"),
  ])
  func `a query that finds nothing is found out`(query: String, finding: String) async throws {
    let scratch = try image()
    #expect(try await proveImage(at: scratch.file("a.db"), asking(query)).findings == [finding])
  }

  @Test func `a query that does not end is ended`() async throws {
    let scratch = try image()
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    let proof = try await proveImage(at: scratch.file("a.db"), asking(endless, .milliseconds(50)))
    #expect(proof.findings.count == 1 && proof.findings.first?.hasPrefix("the query did not end within") == true)
  }

  @Test(arguments: [
    "DELETE FROM sale", "DELETE FROM sale RETURNING id", "CREATE TABLE x(a)", "INSERT INTO sale VALUES (9, 9)",
    "PRAGMA user_version = 9", "PRAGMA journal_mode = DELETE", "ATTACH 'other.db' AS other",
    "VACUUM INTO 'stolen.db'", "SELECT 1; DELETE FROM sale", "SELECT 1; SELECT 2", "", "  ; ",
    "CREATE TEMP TABLE x AS SELECT 1", "SELEC 1", "SELECT 1 UNION", "SELECT 'a", "SELECT 1 FROM sale WHERE",
  ])
  func `a query that does anything but read is refused`(query: String) async throws {
    let scratch = try image()
    let before = try fileBytes(scratch.file("a.db"))
    let error = await #expect(throws: SnapshotError.self) {
      try await proveImage(at: scratch.file("a.db"), asking(query))
    }
    #expect(error?.code == .query, "\(query): \(String(describing: error))")
    #expect(try fileBytes(scratch.file("a.db")) == before)
    #expect(try names(in: scratch.path) == ["a.db"])
  }

  @Test(arguments: ["SELEC 1", "DELETE FROM sale"])
  func `a query that is refused hides nothing that was found`(query: String) async throws {
    let scratch = try image()
    var trial = asking(query)
    trial.rows = [.init(table: "customer", rows: 3)]
    let proof = try await proveImage(at: scratch.file("a.db"), trial)
    #expect(proof.findings == ["row counts: table 'customer' has 2 rows, and had 3"])
    #expect(proof.unchecked.count == 1 && proof.unchecked.first?.hasPrefix("the query was not asked: ") == true)
  }

  /// Tables and columns may be there.
  @Test(arguments: [
    "SELECT 1", "SELECT a FROM t WHERE b = ';'", "SELECT a FROM t; -- the end ;", " ;SELECT a FROM t;",
    "WITH u AS (SELECT a FROM t) SELECT * FROM u", "VALUES (1)",
  ])
  func `a query is found fit without a database`(query: String) {
    #expect(throws: Never.self) { try demandReading(query) }
  }

  @Test(arguments: [
    "SELEC 1", "SELECT a FROM t WHERE", "SELECT 'a", "DELETE FROM t", " ; update t SET a = 1", "CREATE TABLE x(a)",
    "SELECT 1; SELECT 2", "SELECT a FROM t; DELETE FROM t", "ATTACH 'other.db' AS other", "", ";",
  ])
  func `a query is found unfit without a database`(query: String) {
    let error = #expect(throws: SnapshotError.self) { try demandReading(query) }
    #expect(error?.code == .query, "\(query)")
  }

  @Test(arguments: [SampleDatabase.fts3, .fts4, .fts5, .rtree])
  func `virtual tables can be asked`(kind: SampleDatabase) async throws {
    let scratch = try Scratch()
    let path = scratch.file("a.db")
    try kind.make(at: path)
    let database = try TestDatabase(path, readOnly: true)
    let name = try database.text("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'")
    database.close()
    var trial = asking("SELECT count(*) FROM \"\(name)\"")
    trial.rows = try await countRows(at: path)
    let proof = try await proveImage(at: path, trial)
    #expect(proof.findings.isEmpty, "\(proof.findings)")
  }
}
