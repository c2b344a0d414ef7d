import CSQLite

/// One table of a version that is attached to a connection, and whether it can be copied alone.
struct TableSchema {
  /// By which the version is attached.
  static let version = "sealift_version"

  struct Part {
    let name: String
    let sql: String
  }

  /// As the version spells it.
  let name: String
  let sql: String
  let isWithoutRowID: Bool

  /// - Throws: `.table` when there is none of that name, or none that could be copied.
  init(named wanted: String, _ connection: Connection) throws {
    let schema = "\(Self.version).sqlite_schema"
    guard
      let name = try connection.rows(
        "SELECT name FROM \(schema) WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", [wanted], limit: 1
      ).first
    else {
      let known = try connection.rows(
        "SELECT name FROM \(schema) WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        limit: 12)
      throw SnapshotError(
        .table, "the version has no table '\(wanted)'",
        hint: known.isEmpty ? "It has no tables at all." : "Tables in it: \(known.joined(separator: ", ")).")
    }
    self.name = name
    let kind = try connection.rows(
      "SELECT type FROM pragma_table_list(?) WHERE schema = '\(Self.version)'", [name], limit: 1
    ).first
    let sql = try connection.rows("SELECT sql FROM \(schema) WHERE name = ?", [name], limit: 1).first ?? ""
    self.sql = sql
    isWithoutRowID =
      try connection.rows(
        "SELECT wr FROM pragma_table_list(?) WHERE schema = '\(Self.version)'", [name], limit: 1
      ).first == "1"
    try Self.demandPlain(name, kind ?? "", sql)
    if let owner = try Self.virtualOwner(of: name, in: Self.version, connection) {
      throw SnapshotError(
        .table, "'\(name)' is a part of the virtual table '\(owner)', and of no use alone",
        hint: "Restore the whole version beside the database, and let its application build '\(owner)' anew.")
    }
  }

  private static func demandPlain(_ name: String, _ kind: String, _ sql: String) throws(SnapshotError) {
    let whole = "Restore the whole version beside the database"
    switch kind {
    case "view":
      throw SnapshotError(.table, "'\(name)' is a view, which holds no rows", hint: "Name the tables that it reads.")
    case "virtual", "shadow":
      throw SnapshotError(
        .table,
        "'\(name)' is a virtual table or a part of one: its content lies in several tables that belong together",
        hint: "\(whole), and let its application build the table anew (FTS: INSERT … VALUES('rebuild')).")
    default: break
    }
    guard !name.lowercased().hasPrefix("sqlite_"), !sql.isEmpty else {
      throw SnapshotError(.table, "'\(name)' is SQLite's own", hint: "\(whole).")
    }
  }

  /// SQLite calls a part of a virtual table so only where it has the module: these are told by their names.
  static func virtualOwner(
    of name: String, in schema: String, _ connection: Connection
  ) throws(SQLiteFailure) -> String? {
    let endings = [
      "content", "data", "idx", "docsize", "config", "segments", "segdir", "stat", "node", "rowid", "parent",
    ]
    guard let line = name.lastIndex(of: "_"), endings.contains(name[name.index(after: line)...].lowercased()) else {
      return nil
    }
    return try connection.rows(
      "SELECT name FROM \(schema).sqlite_schema WHERE type = 'table' AND rootpage = 0 AND name = ? COLLATE NOCASE",
      [String(name[..<line])], limit: 1
    ).first
  }

  func indexes(_ connection: Connection) throws(SQLiteFailure) -> [Part] { try parts("index", connection) }

  func triggers(_ connection: Connection) throws(SQLiteFailure) -> [Part] { try parts("trigger", connection) }

  /// Those that SQLite makes by itself have no text.
  private func parts(_ type: String, _ connection: Connection) throws(SQLiteFailure) -> [Part] {
    let condition =
      "FROM \(Self.version).sqlite_schema WHERE type = '\(type)' AND tbl_name = ? COLLATE NOCASE AND sql IS NOT NULL ORDER BY rowid"
    let names = try connection.rows("SELECT name \(condition)", [name], limit: .max)
    let texts = try connection.rows("SELECT sql \(condition)", [name], limit: .max)
    return zip(names, texts).map { Part(name: $0, sql: $1) }
  }

  /// Names of the columns that hold something: no generated ones.
  func storedColumns(_ connection: Connection) throws(SQLiteFailure) -> [String] {
    try connection.rows(
      "SELECT name FROM pragma_table_xinfo(?, '\(Self.version)') WHERE hidden = 0 ORDER BY cid", [name], limit: .max)
  }

  /// A key that has to be unique, and of which two rows have the same value, as SQLite would tell it: `orders.day, orders.pad`.
  /// Not of keys that are expressions or are those of some rows only. No index is asked, which may not know both rows.
  func repeatedKey(_ connection: Connection) throws(SQLiteFailure) -> String? {
    let indexes = try connection.rows(
      "SELECT name FROM pragma_index_list(?, '\(Self.version)') WHERE \"unique\" = 1 AND partial = 0", [name],
      limit: .max)
    for index in indexes {
      let ofKey = "FROM pragma_index_xinfo(?, '\(Self.version)') WHERE \"key\" = 1 ORDER BY seqno"
      let columns = try connection.rows("SELECT name \(ofKey)", [index], limit: .max)
      let collations = try connection.rows("SELECT coll \(ofKey)", [index], limit: .max)
      // An expression has no name.
      guard !columns.isEmpty, !columns.contains("") else { continue }
      let terms = columns.map { quoted($0, by: "\"") }
      let isSet = terms.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
      let values = zip(terms, collations).map { "\($0) COLLATE \(quoted($1, by: "\""))" }.joined(separator: ", ")
      let twice = try connection.rows(
        """
        SELECT 1 FROM \(Self.version).\(quoted(name, by: "\"")) NOT INDEXED
          WHERE \(isSet) GROUP BY \(values) HAVING count(*) > 1
        """, limit: 1)
      if !twice.isEmpty { return columns.map { "\(name).\($0)" }.joined(separator: ", ") }
    }
    return nil
  }

