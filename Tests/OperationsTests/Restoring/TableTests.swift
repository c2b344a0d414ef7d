import Glibc
import Operations
import Storage
import TestKit
import Testing

@testable import Snapshots

/// Single tables, put into a database that has others.
@Suite struct TableTests {
  private struct Tables {
    let road: Road
    let path: String
    let other: String
    /// Requests for packs.
    let fetched = Locked(0)
    var target: TargetAccess {
      var target = road.target
      target.store = HookedStore(
        road.store,
        beforeGet: { [fetched] (name) async throws(StoreError) in
          if name.text.hasPrefix("packs/") { fetched.withLock { $0 += 1 } }
        })
      return target
    }

    init(_ schema: String, other sql: String = "CREATE TABLE mine(a); INSERT INTO mine VALUES(1)") async throws {
      road = try await Road()
      path = road.scratch.file("app.db")
      other = road.scratch.file("other.db")
      let database = try TestDatabase(path)
      try database.run(schema)
      database.close()
      let outcome = try await road.push(DatabaseSource(name: "app", path: path, method: .pages))
      #expect(outcome.failures.isEmpty, "\(outcome.failures)")
      try SQLite.run(sql, on: other)
    }

    @discardableResult
    func copy(_ tables: String..., dryRun: Bool = false) async throws -> RestoreTables.Outcome {
      var request = RestoreTables.Request(tables: tables, into: other)
      request.dryRun = dryRun
      return try await RestoreTables(Pull(road.world)).run(.latest(database: "app"), from: target, request)
    }

    func refusal(_ tables: String...) async -> OperationError? {
      await #expect(throws: OperationError.self) {
        try await RestoreTables(Pull(road.world)).run(
          .latest(database: "app"), from: target, RestoreTables.Request(tables: tables, into: other))
      }
    }

