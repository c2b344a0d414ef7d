import CSQLite

/// Copies single tables of a finished image into another database, with their indexes and triggers, in one transaction.
package struct TableCopy: Sendable {
  package struct Copied: Sendable, Equatable {
    package var table: String
    package var rows: Int
    package var indexes: [String]
    package var triggers: [String]
  }

  package struct Outcome: Sendable {
    package var tables: [Copied] = []
    /// What the tables need and is not there, or was not copied.
    package var remarks: [String] = []
  }

  /// A private, finished image.
  package var image: String
  /// Real path of the database that gets them; applications may have it open.
  package var database: String
  package var tables: [String]
  package var busyTimeout: Duration
  /// Make the tables without their rows, and roll everything back in the end.
  package var dryRun = false
  /// Whether a folder that stands beside the database as a lock, or comes to, is none of SQLite's.
  package var isForeignLockFolder: @Sendable (_ database: String) -> Bool = { _ in false }
  /// How long rows of other tables are looked at: nobody else can write meanwhile.
  var longestLook: Duration = .seconds(5)
  /// In a rehearsal, called when the rows of the version were looked at; for tests.
  var afterLook: @Sendable () throws -> Void = {}
  /// Called before the commit; for tests.
  var beforeCommit: @Sendable () throws -> Void = {}

  package init(image: String, database: String, tables: [String], busyTimeout: Duration) {
    self.image = image
    self.database = database
    self.tables = tables
    self.busyTimeout = busyTimeout
  }

  /// - Throws: `.table` for one that is not there, is there already, or cannot be copied alone; `.reservedBytes`,
  ///   `.untrustedLocks`, `.busy`, `.cancelled` and whatever SQLite refuses. Nothing was changed then.
  package func run() async throws -> Outcome {
    try await onOwnThread { stop in
      let watch = Watch(stop, busyTimeout: busyTimeout)
      let wal = GrownWal(of: database)
      do {
        return try TableCopyRun(self, watch).run()
      } catch let failure as SQLiteFailure {
        throw watch.refusal ?? wal.told(with: explained(failure))
      }
    }
  }

  func explained(_ failure: SQLiteFailure) -> SnapshotError {
    var error = failure.explained(of: database, copies: [image])
    switch failure.primary {
    case SQLITE_BUSY, SQLITE_LOCKED:
      error.hint =
        "Nothing was changed. Try again when no long transaction is running, or wait longer with --busy-timeout."
    case SQLITE_FULL:
      error.message = "the disk became full while tables were restored into \(database)"
      // SQLite does not say which of them it was.
      error.hint =
        "Nothing was changed. Free space there, and in SQLite's temporary folder, where indexes are sorted (SQLITE_TMPDIR)."
    case SQLITE_IOERR where failure.code != ExtendedCode.sharedMemoryMap:
      return failure.ofTheDisk(while: "tables were restored into \(database)")
    case SQLITE_CONSTRAINT: return Self.contradiction(failure.message, failure)
    case _ where failure.needsApplicationCode:
      return SnapshotError(
        .table, "a table needs code of its application (\(failure.message))",
        hint: "Nothing was changed. Restore the whole version beside it, and copy the rows with its application.",
        cause: failure)
    default: break
    }
    return error
  }

  /// Such rows are in a version where an index of the table did not know all of them.
  fileprivate static func contradiction(_ words: String, _ cause: (any Error)? = nil) -> SnapshotError {
    SnapshotError(
      .table, "the rows of the version break a constraint of its own table: \(words)",
      hint: "Nothing was changed. `pull` the whole version, look at those rows, and copy them with INSERT OR IGNORE.",
      cause: cause)
  }
}

/// Ends a statement that has run long enough.
private struct LookIsOver: Error {}

private final class TableCopyRun {
  private let request: TableCopy
  private let watch: Watch
  private let lockFolder: LockFolderWatch
  private let connection: Connection
  private var outcome = TableCopy.Outcome()
  /// How many rows each table of the version has, by its name there: of a rehearsal, which puts none.
  private var counted: [String: Int] = [:]

