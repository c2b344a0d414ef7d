import CSQLite
import Platform

/// Writes a repacked copy of `source` into the empty file `image`.
///
/// Measured with 3.40.1: the copy and its -journal stay within the spool folder and keep the mode 0600 of the
/// file we made; no other temporary file is used, because whole tables and indexes are transferred in order
/// and nothing is sorted. `query_only` cannot be set (it makes the statement fail).
/// - Parameter expecting: called before the first page is written with about how many there will be.
/// - Throws: `SQLiteFailure` as SQLite put it, or `SnapshotError`. `SQLITE_ERROR` also where rows would get other
///   numbers, see RowNumbers.swift, or be left out, see VacuumedSchema.swift.
func copyByVacuum(
  _ source: Source, into image: String, _ request: SnapshotRequest, _ transaction: ReadTransaction, _ watch: Watch,
  expecting: (Int) -> Void
) throws {
  /// - Parameter isHeld: our own read is held around it, and has begun the transaction.
  func vacuum(by connection: Connection, isHeld: Bool = false) throws {
    // The connection writes nothing but the copy, which need not survive a power cut: no syncs.
    try connection.execute("PRAGMA synchronous=OFF")
    connection.limitCache()
    if let loss = try connection.lossByVacuum() { throw SQLiteFailure(code: SQLITE_ERROR, message: loss) }
    let entries = try StoredEntries(connection)
    // A damaged header may count more free pages than there are pages.
    let pages = max(1, try connection.integer("PRAGMA page_count") - connection.integer("PRAGMA freelist_count"))
    try demandVacuumable(pages)
    try demandSpace(pages * connection.integer("PRAGMA page_size") + spaceToSpare, in: request.spoolFolder)
    expecting(pages)
    do {
      if !isHeld { transaction.begins() }
      defer { if !isHeld { transaction.ends() } }
      try connection.execute("VACUUM INTO ?", image)
    }
    if let loss = try entries.loss(in: StoredEntries(openImage(image, watch))) {
      throw SQLiteFailure(code: SQLITE_ERROR, message: loss)
    }
  }
  /// Vacuums by `another` connection while our own read is held: so the lock is had for certain before the first row
  /// and behind the last one. From inside the statement SQLite does not call us at all for a table of few rows.
  /// - Returns: false where it could not be done.
  func vacuumHeld(by another: () throws -> Connection?) throws -> Bool {
    for _ in 0..<5 {
      transaction.begins()
      try source.holdStill()
      do {
        transaction.lookForWriters()
        defer {
          transaction.lookForWriters()
          source.connection.rollBack()
          transaction.ends()
        }
        guard let other = try another() else { return false }
        try vacuum(by: other, isHeld: true)
        return true
      } catch let failure as SQLiteFailure where failure.primary == SQLITE_BUSY && watch.refusal == nil {
        // A writer in this process waits for our read, or died just now: it goes first.
        usleep(50_000)
      }
    }
    return false
  }
  try source.demandHeededIndexes()
  guard try source.connection.schemaSays("check") else {
    let isDone = try transaction.looksForWriters && vacuumHeld { source.anotherConnection(watch) }
    if !isDone { try vacuum(by: source.connection) }
    // The schema was read anew for it, and somebody may have changed that since we asked.
    try source.demandHeededIndexes()
    guard try !openImage(image, watch).schemaSays("check") else {
      throw SQLiteFailure(renumbering: "a CHECK constraint was added meanwhile", isPassing: true)
    }
    return
  }
  guard try vacuumHeld(by: { try source.connectionThatKnowsChecks(watch) }) else {
    throw SQLiteFailure(
      renumbering: "it has CHECK constraints, and this process itself keeps it busy", isPassing: true)
  }
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
  /// - Throws: `SQLITE_ERROR` where an index may be in another order than that of a new file.
  fileprivate func demandHeededIndexes() throws(SQLiteFailure) {
    guard try connection.schemaSays("desc"), try pageOne()?.ignoresDescending ?? true else { return }
    throw SQLiteFailure(renumbering: Connection.withoutDescending)
  }

  /// As a transaction sees it: in a young database the file itself says nothing of the schema yet, the -wal does.
  private func pageOne() throws(SQLiteFailure) -> DatabaseHeader? {
    let capture = HeaderCapture(connection)
    defer { capture.end() }
    _ = try connection.integer("PRAGMA schema_version")
    return capture.header
  }

  /// Begins a read transaction: while it lasts nobody's journal can be rolled back, and no -wal recovered.
  func holdStill() throws(SQLiteFailure) {
    do throws(SQLiteFailure) {
      try connection.execute("BEGIN")
      _ = try connection.rows("SELECT 1 FROM sqlite_schema", limit: 1)
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// Another connection to vacuum by while our own read is held. It waits for nobody: only who waits for our read is in
  /// its way.
  /// - Returns: nil where none is to be had, or another file has the name by now.
  fileprivate func anotherConnection(_ watch: Watch) -> Connection? {
    guard let other = try? Connection(reading: path, watch) else { return nil }
    sqlite3_busy_handler(other.handle, nil, nil)
    return connection.hasMoved ? nil : other
  }

  /// Another connection to vacuum by where the schema says CHECK, while our own read is held: one that could write, and
  /// is never asked to. By one that only reads rows would be inserted one by one; with 3.40.1 that also takes 25 times as
  /// long, leaves indexes as loose as they were, and fails where a column is generated. It waits for nobody: only who
  /// waits for our read is in its way.
  /// - Throws: `SQLITE_ERROR` where none is to be had.
  fileprivate func connectionThatKnowsChecks(_ watch: Watch) throws(SQLiteFailure) -> Connection {
    guard !isImmutable else { throw SQLiteFailure(renumbering: Connection.withoutChecks) }
    let other = try Connection(reading: path, flags: SQLITE_OPEN_READWRITE, watch)
    sqlite3_busy_handler(other.handle, nil, nil)
    // Where it may not write, SQLite has opened it for reading.
    guard !other.isReadOnly else { throw SQLiteFailure(renumbering: Connection.withoutChecks) }
    // Nobody holds another file that has the name by now.
    guard !connection.hasMoved else {
      throw SQLiteFailure(
        renumbering: "it has CHECK constraints, and another file has its name by now", isPassing: true)
    }
    _ = try other.integer("PRAGMA schema_version")
    noteOwnOpening()
    return other
  }
}
