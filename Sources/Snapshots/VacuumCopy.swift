import CSQLite

/// Writes a repacked copy of `source` into the empty file `image`.
///
/// Measured with 3.40.1: the copy and its -journal stay within the spool folder and keep the mode 0600 of the
/// file we made; no other temporary file is used, because whole tables and indexes are transferred in order
/// and nothing is sorted. `query_only` cannot be set (it makes the statement fail).
/// - Parameter expecting: called before the first page is written with about how many there will be.
/// - Throws: `SQLiteFailure` as SQLite put it, or `SnapshotError`.
func copyByVacuum(
  _ source: Source, into image: String, _ request: SnapshotRequest, _ transaction: ReadTransaction, _ watch: Watch,
  expecting: (Int) -> Void
) throws {
  func vacuum(by connection: Connection) throws {
    // The connection writes nothing but the copy, which need not survive a power cut: no syncs.
    try connection.execute("PRAGMA synchronous=OFF")
    // A damaged header may count more free pages than there are pages.
    let pages = max(1, try connection.integer("PRAGMA page_count") - connection.integer("PRAGMA freelist_count"))
    try demandVacuumable(pages)
    try demandSpace(pages * connection.integer("PRAGMA page_size") + spaceToSpare, in: request.spoolFolder)
    expecting(pages)
    transaction.begins()
    defer { transaction.ends() }
    try connection.execute("VACUUM INTO ?", image)
  }
  if let other = try source.connectionThatKnowsChecks(watch) {
    defer { source.connection.rollBack() }
    do {
      return try vacuum(by: other)
    } catch let failure as SQLiteFailure where failure.primary == SQLITE_BUSY && watch.refusal == nil {
      // A writer in this process waits for our read, or died just now: then as slowly as SQLite does it.
    }
  }
  try vacuum(by: source.connection)
}

/// The new file gets no more pages than SQLite gives any by itself: 2^30 - 1 before 3.45. It would say after hours that the
/// disk is full.
/// - Throws: `SQLITE_ERROR`, for which the copy is made page by page.
func demandVacuumable(_ pages: Int) throws(SQLiteFailure) {
  let most = try Connection(":memory:", flags: SQLITE_OPEN_READWRITE).integer("PRAGMA max_page_count")
  guard pages <= most else {
    throw SQLiteFailure(
      code: SQLITE_ERROR, message: "it has \(pages) pages, and SQLite vacuums no more than \(most) into a new file")
  }
}

/// For the copy's journal and the file system's own books.
let spaceToSpare = 1 << 20

extension Source {
  /// Another connection to vacuum by, where that matters.
  ///
  /// From a connection that only reads, SQLite knows no CHECK constraints (sqlite3AddCheckConstraint passes them over), so
  /// that a table that has one differs from its copy: it is copied row by row and its indexes grow in the order of rows.
  /// With 3.40.1 that takes 25 times as long, leaves indexes as loose as they were, and fails where a column is generated. So
  /// where the schema says CHECK, another connection vacuums, one that could write and is never asked to. While it lives
  /// this one holds a read transaction: nobody's journal can be rolled back, and no -wal recovered, by the other. It waits
  /// for nobody: with our own read held, only who waits for that is in its way.
  fileprivate func connectionThatKnowsChecks(_ watch: Watch) throws(SQLiteFailure) -> Connection? {
    let checks = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%check%'"
    guard !isImmutable, try !connection.rows(checks, limit: 1).isEmpty else { return nil }
    do throws(SQLiteFailure) {
      try connection.execute("BEGIN")
      _ = try connection.rows("SELECT 1 FROM sqlite_schema", limit: 1)
      // Where it may not write, SQLite opens it for reading.
      let other = try Connection(reading: path, flags: SQLITE_OPEN_READWRITE, watch)
      sqlite3_busy_handler(other.handle, nil, nil)
      // What has the name now may be another file, which nobody holds.
      if !connection.hasMoved { return other }
    } catch {
      connection.rollBack()
      throw error
    }
    connection.rollBack()
    return nil
  }
}