  init(_ request: TableCopy, _ watch: Watch) throws {
    self.request = request
    self.watch = watch
    try watch.check()
    let hint = "Name a database that is there with --into."
    guard let size = fileSize(request.database) else {
      throw SnapshotError(.missing, "there is no database \(request.database)", hint: hint)
    }
    guard size > 0 else { throw LiveDestination.empty(request.database, hint: hint) }
    lockFolder = try LockFolderWatch(request.database, isForeign: request.isForeignLockFolder)
    try demandNothingPlanted(beside: request.database, watch, patience: request.busyTimeout)
    let keepsWal = (fileSize(request.database + "-wal") ?? 0) > 0
    if request.dryRun {
      // A journal that a dead writer left would be rolled back by whoever may write: this says so, and does not.
      let reader = try Connection(request.database, flags: SQLITE_OPEN_READONLY)
      try reader.demand(sl_db_config_int(reader.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nil))
      _ = try reader.integer("PRAGMA schema_version")
    }
    connection = try Connection(request.database, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI)
    connection.obey(watch)
    // Whoever comes last checkpoints on the way out, and removes the -wal. One that held something before us is the
    // application's. Any other goes with us, as this user's it might keep the application out; that takes a lock which
    // nobody gets while others have the database open.
    try connection.demand(
      sl_db_config_int(connection.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keepsWal ? 1 : 0, nil))
    try connection.trustSchema()
    try connection.demand(sqlite3_wal_autocheckpoint(connection.handle, 0))
    // EXTRA: a journal that was removed stays removed when the power goes.
    for pragma in ["mmap_size=0", "synchronous=EXTRA", "foreign_keys=OFF", "ignore_check_constraints=ON"] {
      try connection.execute("PRAGMA \(pragma)")
    }
    connection.limitCache()
    guard try !connection.usesReservedBytes() else {
      throw TableCopy.reservedBytes(of: request.database)
    }
    let attached = try Connection.encoding(of: request.image, watch)
    let own = try connection.rows("PRAGMA encoding", limit: 1).first ?? ""
    guard attached == own else {
      throw SnapshotError(
        .table, "the version holds text in \(attached), and \(request.database) in \(own): SQLite does not mix them",
        hint: "Restore the whole version beside it, and copy the table with its application.")
    }
    try connection.attachVersion(request.image)
    connection.limitCache(of: TableSchema.version)
  }

  func run() throws -> TableCopy.Outcome {
    // What the version alone says is looked at while everybody may write: its image is nobody else's.
    let tables = try request.tables.map { try TableSchema(named: $0, connection) }
    guard Set(tables.map { $0.name.lowercased() }).count == tables.count else {
      throw SnapshotError(.table, "a table is named twice", hint: "Name each table once.")
    }
    if request.dryRun { try lookAtRows(of: tables) }
    try connection.execute("BEGIN IMMEDIATE")
    do {
      try demandFree(tables)
      for table in tables { try copy(table) }
      // Triggers last: none of them sees a row that is only put back.
      for (index, table) in tables.enumerated() { outcome.tables[index].triggers = try makeTriggers(of: table) }
      try remark(on: tables)
      try request.beforeCommit()
      try lockFolder.demandNone()
      try connection.execute(request.dryRun ? "ROLLBACK" : "COMMIT")
      return outcome
    } catch {
      try? connection.execute("ROLLBACK")
      if let failure = error as? SQLiteFailure, failure.isOfTheMachine, connection.hasRolledBack() {
        // A -wal full of nothing would keep a full disk full: where nobody else has the database open, closing removes it.
        try? connection.demand(sl_db_config_int(connection.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nil))
      }
      throw error
    }
  }

  private func demandFree(_ tables: [TableSchema]) throws {
    var taken = NamesInTheWay(connection)
    let wanted = try tables.map { table in
      NamesInTheWay.Wanted(table: table.name, parts: try table.indexes(connection) + table.triggers(connection))
    }
    try taken.look(for: wanted)
    try taken.demandNone(in: request.database)
  }