    /// The rows of a query on both, which must be the same.
    func same(_ query: String) throws -> Bool {
      try TestDatabase(path).rows(query) == TestDatabase(other).rows(query)
    }
  }

  @Test func `rows come with their numbers, indexes, triggers and sequence`() async throws {
    let tables = try await Tables(
      """
      CREATE TABLE plain(a, b DEFAULT 7); INSERT INTO plain(rowid, a) VALUES(5, 'x'), (900, NULL), (-3, x'00ff'), (7, 1.5);
      CREATE INDEX plain_a ON plain(a) WHERE a IS NOT NULL; CREATE UNIQUE INDEX "plain ""b" ON plain(rowid_ish(a), b);
      """.replacing("rowid_ish(a)", with: "lower(a)"))
    let outcome = try await tables.copy("PLAIN")
    #expect(outcome.tables.map(\.name) == ["plain"] && outcome.tables[0].rows == 4)
    #expect(outcome.tables[0].indexes == ["plain_a", "plain \"b"])
    #expect(try tables.same("SELECT rowid, a, b, typeof(a) FROM plain ORDER BY rowid"))
    #expect(try tables.same("SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'plain' ORDER BY name"))
    #expect(try TestDatabase(tables.other).text("PRAGMA integrity_check") == "ok")
    #expect(try TestDatabase(tables.other).number("SELECT a FROM mine") == 1)
  }

  @Test func `a file that is empty is told to be so`() async throws {
    let tables = try await Tables("CREATE TABLE t(a)")
    try removeFile(tables.other)
    try writeFile(tables.other, [])
    let error = await tables.refusal("t")
    #expect(error?.code == "missing" && error?.message.contains("\(tables.other) is empty") == true)
    #expect(error?.hint?.contains("--into") == true)
  }

  @Test func `a rehearsal changes nothing, not even beside a database whose writer died`() async throws {
    let tables = try await Tables(
      "CREATE TABLE wanted(a); INSERT INTO wanted VALUES(1), (2)", other: "CREATE TABLE gone(a)")
    let live = try TestDatabase(tables.road.scratch.file("live.db"))
    try live.run("PRAGMA journal_mode=WAL; CREATE TABLE mine(a); INSERT INTO mine VALUES(1)")
    // As a crash leaves them.
    for ending in ["", "-wal"] {
      try writeFile(tables.other + ending, try fileBytes(tables.road.scratch.file("live.db") + ending))
    }
    live.close()
    let before = try ["", "-wal"].map { try fileBytes(tables.other + $0) }
    #expect(!before[1].isEmpty)
    #expect(try await tables.copy("wanted", dryRun: true).tables.map(\.rows) == [2])
    #expect(try ["", "-wal"].map { try fileBytes(tables.other + $0) } == before)
    try await tables.copy("wanted")
    // It is the application's.
    #expect(try !fileBytes(tables.other + "-wal").isEmpty)
    #expect(try tables.same("SELECT a FROM wanted") && TestDatabase(tables.other).number("SELECT a FROM mine") == 1)
  }

  /// As this user's they would keep an application out that runs as another one.
  @Test(arguments: [false, true])
  func `no -wal and no -shm stay beside a WAL database that nobody has open`(hasEmptyWal: Bool) async throws {
    let tables = try await Tables(
      "CREATE TABLE wanted(a); INSERT INTO wanted VALUES(1), (2)",
      other: "PRAGMA journal_mode=WAL; CREATE TABLE mine(a); INSERT INTO mine VALUES(1)")
    let files = { tables.road.files(in: tables.road.scratch.path) }
    let (before, bytes) = (files(), try fileBytes(tables.other))
    for dryRun in [true, false] {
      if hasEmptyWal { try writeFile(tables.other + "-wal", []) }
      let outcome = try await tables.copy("wanted", dryRun: dryRun)
      #expect(outcome.tables.map(\.rows) == [2] && outcome.shortfall == nil)
      #expect(files() == before)
      #expect(try (fileBytes(tables.other) == bytes) == dryRun)
    }
    // The file alone has all of it.
    let copy = tables.road.scratch.file("copy.db")
    try writeFile(copy, try fileBytes(tables.other))
    #expect(try TestDatabase(copy).number("SELECT sum(a) FROM wanted") == 3)
    #expect(try TestDatabase(copy).text("PRAGMA journal_mode") == "wal")
    // Also where it is refused.
    #expect(await tables.refusal("wanted")?.code == "table")
    #expect(!files().contains { $0.hasPrefix("other.db-") })
  }

  @Test func `every kind of table that can stand alone`() async throws {
    let tables = try await Tables(
      """
      CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT); INSERT INTO counted VALUES(4, 'a'), (99, 'b');
      DELETE FROM counted WHERE id = 99;
      CREATE TABLE emptied(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO emptied VALUES(41); DELETE FROM emptied;
      CREATE TABLE keyed(k TEXT, n INT, PRIMARY KEY(k, n)) WITHOUT ROWID; INSERT INTO keyed VALUES('b', 2), ('a', 1);
      CREATE TABLE computed(a INT, twice AS (a * 2) VIRTUAL, kept AS (a + 1) STORED); INSERT INTO computed VALUES(3), (4);
      CREATE TABLE strict_one(a INTEGER, b ANY) STRICT; INSERT INTO strict_one VALUES(1, 'x'), (2, 2.5);
      CREATE TABLE named(rowid TEXT, oid TEXT, _rowid_ TEXT); INSERT INTO named VALUES('r', 'o', 'u');
      CREATE TABLE half(rowid TEXT); INSERT INTO half(_rowid_, rowid) VALUES(77, 'text');
      CREATE TABLE checked(a CHECK (a > 0)); PRAGMA ignore_check_constraints=1; INSERT INTO checked VALUES(-1);
      """)
    let names = ["counted", "emptied", "keyed", "computed", "strict_one", "named", "half", "checked"]
    var request = RestoreTables.Request(tables: names, into: tables.other)
    request.dryRun = true
    let before = try fileBytes(tables.other)
    let restore = RestoreTables(Pull(tables.road.world))
    let rehearsed = try await restore.run(.latest(database: "app"), from: tables.road.target, request)
    #expect(try fileBytes(tables.other) == before)
    request.dryRun = false
    let outcome = try await restore.run(.latest(database: "app"), from: tables.road.target, request)
    #expect(rehearsed.tables.map(\.rows) == outcome.tables.map(\.rows))
    #expect(outcome.tables.map(\.name) == names)
    for name in names { #expect(try tables.same("SELECT * FROM \(name)"), "\(name)") }
    #expect(try tables.same("SELECT _rowid_, rowid FROM half"))
    #expect(try tables.same("SELECT name, seq FROM sqlite_sequence ORDER BY name"))
    // A number that was given away is not given again.
    try SQLite.run("INSERT INTO counted(t) VALUES('c')", on: tables.other)
    #expect(try TestDatabase(tables.other).number("SELECT max(id) FROM counted") == 100)
    #expect(tables.road.notices.said.withLock { $0 }.contains { $0.contains("'named' has columns called rowid") })
  }

  /// Somebody has noted one by hand, or the table had AUTOINCREMENT once.
  @Test func `a sequence of a table that needs none is no obstacle`() async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try SQLite.run(
      """
      CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT); CREATE TABLE plain(id INTEGER PRIMARY KEY);
      INSERT INTO plain VALUES(7); INSERT INTO sqlite_sequence VALUES('plain', 9);
      """, on: image)
    try SQLite.run("CREATE TABLE mine(a)", on: path)
    let copy = TableCopy(image: image, database: path, tables: ["plain"], busyTimeout: .seconds(5))
    #expect(try await copy.run().tables.map(\.rows) == [1])
    #expect(try TestDatabase(path).number("SELECT id FROM plain") == 7)
  }

  /// Two rows have one value, and the index of it knows of one: then the table's own words would let fewer rows arrive.
  @Test(arguments: ["", "ON CONFLICT REPLACE", "ON CONFLICT IGNORE"], [false, true])
  func `rows that break a constraint of their own table are refused, not dropped`(clause: String, dryRun: Bool)
    async throws
  {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try SQLite.run(
      """
      CREATE TABLE u(a TEXT COLLATE NOCASE UNIQUE \(clause), b); CREATE TABLE rows(a, b);
      INSERT INTO u VALUES('x', 1), ('y', 2); INSERT INTO rows VALUES('x', 1), ('X', 2), (NULL, 3), (NULL, 4);
      PRAGMA writable_schema=ON;
      UPDATE sqlite_schema SET rootpage = (SELECT sum(rootpage) FROM sqlite_schema WHERE name IN ('u', 'rows')) - rootpage
        WHERE name IN ('u', 'rows');
      """, on: image)
    try SQLite.run("CREATE TABLE mine(a); INSERT INTO mine VALUES(1)", on: path)
    let before = try fileBytes(path)
    var copy = TableCopy(image: image, database: path, tables: ["u"], busyTimeout: .seconds(5))
    copy.dryRun = dryRun
    let asked = copy
    let refusal = await #expect(throws: SnapshotError.self) { try await asked.run() }
    let error = try #require(refusal)
    #expect(error.code == .table && OperationError(error).kind == .usage, "\(error)")
    #expect(error.message.hasSuffix("break a constraint of its own table: UNIQUE constraint failed: u.a"), "\(error)")
    #expect(error.hint?.hasPrefix("Nothing was changed.") == true)
    #expect(try fileBytes(path) == before)
    // The other one has rows that are all different.
    copy.tables = ["rows"]
    #expect(try await copy.run().tables.map(\.rows) == [2])
  }

  /// Whatever an index says: it knows two rows of three.
  @Test(arguments: [false, true]) func `rows that an index does not know are copied`(dryRun: Bool) async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try SQLite.run(
      """
      CREATE TABLE u(rowid, oid, _rowid_, c AS (oid || 'computed') STORED, UNIQUE(rowid, oid, _rowid_));
      CREATE TABLE rows(rowid, oid, _rowid_, c AS (oid || 'computed') STORED);
      INSERT INTO u VALUES(1, 1, 1), (2, 2, 2); INSERT INTO rows VALUES(1, 1, 1), (2, 2, 2), (3, 3, 3);
      PRAGMA writable_schema=ON;
      UPDATE sqlite_schema SET rootpage = (SELECT sum(rootpage) FROM sqlite_schema WHERE name IN ('u', 'rows')) - rootpage
        WHERE name IN ('u', 'rows');
      """, on: image)
    try SQLite.run("CREATE TABLE mine(a)", on: path)
    var copy = TableCopy(image: image, database: path, tables: ["u"], busyTimeout: .seconds(5))
    copy.dryRun = dryRun
    #expect(try await copy.run().tables.map(\.rows) == [3])
    guard !dryRun else { return }
    #expect(try TestDatabase(path).number("SELECT sum(oid) FROM u") == 6)
    #expect(try TestDatabase(path).text("PRAGMA integrity_check") == "ok")
  }

  @Test func `triggers see no row that is put back, and what they need is named`() async throws {
    let tables = try await Tables(
      """
      CREATE TABLE parent(id INTEGER PRIMARY KEY); INSERT INTO parent VALUES(1);
      CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES parent(id)); INSERT INTO child VALUES(1, 1), (2, 8);
      CREATE TABLE log(what); CREATE VIEW families AS SELECT * FROM child JOIN parent ON p = parent.id;
      CREATE TRIGGER noted AFTER INSERT ON child BEGIN INSERT INTO log VALUES(new.id); END;
      CREATE TRIGGER counted AFTER DELETE ON child BEGIN DELETE FROM absent; END;
      """)
    let outcome = try await tables.copy("child")
    #expect(outcome.tables[0].triggers == ["noted", "counted"])
    let said = tables.road.notices.said.withLock { $0 }
    #expect(said.contains { $0.contains("refers to the table 'parent', which is not there") })
    #expect(said.contains { $0.contains("'noted' needs") && $0.contains("no such table: main.log") })
    #expect(said.contains { $0.contains("'counted' needs") })
    #expect(said.contains { $0.contains("the view 'families'") })

    let both = try await Tables(
      """
      CREATE TABLE parent(id INTEGER PRIMARY KEY); INSERT INTO parent VALUES(1);
      CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES parent(id)); INSERT INTO child VALUES(1, 1), (2, 8);
      CREATE TABLE log(what); CREATE TRIGGER noted AFTER INSERT ON child BEGIN INSERT INTO log VALUES(new.id); END;
      """)
    try await both.copy("child", "log", "parent")
    #expect(try TestDatabase(both.other).number("SELECT count(*) FROM log") == 0)
    let remarks = both.road.notices.said.withLock { $0 }
    #expect(remarks.contains { $0.contains("1 row of 'child' refers to rows that are not there") })
    #expect(!remarks.contains { $0.contains("needs") || $0.contains("which is not there") })
    try SQLite.run("INSERT INTO child VALUES(3, 1)", on: both.other)
    #expect(try TestDatabase(both.other).number("SELECT what FROM log") == 3)
  }

  private static let children = """
    CREATE TABLE items(id INTEGER PRIMARY KEY, o REFERENCES ORDERS(id), other REFERENCES absent(id));
    CREATE TABLE notes(o REFERENCES orders(id)); CREATE TABLE apart(o REFERENCES elsewhere(id));
    INSERT INTO notes VALUES(1), (2); INSERT INTO items VALUES(1, 1, NULL), (2, NULL, 3);
    INSERT INTO items(o) WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT 1 FROM n;
    INSERT INTO items(o) VALUES(7), (8);
    """

  @Test func `rows of others that lose what they refer to are told`() async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try SQLite.run(
      """
      CREATE TABLE orders(id INTEGER PRIMARY KEY); INSERT INTO orders VALUES(1);
      CREATE TABLE lines(o REFERENCES orders(id)); INSERT INTO lines VALUES(5);
      """, on: image)
    try SQLite.run(Self.children, on: path)
    var copy = TableCopy(image: image, database: path, tables: ["orders", "lines"], busyTimeout: .seconds(5))
    // It puts no rows there that others could miss.
    copy.dryRun = true
    #expect(try await copy.run().remarks.allSatisfy { !$0.contains("refer") })
    copy.dryRun = false
    let remarks = try await copy.run().remarks.filter { $0.contains("refer") }
    #expect(
      remarks == [
        "2 rows of 'items' refer to rows of 'orders' that are not there",
        "1 row of 'notes' refers to rows of 'orders' that are not there",
        "1 row of 'lines' refers to rows that are not there",
      ], "\(remarks)")
  }

  /// Nobody else can write meanwhile.
  @Test func `a great table that refers to a restored one is not gone through to its end`() async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try SQLite.run("CREATE TABLE orders(id INTEGER PRIMARY KEY); INSERT INTO orders VALUES(1)", on: image)
    try SQLite.run(Self.children, on: path)
    var copy = TableCopy(image: image, database: path, tables: ["orders"], busyTimeout: .seconds(5))
    copy.longestLook = .zero
    let outcome = try await copy.run()
    let said = outcome.remarks.first { $0.hasPrefix("'items' refers to 'orders', and not all") } ?? ""
    let isTold = said.hasSuffix("PRAGMA foreign_key_check(\"items\") tells")
    #expect(outcome.tables.map(\.rows) == [1] && isTold, "\(outcome.remarks)")
    #expect(try TestDatabase(path).number("SELECT id FROM orders") == 1)
  }

  /// It knows the rows of the table that was dropped.
  @Test(arguments: [
    ("notes_fts", "fts5(body, content='notes', content_rowid='id')"),
    ("\"my \"\"index\"", "FTS5(content_rowid=id, body, content = \"Notes\" )"),
    ("[old one]", "fts4(body,content=[notes])"), ("plain", "fts5(body, content=notes)"),
  ])
  func `a full-text index that reads the table is named, with what brings it up to date`(
    index: String, options: String
  ) async throws {
    let tables = try await Tables(
      "CREATE TABLE notes(id INTEGER PRIMARY KEY, body); INSERT INTO notes VALUES(7, 'restored words')",
      other: """
        CREATE TABLE notes(id INTEGER PRIMARY KEY, body); CREATE TABLE notes_old(body);
        CREATE VIRTUAL TABLE old_fts USING fts5(body, content='notes_old');
        CREATE VIRTUAL TABLE own_fts USING fts5(body, notes);
        CREATE VIRTUAL TABLE \(index) USING \(options); DROP TABLE notes;
        """)
    try await tables.copy("notes")
    let said = tables.road.notices.said.withLock { $0 }.filter { $0.contains("full-text index") }
    #expect(said.count == 1 && said[0].contains("takes its rows from 'notes'"), "\(said)")
    let found = "SELECT rowid FROM \(index) WHERE \(index) MATCH 'restored'"
    #expect(try TestDatabase(tables.other).rows(found).isEmpty)
    let statement = try #require(said.first?.split(separator: " yet: ").last)
    try SQLite.run(String(statement), on: tables.other)
    #expect(try TestDatabase(tables.other).number(found) == 7)
  }

  @Test func `what cannot be copied alone is refused with the way out, and nothing is changed`() async throws {
    let tables = try await Tables(
      """
      CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words VALUES('some words');
      CREATE TABLE there(a); CREATE TABLE free(a); CREATE INDEX taken ON free(a); INSERT INTO free VALUES(1);
      CREATE VIEW seen AS SELECT * FROM there; CREATE TABLE seq(id INTEGER PRIMARY KEY AUTOINCREMENT);
      """, other: "CREATE TABLE There(b); CREATE TABLE x(a); CREATE INDEX taken ON x(a)")
    let before = try fileBytes(tables.other)
    for (name, words) in [
      ("words", "a virtual table"), ("words_content", "a virtual table"), ("seen", "is a view"),
      ("sqlite_sequence", "SQLite's own"), ("absent", "has no table 'absent'"),
      ("there", "has a table 'there' already"),
      ("free", "has an index 'taken' already"),
    ] {
      let error = await tables.refusal(name)
      #expect(error?.kind == .usage && error?.code == "table", "\(name): \(String(describing: error))")
      #expect(error?.message.contains(words) == true, "\(name): \(error?.message ?? "")")
      #expect(error?.hint != nil)
      if name == "free" { #expect(error?.hint?.hasPrefix("Remove the index 'taken' of 'x' first") == true) }
    }
    #expect(await tables.refusal("seq", "there") != nil)
    #expect(await tables.refusal("seq", "SEQ")?.message == "restoring from memory: a table is named twice")
    #expect(try fileBytes(tables.other) == before)
  }

  private static let orders = """
    CREATE TABLE orders(id INTEGER PRIMARY KEY, up REFERENCES orders(id), day, pad); CREATE INDEX by_day ON orders(day);
    INSERT INTO orders(id, day, pad) VALUES(1, 3, randomblob(300000));
    CREATE TRIGGER noted AFTER INSERT ON orders BEGIN UPDATE orders SET day = 1 WHERE id = new.id; END;
    """
  private static let others = """
    CREATE TABLE items(id, o REFERENCES orders(id) ON DELETE CASCADE); INSERT INTO items VALUES(1, 1);
    CREATE VIEW open_orders AS SELECT id FROM orders;
    CREATE TRIGGER counted AFTER INSERT ON items BEGIN UPDATE orders SET day = 2 WHERE id = new.o; END;
    """

  @Test(arguments: ["orders", "Orders"])
  func `a name that is taken is told before anything is fetched, and its SQL makes room`(name: String) async throws {
    let tables = try await Tables(Self.orders, other: Self.orders + Self.others)
    let around = "SELECT name, sql FROM sqlite_schema WHERE name IN ('items', 'open_orders', 'counted') ORDER BY name"
    let before = try TestDatabase(tables.other).rows(around)
    let refusal = try #require(await tables.refusal(name))
    #expect(refusal.code == "table" && tables.fetched.withLock { $0 } == 0)
    let message = "has a table '\(name)', an index 'by_day' and a trigger 'noted' already"
    #expect(refusal.message.hasSuffix(message), "\(refusal.message)")
    let definitions = try #require(refusal.hint?.firstMatch(of: #/SELECT .*?\);/#)).output
    #expect(try TestDatabase(tables.other).rows(String(definitions)).count == 2)
    let script = try #require(refusal.hint?.firstMatch(of: #/PRAGMA .*COMMIT;/#)).output
    try SQLite.run(String(script), on: tables.other)
    try await tables.copy(name)
    #expect(tables.fetched.withLock { $0 } > 0)
    #expect(try tables.same("SELECT * FROM orders"))
    #expect(try tables.same("SELECT name, sql FROM sqlite_schema WHERE tbl_name = 'orders' ORDER BY name"))
    #expect(try TestDatabase(tables.other).rows(around) == before)
    #expect(!tables.road.notices.said.withLock { $0 }.contains { $0.contains("_old") })
    // The application is on the new rows, and none of its others goes with the old ones.
    try SQLite.run("PRAGMA foreign_keys=ON; DROP TABLE orders_old; INSERT INTO items VALUES(2, 1)", on: tables.other)
    #expect(try TestDatabase(tables.other).number("SELECT count(*) FROM items") == 2)
    #expect(try TestDatabase(tables.other).number("SELECT day FROM orders") == 2)
  }

  /// Whoever has taken the application's table away is not to hear only then that it was in vain.
  @Test func `what the version's triggers meet is told by a rehearsal, which the first refusal names`() async throws {
    let tables = try await Tables(
      """
      CREATE TABLE o(a, pad); CREATE INDEX oi ON o(a); INSERT INTO o VALUES(1, randomblob(300000));
      CREATE TRIGGER ot AFTER INSERT ON o BEGIN SELECT 1; END;
      """,
      other: """
        CREATE TABLE o(a); CREATE INDEX oi ON o(a); CREATE TABLE mine(a);
        CREATE TRIGGER ot AFTER INSERT ON mine BEGIN SELECT 1; END;
        """)
    let first = try #require(await tables.refusal("o"))
    #expect(first.message.hasSuffix("has a table 'o' and an index 'oi' already"), "\(first.message)")
    #expect(tables.fetched.withLock { $0 } == 0 && first.hint?.contains("COMMIT; Its pragmas") == true)
    // Before the statements that would have changed it.
    #expect(first.hint?.hasPrefix("Before you change anything, let --dry-run tell") == true, "\(first.hint ?? "")")
    let rehearsal = await #expect(throws: OperationError.self) { try await tables.copy("o", dryRun: true) }
    let told = try #require(rehearsal)
    #expect(told.message.hasSuffix("has a table 'o', an index 'oi' and a trigger 'ot' already"), "\(told.message)")
    #expect(told.hint?.hasPrefix("Remove the trigger 'ot' of 'mine' first") == true, "\(told.hint ?? "")")
    #expect(told.hint?.contains("--dry-run") == false)
  }

  @Test func `nobody makes room for a table that the version cannot give`() async throws {
    let tables = try await Tables(
      "CREATE TABLE kept(a); CREATE VIEW seen AS SELECT a FROM kept",
      other: "CREATE TABLE Kept(a); CREATE TABLE audit(a); CREATE INDEX own ON audit(a); CREATE TABLE seen(a)")
    for (names, words) in [
      (["audit"], "has no table 'audit'"), (["kept", "audit"], "has no table 'audit'"), (["seen"], "is a view"),
    ] {
      let error = await #expect(throws: OperationError.self) {
        try await RestoreTables(Pull(tables.road.world)).run(
          .latest(database: "app"), from: tables.target, RestoreTables.Request(tables: names, into: tables.other))
      }
      #expect(error?.message.contains(words) == true, "\(String(describing: error))")
      #expect(error?.hint?.contains("COMMIT") == false)
    }
  }

  @Test func `nor where no table can be put, which is told before anything is fetched`() async throws {
    let tables = try await Tables("CREATE TABLE t(a, pad); INSERT INTO t VALUES(1, randomblob(300000))")
    try #require(unlink(tables.other) == 0)
    try SummedDatabase.make(at: tables.other, wal: false)
    #expect(await tables.refusal("t")?.code == "reservedBytes")
    #expect(tables.fetched.withLock { $0 } == 0)
  }

  @Test func `what does not come back with a table that makes room is named`() async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    let schema = "CREATE TABLE t(a); CREATE INDEX by_a ON t(a);"
    try SQLite.run(schema, on: image)
    try SQLite.run(
      "\(schema) CREATE INDEX extra ON t(a); CREATE TRIGGER late AFTER INSERT ON t BEGIN SELECT 1; END;", on: path)
    let copy = TableCopy(image: image, database: path, tables: ["t"], busyTimeout: .seconds(5))
    let error = await #expect(throws: SnapshotError.self) { try await copy.run() }
    let hint = try #require(error?.hint)
    #expect(hint.contains("It lacks the index 'extra' of 't' and the trigger 'late' of 't'."), "\(hint)")
  }

  /// Such a table cannot be renamed without others that follow it.
  @Test(arguments: ["orders.day > 0", "ORDERS . day > 0", "\"orders\".day > 0", "[orders].day > 0", "day > 0.5"])
  func `no script is shown for a table that calls its columns by its name`(check: String) async throws {
    let schema = "CREATE TABLE orders(day, pad, CHECK (\(check))); CREATE INDEX by_day ON orders(day);"
    let tables = try await Tables("\(schema) INSERT INTO orders VALUES(1, randomblob(300000))", other: schema)
    let refusal = try #require(await tables.refusal("orders"))
    let hint = try #require(refusal.hint)
    guard check.contains(".5") else {
      #expect(hint.hasPrefix("Restore into another database: ") && !hint.contains("COMMIT"), "\(hint)")
      return
    }
    let script = try #require(hint.firstMatch(of: #/PRAGMA .*COMMIT;/#)).output
    try SQLite.run(String(script), on: tables.other)
    #expect(try await tables.copy("orders").tables.map(\.rows) == [1])
  }

  @Test func `a table in the way of an index keeps its rows`() async throws {
    let tables = try await Tables(
      "CREATE TABLE w(a); CREATE INDEX x ON w(a)", other: "CREATE TABLE x(a); INSERT INTO x VALUES(1)")
    let refusal = try #require(await tables.refusal("w"))
    #expect(refusal.message.hasSuffix("has a table 'x' already"), "\(refusal.message)")
    #expect(refusal.hint == "Rename the table 'x' first, or restore into another database.")
  }

  /// The index goes with the table on which it is.
  @Test(arguments: [["a", "b"], ["b", "a"]])
  func `an index of one wanted table in the way of another's is dropped once`(names: [String]) async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try SQLite.run("CREATE TABLE a(x); CREATE TABLE b(x); CREATE INDEX shared ON b(x)", on: image)
    try SQLite.run("CREATE TABLE a(x); CREATE INDEX shared ON a(x)", on: path)
    let copy = TableCopy(image: image, database: path, tables: names, busyTimeout: .seconds(5))
    let error = await #expect(throws: SnapshotError.self) { try await copy.run() }
    let hint = try #require(error?.hint)
    #expect(!hint.contains("Remove") && hint.split(separator: "DROP INDEX").count == 2, "\(hint)")
    let script = try #require(hint.firstMatch(of: #/PRAGMA .*COMMIT;/#)).output
    try SQLite.run(String(script), on: path)
    #expect(try await copy.run().tables.map(\.table) == names)
  }

  @Test func `what has followed a table that was renamed is named`() async throws {
    let tables = try await Tables(
      Self.orders,
      other: """
        \(Self.orders) \(Self.others) CREATE TABLE apart(a); CREATE VIEW orders_older AS SELECT a FROM apart;
        ALTER TABLE orders RENAME TO orders_old;
        """)
    // What was left on the old rows is in the way as well, and is told at once.
    let refusal = try #require(await tables.refusal("orders"))
    #expect(refusal.message.hasSuffix("has an index 'by_day' and a trigger 'noted' already"), "\(refusal.message)")
    let script = try #require(refusal.hint?.firstMatch(of: #/BEGIN; .*COMMIT;/#)).output
    #expect(script == #"BEGIN; DROP INDEX "by_day"; DROP TRIGGER "noted"; COMMIT;"#)
    try SQLite.run(String(script), on: tables.other)
    try await tables.copy("orders")
    let said = tables.road.notices.said.withLock { $0 }.filter { $0.contains("orders_old") }
    let followed = "the foreign key of 'items', the trigger 'counted' and the view 'open_orders' go by 'orders_old'"
    #expect(said.count == 1 && said[0].hasPrefix(followed), "\(said)")
  }

  @Test func `what is in the -wal alone counts`() async throws {
    for (other, change, isFree) in [
      ("CREATE TABLE wanted(b)", "ALTER TABLE wanted RENAME TO former", true),
      ("CREATE TABLE former(b)", "ALTER TABLE former RENAME TO wanted", false),
    ] {
      let tables = try await Tables(
        "CREATE TABLE wanted(a, pad); INSERT INTO wanted VALUES(1, randomblob(300000))",
        other: "PRAGMA journal_mode=WAL; \(other)")
      let application = try TestDatabase(tables.other)
      try application.run("PRAGMA wal_autocheckpoint=0; \(change)")
      application.closeKeepingWal()
      guard isFree else {
        #expect(await tables.refusal("wanted")?.message.hasSuffix("has a table 'wanted' already") == true)
        #expect(tables.fetched.withLock { $0 } == 0)
        continue
      }
      #expect(try await tables.copy("wanted").tables.map(\.rows) == [1])
    }
  }

  @Test func `a collation of the application, and another encoding, are explained`() async throws {
    let shouting = try await Tables(
      "CREATE TABLE s(a TEXT COLLATE shouting); CREATE INDEX i ON s(a); INSERT INTO s VALUES('x')")
    #expect(await shouting.refusal("s")?.message.contains("code of its application") == true)
    let wide = try await Tables("PRAGMA encoding='UTF-16le'; CREATE TABLE w(a)")
    #expect(await wide.refusal("w")?.message.contains("UTF-16le") == true)
  }

  @Test func `no table is put beside whoever comes to lock by a folder`() async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try SQLite.run("CREATE TABLE t(a); INSERT INTO t VALUES(1)", on: image)
    try SQLite.run("CREATE TABLE mine(a)", on: path)
    let before = try fileBytes(path)
    var copy = TableCopy(image: image, database: path, tables: ["t"], busyTimeout: .seconds(5))
    copy.beforeCommit = { _ = mkdir(path + ".lock", 0o777) }
    let error = await #expect(throws: SnapshotError.self) { try await copy.run() }
    #expect(error?.code == .untrustedLocks && error?.message.contains(path + ".lock") == true)
    #expect(try fileBytes(path) == before)
    // One of the application's own.
    try #require(rmdir(path + ".lock") == 0)
    copy.isForeignLockFolder = { _ in true }
    #expect(try await copy.run().tables.map(\.rows) == [1])
  }

  @Test(arguments: ["delete", "wal"])
  func `a rehearsal keeps nobody from writing while it goes through rows`(journal: String) async throws {
    let scratch = try Scratch()
    let (image, path) = (scratch.file("image.db"), scratch.file("app.db"))
    try SQLite.run("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1), (2); CREATE TABLE u(b)", on: image)
    try SQLite.run("PRAGMA journal_mode=\(journal); CREATE TABLE mine(a)", on: path)
    var copy = TableCopy(image: image, database: path, tables: ["t", "u"], busyTimeout: .seconds(5))
    copy.dryRun = true
    copy.afterLook = {
      let application = try TestDatabase(path)
      defer { application.close() }
      try application.run("PRAGMA busy_timeout=0; BEGIN IMMEDIATE; INSERT INTO mine VALUES(7); COMMIT")
    }
    let rehearsal = copy
    #expect(try await rehearsal.run().tables.map(\.rows) == [2, 0])
    #expect(try TestDatabase(path).number("SELECT a FROM mine") == 7)
    // What is put there meanwhile is in the way.
    copy.afterLook = { try SQLite.run("CREATE TABLE u(c)", on: path) }
    let late = copy
    let refusal = await #expect(throws: SnapshotError.self) { try await late.run() }
    #expect(refusal?.code == .table && refusal?.message.hasSuffix("has a table 'u' already") == true)
  }

  @Test func `a full disk may be that of the database, or the one where SQLite sorts`() {
    let copy = TableCopy(image: "/image", database: "/srv/app.db", tables: ["t"], busyTimeout: .zero)
    // SQLITE_FULL
    let error = copy.explained(SQLiteFailure(code: 13, message: "database or disk is full"))
    #expect(error.message == "the disk became full while tables were restored into /srv/app.db")
    #expect(error.hint?.contains("SQLITE_TMPDIR") == true && error.hint?.hasPrefix("Nothing was changed.") == true)
  }

  /// In one transaction: a process that reads all the time sees both tables or none.
  @Test func `into a database that is open elsewhere`() async throws {
    let tables = try await Tables(
      "CREATE TABLE one(a); CREATE TABLE two(a); \(Self.many("one")); \(Self.many("two"))",
      other: "PRAGMA journal_mode=wal; CREATE TABLE mine(a)")
    let reader = try await Keeper(
      tables.other,
      """
      said = set()
      while True:
          names = [name for (name,) in db.execute("select name from sqlite_schema where name in ('one', 'two')")]
          if len(names) not in said: said.add(len(names)); say('ready' if not names else len(names))
          time.sleep(0.001)
      """, in: tables.road.scratch)
    try await tables.copy("one", "two")
    #expect(try await eventually { try reader.said.contains("2") })
    #expect(try reader.said == ["ready", "2"])
  }

  private static func many(_ table: String) -> String {
    "INSERT INTO \(table) WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT randomblob(200) FROM n"
  }
}
