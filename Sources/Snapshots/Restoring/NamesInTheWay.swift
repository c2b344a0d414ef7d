import CSQLite

/// What of a database has the names that tables need which are to be put into it, and how to make room for them.
struct NamesInTheWay {
  /// Of a table that makes room.
  static let ending = "_old"

  /// A table that is to be put there.
  struct Wanted {
    var table: String
    /// Its indexes and triggers; `nil` while they are not known.
    var parts: [TableSchema.Part]?
  }

  private let connection: Connection
  /// `an index 'by_day'`
  private var things: [String] = []
  /// Statements that make room: what goes belongs to the old rows, and comes back with the others.
  private var script: [String] = []
  private var renames = false
  /// Names that the script makes free, in lower case.
  private var freed: Set<String> = []
  /// Names of indexes and triggers.
  private var dropped: [String] = []
  /// What of it does not come back: `the index 'by_day' of 'orders'`
  private var gone: [String] = []
  /// Tables that no script moves: `'orders'`
  private var stuck: [String] = []
  /// Tables that nobody asked for: their rows are not to go.
  private var foreign: [String] = []
  /// What others need: no script removes it.
  private var kept: [String] = []

  /// Whether all was looked for: the version's indexes and triggers may meet more than the tables do.
  private var isWhole = true

  init(_ connection: Connection) { self.connection = connection }

  /// - Parameter wanted: all of them at once: what goes with one may be in the way of another's indexes and triggers.
  mutating func look(for wanted: [Wanted]) throws(SQLiteFailure) {
    isWhole = wanted.allSatisfy { $0.parts != nil }
    for one in wanted { try look(for: one) }
    for one in wanted {
      for part in one.parts ?? [] { try look(for: part.name, of: one.table) }
    }
  }

  /// - Throws: `.table` where a name is taken.
  func demandNone(in database: String) throws(SnapshotError) {
    guard !things.isEmpty else { return }
    throw SnapshotError(.table, "\(database) has \(listed(things)) already", hint: hint)
  }

  private var hint: String {
    guard stuck.isEmpty else {
      return "Restore into another database: no script makes room for \(listed(stuck)), whose SQL calls columns by the "
        + "table's name."
    }
    var sentences: [String] = []
    // First: who has run what comes below has changed the database.
    if !isWhole {
      sentences.append(
        "Before you change anything, let --dry-run tell what the version's indexes and triggers meet there, too: it fetches "
          + "the version, which alone knows their names.")
    }
    for (deed, others) in [("Rename", foreign), ("Remove", kept)] where !others.isEmpty {
      sentences.append("\(deed) \(listed(others)) first, or restore into another database.")
    }
    if !script.isEmpty {
      let statements = script.joined(separator: " ")
      if !dropped.isEmpty { sentences.append("Keep the SQL of what is dropped first: \(definitions)") }
      sentences.append(
        "\(dropped.isEmpty ? "Make room first" : "Then make room"), in one session of sqlite3: "
          + "\(pragmas)BEGIN; \(statements) COMMIT;")
      if renames { sentences.append("Its pragmas keep what refers to the table from following the old rows.") }
      sentences.append(
        "Indexes and triggers come back as the version has them, those that it lacks do not; nothing is ever merged.")
      if !gone.isEmpty { sentences.append("It lacks \(listed(gone)).") }
    }
    return sentences.joined(separator: " ")
  }

  /// A query for what the script drops.
  private var definitions: String {
    let names = dropped.map { quoted($0, by: "'") }.joined(separator: ", ")
    return "SELECT sql || ';' FROM sqlite_schema WHERE type <> 'table' AND name COLLATE NOCASE IN (\(names));"
  }

  /// Without them foreign keys, views and triggers of others follow the old rows (sqlite.org/lang_altertable.html); and
  /// when those are dropped, rows of others may go with them.
  private var pragmas: String { renames ? "PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON; " : "" }

  private mutating func look(for wanted: Wanted) throws(SQLiteFailure) {
    guard let there = try kind(of: wanted.table) else { return }
    note(there, wanted.table)
    if there == "table" { try move(wanted) } else { kept.append("the \(there) '\(wanted.table)'") }
  }

