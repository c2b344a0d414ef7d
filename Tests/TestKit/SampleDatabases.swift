import CSQLite

/// The zoo: one small database of each kind that people have.
package enum SampleDatabase: String, CaseIterable, Sendable {
  case rollback
  case walClosed
  case walWithContent
  case walWithoutShm
  case walWithStaleShm
  case utf16le
  case utf16be
  case page512
  case page1024
  case page2048
  case page8192
  case page16384
  case page32768
  case page65536
  case page65536WithContentInWal
  case autoVacuumFull
  case autoVacuumIncremental
  case reservedBytes
  case reservedBytesWithContentInWal
  case fts3
  case fts4
  case fts5
  case rtree
  case withoutRowid
  case strict
  case generatedColumns
  case jsonFunctions
  case checkConstraints
  case checkConstraintsWithContentInWal
  case viewsAndTriggers
  case doubleQuotedLiterals
  case tableNamedWithQuotes
  case largeBlobs
  case freePages
  case freePagesInWal
  case noTables
  case applicationCollation
  case applicationFunctionInCheck
  case applicationFunctionInIndex
  case applicationFunctionInColumn
  case applicationFunctionInColumnThatIsNotNull
  case applicationFunctionInPartialIndex
  case applicationFunctionInIndexOfColumn

  /// It cannot be copied by `VACUUM INTO`, or not checked, without the application's own code.
  package var needsApplicationCode: Bool { rawValue.hasPrefix("application") }

  /// Its header says that it is read through a -wal.
  package var isWAL: Bool { rawValue.lowercased().contains("wal") }

  /// Words that were in rows once and are deleted; found in free pages.
  package static let deletedWords = "erased-by-its-owner"

  /// Writes the database to `path` and closes it; side files are left where the kind has them.
  package func make(at path: String) throws {
    let database = try TestDatabase(path)
    try database.run("PRAGMA synchronous=OFF")
    for pragma in pragmas { try database.run("PRAGMA \(pragma)") }
    if rawValue.hasPrefix("reservedBytes") {
      var count: Int32 = 24
      sqlite3_file_control(database.handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &count)
      try database.run("VACUUM")
    }
    if isWAL { try database.run("PRAGMA journal_mode=WAL") }
    try database.run("PRAGMA user_version=7; PRAGMA application_id=1234567")
    if self == .noTables { return database.close() }
    try database.run(Self.commonTables + tables)
    guard isWAL, self != .walClosed else { return database.close() }
    // Page 1 and many others have a newer version in the -wal than in the file.
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    try database.run(
      "CREATE TABLE later(x); INSERT INTO later SELECT value FROM numbers; UPDATE people SET age = age + 1")
    if self == .freePagesInWal { try database.run("DELETE FROM secrets") }
    if self == .walWithStaleShm {
      let stale = try fileBytes(path + "-shm")
      try database.run("INSERT INTO later VALUES('newer than the shm')")
      database.closeKeepingWal()
      try writeFile(path + "-shm", stale)
      return
    }
    database.closeKeepingWal()
    if self == .walWithoutShm { try removeFile(path + "-shm") }
  }

  private var pragmas: [String] {
    switch self {
    case .utf16le: ["encoding='UTF-16le'"]
    case .utf16be: ["encoding='UTF-16be'"]
    case .autoVacuumFull: ["auto_vacuum=FULL"]
    case .autoVacuumIncremental: ["auto_vacuum=INCREMENTAL"]
    case .freePages, .freePagesInWal: ["page_size=1024", "secure_delete=OFF"]
    default: pageSize.map { ["page_size=\($0)"] } ?? []
    }
  }

  private var pageSize: Int? {
    Int(rawValue.drop { !$0.isNumber }.prefix { $0.isNumber }).flatMap { $0 >= 512 ? $0 : nil }
  }

  private static let commonTables = """
    CREATE TABLE numbers(value INTEGER PRIMARY KEY);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO numbers SELECT i FROM n;
    CREATE TABLE people(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, age INT, picture BLOB, weight REAL);
    INSERT INTO people(name, age, picture, weight)
      SELECT 'Zoë ' || value, value % 90, zeroblob(value), value / 3.0 FROM numbers;
    CREATE INDEX people_by_name ON people(name, age);
    """

  private var tables: String {
    switch self {
    case .fts3: "CREATE VIRTUAL TABLE words USING fts3(body); INSERT INTO words SELECT name FROM people;"
    case .fts4: "CREATE VIRTUAL TABLE words USING fts4(body); INSERT INTO words SELECT name FROM people;"
    case .fts5: "CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words SELECT name FROM people;"
    case .rtree:
      "CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1); INSERT INTO boxes SELECT value, value, value + 1 FROM numbers;"
    case .withoutRowid:
      "CREATE TABLE pairs(a, b, c, PRIMARY KEY(b, a)) WITHOUT ROWID; INSERT INTO pairs SELECT value, -value, 'x' FROM numbers;"
    case .strict:
      "CREATE TABLE exact(a INT, b ANY, c BLOB) STRICT; INSERT INTO exact SELECT value, 'b' || value, x'00ff' FROM numbers;"
    case .generatedColumns:
      """
      CREATE TABLE sums(a, b, c AS (a + b) VIRTUAL, d AS (a * b) STORED); CREATE INDEX by_c ON sums(c);
      INSERT INTO sums(a, b) SELECT value, 2 FROM numbers;
      """
    case .jsonFunctions:
      """
      CREATE TABLE documents(j TEXT CHECK(json_valid(j)), v AS (j->>'$.v') STORED, w AS (json_extract(j, '$.w')));
      CREATE INDEX by_v ON documents(json_extract(j, '$.v')); CREATE INDEX by_w ON documents(w);
      CREATE INDEX large ON documents(v) WHERE json_type(j, '$.v') = 'integer';
      CREATE VIEW parts AS SELECT value FROM documents, json_each(j);
      INSERT INTO documents(j) SELECT json_object('v', value, 'w', 'w' || value) FROM numbers;
      """
    case .checkConstraints, .checkConstraintsWithContentInWal:
      """
      CREATE TABLE limits(a INTEGER PRIMARY KEY, b TEXT CHECK(length(b) > 3), c AS (a + 1), d AS (b || 'x') STORED,
        CHECK(a < 1e9)); CREATE INDEX by_b ON limits(b); CREATE INDEX by_d ON limits(d);
      INSERT INTO limits(b) SELECT hex(randomblob(20)) FROM numbers;
      """
    case .viewsAndTriggers:
      """
      CREATE VIEW old AS SELECT * FROM people WHERE age > 50; CREATE TABLE log(x);
      CREATE TRIGGER noted AFTER INSERT ON people BEGIN INSERT INTO log VALUES(new.name); END;
      INSERT INTO people(name) VALUES('last');
      """
    case .doubleQuotedLiterals: "CREATE TABLE odd(y CHECK(y <> \"bad\")); INSERT INTO odd VALUES('good');"
    case .tableNamedWithQuotes:
      "CREATE TABLE \"it's a \"\"table\"\"\"(x); INSERT INTO \"it's a \"\"table\"\"\" VALUES(1);"
    case .largeBlobs:
      "CREATE TABLE files(b); INSERT INTO files VALUES(randomblob(1000000)); INSERT INTO files VALUES(zeroblob(3000000));"
    case .freePages, .freePagesInWal:
      """
      CREATE TABLE secrets(s); INSERT INTO secrets SELECT '\(Self.deletedWords)' || hex(randomblob(300)) FROM numbers;
      \(self == .freePages ? "DELETE FROM secrets;" : "")
      """
    case .applicationCollation:
      "CREATE TABLE loud(t TEXT COLLATE shouting UNIQUE); INSERT INTO loud SELECT 'N' || value FROM numbers;"
    case .applicationFunctionInCheck:
      "CREATE TABLE even(t CHECK(twice(t) > 0)); INSERT INTO even SELECT value FROM numbers;"
    case .applicationFunctionInIndex:
      "CREATE TABLE even(t); CREATE INDEX by_twice ON even(twice(t)); INSERT INTO even SELECT value FROM numbers;"
    case .applicationFunctionInColumn:
      "CREATE TABLE even(t, u AS (twice(t)) STORED); INSERT INTO even(t) SELECT value FROM numbers;"
    case .applicationFunctionInColumnThatIsNotNull:
      "CREATE TABLE even(t, u AS (twice(t)) NOT NULL); INSERT INTO even(t) SELECT value FROM numbers;"
    case .applicationFunctionInPartialIndex:
      "CREATE TABLE even(t); CREATE UNIQUE INDEX large ON even(t) WHERE twice(t) > 9; INSERT INTO even SELECT value FROM numbers;"
    case .applicationFunctionInIndexOfColumn:
      "CREATE TABLE even(t, u AS (twice(t))); CREATE INDEX by_u ON even(u); INSERT INTO even(t) SELECT value FROM numbers;"
    default: ""
    }
  }
}