  /// Keys are sorted for it, which takes seconds for many rows.
  private func lookAtRows(of tables: [TableSchema]) throws {
    // What is in the way is told without that, and once more when nobody can put anything there.
    try demandFree(tables)
    for table in tables {
      if let key = try table.repeatedKey(connection) {
        throw TableCopy.contradiction("UNIQUE constraint failed: \(key)")
      }
      let name = quoted(table.name, by: "\"")
      counted[table.name] = try connection.integer("SELECT count(*) FROM \(TableSchema.version).\(name) NOT INDEXED")
    }
    try request.afterLook()
  }

  private func copy(_ table: TableSchema) throws {
    try connection.execute(table.sql)
    let columns = try table.storedColumns(connection)
    var names = columns.map { quoted($0, by: "\"") }
    var order = ""
    if !table.isWithoutRowID {
      if let rowID = try table.rowIDName(connection) {
        // Rows keep the numbers by which others may know them.
        names.insert(rowID, at: 0)
        order = " ORDER BY \(rowID)"
      } else {
        outcome.remarks.append(
          "'\(table.name)' has columns called rowid, oid and _rowid_: its row numbers are new ones")
      }
    }
    let list = names.joined(separator: ", ")
    let name = quoted(table.name, by: "\"")
    let rows: Int
    if request.dryRun {
      rows = counted[table.name] ?? 0
    } else {
      // No row takes another one's place, or is passed over, whatever the table's own ON CONFLICT says. An index may know
      // fewer rows than there are.
      try connection.execute(
        "INSERT OR ABORT INTO main.\(name)(\(list)) "
          + "SELECT \(list) FROM \(TableSchema.version).\(name) NOT INDEXED\(order)")
      rows = Int(sqlite3_changes64(connection.handle))
    }
    try keepSequence(of: table)
    var indexes: [String] = []
    for index in try table.indexes(connection) {
      try connection.execute(index.sql)
      indexes.append(index.name)
    }
    outcome.tables.append(TableCopy.Copied(table: table.name, rows: rows, indexes: indexes, triggers: []))
  }

  /// A number that was given away once is not given again. A table without AUTOINCREMENT may have a sequence, too, which
  /// nobody heeds: where the database has no table for it, none is needed.
  private func keepSequence(of table: TableSchema) throws {
    guard try connection.hasTable("sqlite_sequence", in: "main"),
      try connection.hasTable("sqlite_sequence", in: TableSchema.version),
      let sequence = try connection.rows(
        "SELECT seq FROM \(TableSchema.version).sqlite_sequence WHERE name = ?", [table.name], limit: 1
      ).first
    else { return }
    try connection.execute("DELETE FROM main.sqlite_sequence WHERE name = ?", table.name)
    try connection.execute(
      "INSERT INTO main.sqlite_sequence(name, seq) VALUES (?, CAST(? AS INTEGER))", table.name, sequence)
  }

  private func makeTriggers(of table: TableSchema) throws -> [String] {
    var names: [String] = []
    for trigger in try table.triggers(connection) {
      try connection.execute(trigger.sql)
      names.append(trigger.name)
      // Whatever the trigger cannot find shows when a statement that it is for is prepared.
      if let complaint = try complaint(about: table) {
        outcome.remarks.append(
          "the trigger '\(trigger.name)' needs what \(request.database) does not have: \(complaint)")
      }
    }
    return names
  }

  private func complaint(about table: TableSchema) throws -> String? {
    let name = quoted(table.name, by: "\"")
    var statements = ["INSERT INTO main.\(name) DEFAULT VALUES", "DELETE FROM main.\(name)"]
    if let column = try table.storedColumns(connection).first.map({ quoted($0, by: "\"") }) {
      statements.append("UPDATE main.\(name) SET \(column) = \(column)")
    }
    for statement in statements {
      if let message = connection.complaint(preparing: statement) { return message }
    }
    return nil
  }