  /// Its indexes and triggers stay with the old rows, under names that the version mostly has, too.
  private mutating func move(_ wanted: Wanted) throws(SQLiteFailure) {
    let table = wanted.table
    guard try !callsColumns(byNameOf: table) else { return stuck.append("'\(table)'") }
    let coming = wanted.parts.map { Set($0.map { $0.name.lowercased() }) }
    for kind in ["index", "trigger"] {
      let names = try connection.rows(
        """
        SELECT name FROM main.sqlite_schema
          WHERE type = ? AND tbl_name = ? COLLATE NOCASE AND sql IS NOT NULL ORDER BY rowid
        """, [kind, table], limit: .max)
      for name in names {
        note(kind, name)
        drop(kind, name)
        if let coming, !coming.contains(name.lowercased()) { gone.append("the \(kind) '\(name)' of '\(table)'") }
      }
    }
    let new = try freeName(for: table)
    script.append("ALTER TABLE \(quoted(table, by: "\"")) RENAME TO \(quoted(new, by: "\""));")
    freed.insert(table.lowercased())
    renames = true
  }

  /// As in `CHECK (orders.day > 0)`, which does not follow where `legacy_alter_table` lets nothing follow: the table cannot
  /// be renamed then. Says so at times of one that could be.
  private func callsColumns(byNameOf table: String) throws(SQLiteFailure) -> Bool {
    func bare(_ text: String) -> String { text.lowercased().filter { !$0.isWhitespace && !"\"'`[]".contains($0) } }
    let sql = try connection.rows(
      "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", [table], limit: 1)
    return sql.contains { bare($0).contains("\(bare(table)).") }
  }

  private mutating func look(for part: String, of table: String) throws(SQLiteFailure) {
    guard !freed.contains(part.lowercased()), let there = try kind(of: part) else { return }
    note(there, part)
    if there == "table" { return foreign.append("the table '\(part)'") }
    guard there == "index" || there == "trigger" else { return kept.append("the \(there) '\(part)'") }
    let owner = try connection.rows(
      "SELECT tbl_name FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE", [part], limit: 1
    ).first
    if let owner, !isFormer(owner, of: table) {
      kept.append("the \(there) '\(part)' of '\(owner)'")
    } else {
      drop(there, part)
    }
  }

  /// Whether a table is one that has made room for another of this name: `t_old`, `t_old2`.
  private func isFormer(_ owner: String, of table: String) -> Bool {
    let former = "\(table)\(Self.ending)".lowercased()
    return owner.lowercased().hasPrefix(former) && owner.lowercased().dropFirst(former.count).allSatisfy(\.isNumber)
  }

  private mutating func note(_ kind: String, _ name: String) {
    things.append("\(kind == "index" ? "an" : "a") \(kind) '\(name)'")
  }

  private mutating func drop(_ kind: String, _ name: String) {
    script.append("DROP \(kind.uppercased()) \(quoted(name, by: "\""));")
    dropped.append(name)
    freed.insert(name.lowercased())
  }

  private func kind(of name: String) throws(SQLiteFailure) -> String? {
    try connection.rows("SELECT type FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE", [name], limit: 1).first
  }

  private func freeName(for table: String) throws(SQLiteFailure) -> String {
    var name = "\(table)\(Self.ending)"
    var number = 1
    while try kind(of: name) != nil {
      number += 1
      name = "\(table)\(Self.ending)\(number)"
    }
    return name
  }
}

extension TableCopy {
  /// Looks for tables of these names before anything of a version is fetched: what its indexes and triggers are called
  /// is not known yet. What cannot be looked at now is told when the tables are put there.
  /// - Parameter tables: those that the version has for certain.
  /// - Throws: `.table`, `.reservedBytes`, `.cancelled`, `.spool` without a thread.
  package static func demandFree(_ tables: [String], in database: String) async throws {
    try await onOwnThread { stop in
      let watch = Watch(stop, busyTimeout: .seconds(1))
      do {
        guard let connection = try look(at: database, watch) else { return }
        guard try !connection.usesReservedBytes() else { throw reservedBytes(of: database) }
        var taken = NamesInTheWay(connection)
        var seen: Set<String> = []
        var wanted: [NamesInTheWay.Wanted] = []
        for table in tables where seen.insert(table.lowercased()).inserted {
          if try connection.hasPlainTable(table) { wanted.append(NamesInTheWay.Wanted(table: table)) }
        }
        try taken.look(for: wanted)
        try taken.demandNone(in: database)
      } catch let error as SnapshotError where error.code == .table || error.code == .reservedBytes {
        throw error
      } catch {
        try watch.check()
      }
    }
  }

  /// No room that is made there would help.
  static func reservedBytes(of database: String) -> SnapshotError {
    SnapshotError.reservedBytes(
      of: database, hint: "Restore the whole version beside it, and copy the rows with its application.")
  }

  /// Leaves nothing beside the database: of one in WAL mode that nobody has open SQLite would make a -wal and a -shm,
  /// which stay. Where nothing is in a -wal, the file has all there is.
  private static func look(at database: String, _ watch: Watch) throws -> Connection? {
    guard case .database(let facts) = try identify(database).kind else { return nil }
    try demandFiles(beside: database)
    guard facts.isWAL, (fileSize(database + "-wal") ?? 0) == 0 else { return try Connection(reading: database, watch) }
    return try Connection(reading: immutableURI(database), flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, watch)
  }
}

extension Connection {
  /// One that can make room for another: not SQLite's own, and no virtual table or a part of one.
  fileprivate func hasPlainTable(_ name: String) throws(SQLiteFailure) -> Bool {
    guard !name.lowercased().hasPrefix("sqlite_"),
      try TableSchema.virtualOwner(of: name, in: "main", self) == nil
    else { return false }
    return try rows("SELECT type FROM pragma_table_list(?) WHERE schema = 'main'", [name], limit: 1).first == "table"
  }
}

/// `a`, `a and b`, `a, b and c`
func listed(_ things: [String]) -> String {
  guard let last = things.last, things.count > 1 else { return things.first ?? "" }
  return "\(things.dropLast().joined(separator: ", ")) and \(last)"
}
