/// Something that a schema or its content may have, and that a copy must keep.
package enum DatabaseFeature: String, CaseIterable, Sendable {
  case nothing, overflow, largeBlob, manyRows, withoutRowid, extremeRowids, gapsInRowids, autoincrement, strict
  case fts3, fts4, fts5, fts5Contentless, rtree, rtreeOfIntegers
  case generatedColumns, expressionIndex, partialIndex, descendingIndex, collatedIndex
  case views, triggers, foreignKeys, checks, defaults, upserted
  case statistics, droppedColumn, addedColumn, renamedTable, freelist, longFreelist, fragments, emptiedTable
  case manyColumns, manyTables, strangeNames, nulInText, invalidText, unknownModule
  case applicationCollation, applicationFunctionInCheck, applicationFunctionInIndex

  package var needsApplicationCode: Bool { rawValue.hasPrefix("application") }

  /// What the schema format of before 2006 does not know.
  var needsNewFormat: Bool { [.generatedColumns, .descendingIndex, .droppedColumn].contains(self) }

  /// It can be made inside the first transaction.
  var comesFirst: Bool { self != .unknownModule }

  /// It changes a table in a way that SQLite refuses beside a view that leads nowhere.
  var isAlteration: Bool { [.droppedColumn, .addedColumn, .renamedTable].contains(self) }

  private static func rows(_ count: Int) -> String {
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
  }

  func add(to database: TestDatabase, _ random: inout SeededRandom, pageSize: Int) throws {
    for statement in statements(&random, pageSize: pageSize) { try database.run(statement) }
  }

  private func statements(_ random: inout SeededRandom, pageSize: Int) -> [String] {
    switch self {
    case .nothing: []
    case .overflow:
      ["CREATE TABLE long(x, y)"]
        + (1...4).map { "INSERT INTO long VALUES(\(SQLValue.blob(&random, of: pageSize * $0 / 2 + $0)), \($0))" }
    case .largeBlob: ["CREATE TABLE files(b)", "INSERT INTO files VALUES(\(SQLValue.blob(&random, of: 70_001)))"]
    case .manyRows:
      [
        "CREATE TABLE many(i, t)", "CREATE INDEX many_by_t ON many(t)",
        "\(Self.rows(1500)) INSERT INTO many SELECT i * 17 % 1009, 'row ' || i FROM n",
      ]
    case .fts3, .fts4, .fts5, .fts5Contentless, .rtree, .rtreeOfIntegers: virtualTable
    case .applicationCollation, .applicationFunctionInCheck, .applicationFunctionInIndex: ofApplication
    case .freelist, .longFreelist, .fragments, .emptiedTable, .droppedColumn, .addedColumn, .renamedTable, .statistics:
      changes
    case .strangeNames, .nulInText, .invalidText, .manyColumns, .manyTables, .unknownModule: oddities
    default: schema
    }
  }

  private var schema: [String] {
    switch self {
    case .withoutRowid:
      [
        "CREATE TABLE pairs(a, b, c, PRIMARY KEY(b DESC, a)) WITHOUT ROWID",
        "\(Self.rows(80)) INSERT INTO pairs SELECT i, -i, hex(i) FROM n",
      ]
    case .extremeRowids:
      [
        "CREATE TABLE far(x)",
        "INSERT INTO far(rowid, x) VALUES(-9223372036854775808, 1), (-1, 2), (9223372036854775807, 3)",
      ]
    case .gapsInRowids:
      [
        "CREATE TABLE gaps(x)", "\(Self.rows(300)) INSERT INTO gaps SELECT 'g' || i FROM n",
        "DELETE FROM gaps WHERE rowid % 3 = 1",
      ]
    case .autoincrement:
      [
        "CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT, x)", "INSERT INTO counted(x) VALUES(1), (2), (3)",
        "DELETE FROM counted WHERE id = 3",
      ]
    case .strict:
      [
        "CREATE TABLE exact(a INT, b ANY, c BLOB) STRICT",
        "INSERT INTO exact VALUES(1, 'any', x'00ff'), (2, 3.5, NULL)",
      ]
    case .generatedColumns:
      [
        "CREATE TABLE sums(a, b, c AS (a + b) VIRTUAL, d AS (a * b) STORED)", "CREATE INDEX sums_by_c ON sums(c)",
        "\(Self.rows(50)) INSERT INTO sums(a, b) SELECT i, 2 FROM n",
      ]
    case .expressionIndex:
      [
        "CREATE TABLE said(t)", "CREATE INDEX said_by_length ON said(length(t), lower(t))",
        "INSERT INTO said VALUES('Hello'), ('WORLD'), (NULL)",
      ]
    case .partialIndex: ["CREATE INDEX things_partly ON things(a) WHERE a IS NOT NULL AND id > 3"]
    case .descendingIndex: ["CREATE UNIQUE INDEX things_back ON things(id DESC, a DESC)"]
    case .collatedIndex:
      [
        "CREATE TABLE named(n TEXT COLLATE NOCASE UNIQUE, m TEXT COLLATE RTRIM)",
        "INSERT INTO named VALUES('Anna', 'x  '), ('bob', 'x')",
        "CREATE INDEX named_by_m ON named(m, n COLLATE BINARY)",
      ]
    case .views:
      ["CREATE VIEW few AS SELECT id, a FROM things WHERE id < 5", "CREATE VIEW broken AS SELECT * FROM nowhere"]
    case .triggers:
      [
        "CREATE TABLE log(x)", "CREATE VIEW door AS SELECT a FROM things",
        "CREATE TRIGGER noted AFTER UPDATE OF a ON things WHEN new.a IS NOT NULL BEGIN INSERT INTO log VALUES(new.id); END",
        "CREATE TRIGGER entered INSTEAD OF INSERT ON door BEGIN INSERT INTO log VALUES(new.a); END",
        "UPDATE things SET a = 'noted' WHERE id < 4", "INSERT INTO door VALUES('in')",
      ]
    case .foreignKeys:
      [
        "CREATE TABLE parents(id INTEGER PRIMARY KEY)",
        "CREATE TABLE children(p REFERENCES parents(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED)",
        "INSERT INTO parents VALUES(1), (2)", "INSERT INTO children VALUES(1), (2), (77)",
      ]
    case .checks:
      ["CREATE TABLE right(n CHECK(n > 0), t NOT NULL, CHECK(length(t) < 9))", "INSERT INTO right VALUES(1, 'x')"]
    case .defaults:
      [
        "CREATE TABLE preset(a DEFAULT (1 + 2), b DEFAULT 'it''s', c DEFAULT x'00', d DEFAULT CURRENT_TIMESTAMP)",
        "INSERT INTO preset(d) VALUES(1)",
      ]
    case .upserted:
      [
        "CREATE TABLE tally(k PRIMARY KEY ON CONFLICT REPLACE, n)",
        "INSERT INTO tally VALUES('a', 1), ('b', 2), ('a', 3)",
      ]
    default: []
    }
  }

  private var virtualTable: [String] {
    let texts = "SELECT 'some words of row ' || id FROM things"
    return switch self {
    case .fts3: ["CREATE VIRTUAL TABLE words USING fts3(body)", "INSERT INTO words \(texts)"]
    case .fts4:
      [
        "CREATE VIRTUAL TABLE words4 USING fts4(title, body, tokenize=porter, prefix='2,3')",
        "INSERT INTO words4(body) \(texts)", "INSERT INTO words4(words4) VALUES('optimize')",
      ]
    case .fts5:
      [
        "CREATE VIRTUAL TABLE words5 USING fts5(body, prefix=2)", "INSERT INTO words5 \(texts)",
        "DELETE FROM words5 WHERE rowid = 2",
      ]
    case .fts5Contentless:
      [
        "CREATE VIRTUAL TABLE bare USING fts5(body, content='')",
        "INSERT INTO bare(rowid, body) SELECT id, 'w' || id FROM things",
      ]
    case .rtree:
      [
        "CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1, y0, y1, +label)",
        "\(Self.rows(90)) INSERT INTO boxes SELECT i, i, i + 1, -i, 0, 'box ' || i FROM n",
        "DELETE FROM boxes WHERE id % 5 = 0",
      ]
    default:
      [
        "CREATE VIRTUAL TABLE cells USING rtree_i32(id, x0, x1)",
        "\(Self.rows(40)) INSERT INTO cells SELECT i, i, i + 3 FROM n",
      ]
    }
  }

  private var changes: [String] {
    switch self {
    case .freelist:
      ["CREATE TABLE gone(x)", "\(Self.rows(60)) INSERT INTO gone SELECT zeroblob(700) || i FROM n", "DROP TABLE gone"]
    case .longFreelist:
      [
        "CREATE TABLE gone2(x)",
        "\(Self.rows(700)) INSERT INTO gone2 SELECT 'erased ' || i || hex(zeroblob(230)) FROM n",
        "DELETE FROM gone2 WHERE rowid > 5",
      ]
    case .fragments:
      [
        "CREATE TABLE torn(x)", "\(Self.rows(200)) INSERT INTO torn SELECT hex(zeroblob(i % 50)) FROM n",
        "UPDATE torn SET x = x || x WHERE rowid % 3 = 0", "DELETE FROM torn WHERE rowid % 4 = 1",
        "UPDATE torn SET x = substr(x, 3) WHERE rowid % 5 = 0",
      ]
    case .emptiedTable:
      ["CREATE TABLE bare_now(x UNIQUE)", "INSERT INTO bare_now VALUES(1), (2)", "DELETE FROM bare_now"]
    case .droppedColumn:
      [
        "CREATE TABLE lost(a, b, c)", "INSERT INTO lost VALUES(1, 'b', x'cc'), (2, 'bb', NULL)",
        "ALTER TABLE lost DROP COLUMN b",
      ]
    case .addedColumn:
      [
        "CREATE TABLE more(a)", "INSERT INTO more VALUES(1), (2)", "ALTER TABLE more ADD COLUMN b DEFAULT 'later'",
        "INSERT INTO more VALUES(3, 'given')",
      ]
    case .renamedTable:
      [
        "CREATE TABLE before(a, b)", "CREATE INDEX before_by_a ON before(a)", "INSERT INTO before VALUES(1, 2)",
        "ALTER TABLE before RENAME TO \"after it\"", "ALTER TABLE \"after it\" RENAME COLUMN b TO \"b 2\"",
      ]
    default:
      [
        "CREATE TABLE asked(x)", "INSERT INTO asked VALUES(1), (2), (2)", "CREATE INDEX asked_by_x ON asked(x)",
        "ANALYZE",
      ]
    }
  }

  private var oddities: [String] {
    switch self {
    case .strangeNames:
      [
        "CREATE TABLE \"it's a \"\"table\"\", 數據\n🦭\"(\"\", \"a;b\", [c d], `e``f`)",
        "INSERT INTO \"it's a \"\"table\"\", 數據\n🦭\" VALUES(1, 2, 3, 4)", "CREATE TABLE \"\"(x)",
        "INSERT INTO \"\" VALUES('nameless')",
        "CREATE TABLE \"select\"(\"from\")", "CREATE INDEX \"-- no comment\" ON \"select\"(\"from\")",
      ]
    case .nulInText:
      ["CREATE TABLE nul(t)", "INSERT INTO nul VALUES('a' || char(0) || 'b'), (char(0)), (CAST(x'006100' AS TEXT))"]
    case .invalidText:
      ["CREATE TABLE wild(t TEXT)", "INSERT INTO wild VALUES(CAST(x'fffe80c0' AS TEXT)), (CAST(x'ed' AS TEXT))"]
    case .manyColumns:
      [
        "CREATE TABLE wide(\((1...150).map { "c\($0)" }.joined(separator: ", ")))",
        "INSERT INTO wide(c1, c75, c150) VALUES(1, 'middle', x'99')",
      ]
    case .manyTables: (1...40).map { "CREATE TABLE t\($0)(a, b UNIQUE); INSERT INTO t\($0) VALUES(\($0), 'b')" }
    // As a database of an application with a module of its own is; SQLite only looks for it when the table is used.
    default:
      [
        "PRAGMA writable_schema=1",
        "INSERT INTO sqlite_schema VALUES('table', 'strange', 'strange', 0, 'CREATE VIRTUAL TABLE strange USING nowhere(x)')",
        "PRAGMA writable_schema=RESET",
      ]
    }
  }

  private var ofApplication: [String] {
    switch self {
    case .applicationCollation:
      ["CREATE TABLE loud(t TEXT COLLATE shouting UNIQUE)", "INSERT INTO loud VALUES('one'), ('TWO')"]
    case .applicationFunctionInCheck:
      ["CREATE TABLE even(t CHECK(twice(t) > 0))", "INSERT INTO even VALUES(1), (2)"]
    default:
      ["CREATE TABLE even2(t)", "CREATE INDEX even_by_twice ON even2(twice(t))", "INSERT INTO even2 VALUES(1), (2)"]
    }
  }
}
