import CSQLite

/// One copy of tables, from the first look at the database to the commit.
final class TableCopyRun {
  let request: TableCopy
  let watch: Watch
  private let lockFolder: LockFolderWatch
  let connection: Connection
  var outcome = TableCopy.Outcome()
  /// How many rows each table of the version has, by its name there: of a rehearsal, which puts none.
  var counted: [String: Int] = [:]

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

  func demandFree(_ tables: [TableSchema]) throws {
    var taken = NamesInTheWay(connection)
    let wanted = try tables.map { table in
      NamesInTheWay.Wanted(table: table.name, parts: try table.indexes(connection) + table.triggers(connection))
    }
    try taken.look(for: wanted)
    try taken.demandNone(in: request.database)
  }
}