  /// By what a row's number is called; nil when columns have all of its names.
  func rowIDName(_ connection: Connection) throws(SQLiteFailure) -> String? {
    let columns = try connection.rows(
      "SELECT lower(name) FROM pragma_table_xinfo(?, '\(Self.version)')", [name], limit: .max)
    return ["rowid", "_rowid_", "oid"].first { !columns.contains($0) }
  }

  /// Views of the version that speak of the table.
  func views(_ connection: Connection) throws(SQLiteFailure) -> [String] {
    try connection.rows(
      "SELECT name FROM \(Self.version).sqlite_schema WHERE type = 'view' AND instr(lower(sql), lower(?)) > 0", [name],
      limit: 100)
  }

  /// What a table of this name is called that had to make room.
  var formerName: String { "\(name)\(NamesInTheWay.ending)" }

  /// What of the database has followed a table that made room: since 3.26 SQLite's RENAME rewrites foreign keys, views and
  /// triggers of others, too, and puts each name into quotation marks.
  func strays(_ connection: Connection) throws(SQLiteFailure) -> [String] {
    let children = try Self.children(of: formerName, connection)
    let others = try connection.rows(
      """
      SELECT 'the ' || type || ' ''' || name || '''' FROM main.sqlite_schema
        WHERE type IN ('view', 'trigger') AND tbl_name <> ?1 COLLATE NOCASE AND instr(lower(sql), lower(?2)) > 0
        ORDER BY name
      """, [formerName, quoted(formerName, by: "\"")], limit: 100)
    return children.map { "the foreign key of '\($0)'" } + others
  }

  /// Other tables of the database whose foreign keys name it.
  func children(_ connection: Connection) throws(SQLiteFailure) -> [String] { try Self.children(of: name, connection) }

  private static func children(of parent: String, _ connection: Connection) throws(SQLiteFailure) -> [String] {
    try connection.rows(
      """
      SELECT DISTINCT child.name FROM main.sqlite_schema AS child
        JOIN pragma_foreign_key_list(child.name, 'main') AS key
        WHERE child.type = 'table' AND key."table" = ?1 COLLATE NOCASE AND child.name <> ?1 COLLATE NOCASE
        ORDER BY child.name
      """, [parent], limit: 100)
  }

  /// Full-text indexes of the database that have no text of their own, but read the table's
  /// (https://sqlite.org/fts5.html#external_content_tables).
  func fullTextIndexes(_ connection: Connection) throws(SQLiteFailure) -> [String] {
    try connection.rows(
      """
      SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0
        AND instr(\(Self.plain("sql")), 'usingfts') > 0
        AND instr(\(Self.plain("sql")), ',content=' || \(Self.plain("?")) || ',') > 0 ORDER BY name
      """, [name], limit: 100)
  }

  /// SQL for a text in which names and options are spelled in one way: no spaces, no quotes, commas around all of them.
  private static func plain(_ text: String) -> String {
    let bare = "\t\n\r \"'`[]".utf8.reduce("lower(\(text))") { "replace(\($0), char(\($1)), '')" }
    return "replace(replace(\(bare), '(', ','), ')', ',')"
  }
}