  /// The version may have fewer rows than others refer to. Nobody else can write until all is committed, so a great table is
  /// not gone through to its end.
  private func remark(on child: String, referringTo table: TableSchema, until end: SuspendingClock.Instant) throws {
    let limited = watch.again()
    limited.whileWorking = { if SuspendingClock.now >= end { throw LookIsOver() } }
    connection.obey(limited)
    defer { connection.obey(watch) }
    var lost: [String] = []
    let look = "SELECT 1 FROM pragma_foreign_key_check(?, 'main') WHERE parent = ? COLLATE NOCASE"
    // Where the two do not match each other, SQLite finds nothing.
    try? connection.read(look, [child, table.name], limit: 1000, into: &lost)
    let isCut = limited.refusal != nil
    if isCut { try watch.check() }
    if !lost.isEmpty {
      tell(of: lost.count, mayBeMore: isCut || lost.count >= 1000, in: child, referringTo: "rows of '\(table.name)'")
    }
    guard isCut else { return }
    outcome.remarks.append(
      "'\(child)' refers to '\(table.name)', and not all of its rows were looked at, for whether they refer to rows that are "
        + "not there: PRAGMA foreign_key_check(\(quoted(child, by: "\""))) tells")
  }

  private func tell(of lost: Int, mayBeMore: Bool, in table: String, referringTo rows: String) {
    let isOne = lost == 1 && !mayBeMore
    outcome.remarks.append(
      "\(lost)\(mayBeMore ? " or more" : "") \(isOne ? "row" : "rows") of '\(table)' \(isOne ? "refers" : "refer") to \(rows) "
        + "that are not there")
  }

  private func remark(on tables: [TableSchema]) throws {
    let end = SuspendingClock.now + request.longestLook
    for table in tables {
      let name = quoted(table.name, by: "'")
      let parents = try connection.rows("SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(\(name))", limit: .max)
      for parent in parents where try !connection.hasTable(parent, in: "main") {
        outcome.remarks.append("'\(table.name)' refers to the table '\(parent)', which is not there")
      }
      let lost = try? connection.rows("PRAGMA main.foreign_key_check(\(name))", limit: 1000).count
      if let lost, lost > 0 { tell(of: lost, mayBeMore: lost >= 1000, in: table.name, referringTo: "rows") }
      // A rehearsal has put no rows there.
      let restored = Set(tables.map { $0.name.lowercased() })
      for child in try table.children(connection) where !request.dryRun && !restored.contains(child.lowercased()) {
        try remark(on: child, referringTo: table, until: end)
      }
      let (strays, old) = (try table.strays(connection), table.formerName)
      if !strays.isEmpty {
        outcome.remarks.append(
          "\(listed(strays)) go by '\(old)', not by '\(table.name)': a plain ALTER TABLE … RENAME TO rewrites them. "
            + "Make them anew before '\(old)' is dropped, which breaks them and may delete rows that refer to it")
      }
      for view in try table.views(connection) {
        outcome.remarks.append("the view '\(view)' of the version reads '\(table.name)', and was not copied")
      }
      for index in try table.fullTextIndexes(connection) {
        let name = quoted(index, by: "\"")
        outcome.remarks.append(
          "the full-text index '\(index)' takes its rows from '\(table.name)' and does not know them yet: "
            + "INSERT INTO \(name)(\(name)) VALUES('rebuild')")
      }
    }
  }
}

extension Connection {
  fileprivate static func encoding(of image: String, _ watch: Watch) throws(SQLiteFailure) -> String {
    try openImage(image, watch).rows("PRAGMA encoding", limit: 1).first ?? ""
  }

  /// Reads its schema as well: what ours cannot parse of that is no fault of the database that is open already.
  fileprivate func attachVersion(_ image: String) throws {
    do throws(SQLiteFailure) {
      try execute("ATTACH ? AS \(TableSchema.version)", immutableURI(image))
    } catch {
      guard error.isOfUnparsedSchema else { throw error }
      throw SnapshotError(
        .table,
        "the schema of the version may be of a later SQLite than ours (\(CheckOutcome.release)): \(error.message)",
        hint: "Nothing was changed. Restore the whole version beside it, and copy the rows with its application.",
        cause: error)
    }
  }

  func hasTable(_ name: String, in schema: String) throws(SQLiteFailure) -> Bool {
    try !rows(
      "SELECT 1 FROM \(schema).sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", [name], limit: 1
    ).isEmpty
  }

  /// Why a statement cannot be prepared; nil when it can.
  fileprivate func complaint(preparing sql: String) -> String? {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) != SQLITE_OK else { return nil }
    return String(cString: sqlite3_errmsg(handle))
  }
}
