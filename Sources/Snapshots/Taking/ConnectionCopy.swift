import CSQLite
import Platform

/// Copies between an application's open connection and files, by SQLite's backup API, on the calling thread.
package struct ConnectionCopy {
  private let connection: BorrowedConnection
  /// At least 1.
  private let pagesPerStep: Int
  private let busyTimeout: Duration
  /// Whether `quick_check` reads the finished copy, or the copy to restore.
  package var check = true

  package init(_ connection: BorrowedConnection, pagesPerStep: Int, busyTimeout: Duration) {
    self.connection = connection
    self.pagesPerStep = pagesPerStep
    self.busyTimeout = busyTimeout
  }

  /// A finished copy of what the connection sees.
  package struct Taken {
    /// The image, mode 0600.
    package var path: String
    /// Bytes.
    package var pageSize: Int
    package var pageCount: Int
    /// Nil when nobody looked.
    package var check: CheckOutcome?
    /// Milliseconds since 1970, UTC.
    package var takenAt: Int64
  }

  // MARK: From a connection

  /// - Parameters:
  ///   - folder: a folder that only we can read, see `Spool`.
  ///   - progress: what it throws ends the copy, unless that is complete.
  /// - Throws: `SnapshotError`, `CancellationError`, or what `progress` threw. Nothing is left in the folder then.
  package func take(in folder: String, progress: (SnapshotProgress) throws -> Void) throws -> Taken {
    guard !connection.writes else {
      throw SnapshotError(
        .connection, "the connection is in the middle of a write transaction, which may still be rolled back",
        hint: "Take the snapshot in a read, or after the transaction has ended.")
    }
    let image = "\(folder)/\(randomName()).sqlite"
    try makeImageFile(image)
    do {
      let takenAt = try copyOut(to: image, progress)
      let outcome = check ? try look(at: image, progress) : nil
      let finished = try Image(image)
      if outcome != nil, FreePages.mayBecomeZeros(after: outcome) { _ = try finished.zeroFreePages() }
      let pages = finished.pageCount
      try? progress(SnapshotProgress(.checking, pages, of: pages, pageSize: finished.pageSize))
      return Taken(path: image, pageSize: finished.pageSize, pageCount: pages, check: outcome, takenAt: takenAt)
    } catch {
      removeImage(image)
      throw explained(error)
    }
  }

  /// - Returns: when the read transaction began.
  private func copyOut(to image: String, _ progress: (SnapshotProgress) throws -> Void) throws -> Int64 {
    let wait = LockWait(atMost: busyTimeout)
    let reading = try wait.whileBusy { () throws(SQLiteFailure) in try connection.beginReading() }
    defer { sqlite3_finalize(reading) }
    let takenAt = millisecondsSince1970()
    let copy = try Connection(writingCopy: image)
    let backup = try BackupRun(from: connection.handle, connection.schema, to: copy.handle, "main", keepingOpen: copy)
    try backup.run(pagesPerStep: pagesPerStep, wait) { try progress($0) }
    return takenAt
  }

  private func look(at image: String, _ progress: (SnapshotProgress) throws -> Void) throws -> CheckOutcome {
    try Task.checkCancellation()
    let size = fileSize(image) ?? 0
    try progress(SnapshotProgress(.checking, 0, of: nil, pageSize: size))
    let watch = Watch(StopSignal(), busyTimeout: .seconds(1))
    watch.whileWorking = { try Task.checkCancellation() }
    return try quickCheck(image, watch)
  }

  // MARK: Into a connection

  /// Replaces what the connection has open by the content of a finished copy, in one transaction.
  /// - Parameter progress: what it throws ends the restore, unless that is complete; the old content stays.
  /// - Throws: `SnapshotError`, `CancellationError`, or what `progress` threw.
  package func restore(_ path: String, progress: (SnapshotProgress) throws -> Void) throws {
    try demandRestorable()
    let identity = try identify(path)
    let facts = try identity.demandDatabase(named: path)
    try demandStill(identity.path)
    if check, case .damaged(let findings) = try look(at: identity.path, progress) {
      throw SnapshotError(
        .damagedCopy, "\(path) fails SQLite's check: \(CheckOutcome.brief(findings) ?? "it is damaged")",
        hint: "Nothing was changed. Restore another copy.")
    }
    try demandEncoding(of: identity.path)
    do {
      try copyIn(identity.path, progress)
    } catch let failure as SQLiteFailure where failure.primary == SQLITE_READONLY {
      throw pageSizeRefusal(facts.pageSize, failure)
    } catch let failure as SQLiteFailure where [SQLITE_FULL, SQLITE_IOERR].contains(failure.primary) {
      throw LiveRestore.explained(failure, of: connection.path ?? "the database in memory")
    } catch {
      throw explained(error)
    }
  }

  private func copyIn(_ path: String, _ progress: (SnapshotProgress) throws -> Void) throws {
    let watch = Watch(StopSignal(), busyTimeout: .seconds(1))
    let source = try openImage(path, watch)
    // Nothing but what goes through our read method.
    try source.execute("PRAGMA mmap_size=0")
    _ = try source.integer("PRAGMA schema_version")
    // A copy says which journal its source had. The destination keeps its own: in WAL mode SQLite sees to it.
    let mask = RollbackMask(source)
    defer { mask.end() }
    let backup = try BackupRun(
      from: source.handle, "main", to: connection.handle, connection.schema, keepingOpen: source)
    var pages = 0
    try backup.run(pagesPerStep: pagesPerStep, LockWait(atMost: busyTimeout)) { step in
      pages = step.pagesTotal ?? 0
      try progress(step)
    }
    try? progress(SnapshotProgress(.copying, pages, of: pages, pageSize: 0))
  }

  private func demandRestorable() throws(SnapshotError) {
    guard !connection.isReadOnly else {
      throw SnapshotError(
        .connection, "the connection may only read", hint: "Restore through a connection that may write.")
    }
    guard !connection.isInTransaction else {
      throw SnapshotError(
        .connection, "the connection is in the middle of a transaction",
        hint: "Restore outside of transactions; with GRDB, in writeWithoutTransaction.")
    }
    guard sqlite3_txn_state(connection.handle, connection.schema) == SQLITE_TXN_NONE else {
      throw SnapshotError(
        .connection, "the connection is in the middle of a statement", hint: "Finish or reset its statements first.")
    }
    // Then SQLite could not take back what a restore that ends in the middle has written.
    let mode = try? connection.text("PRAGMA \(quoted(connection.schema, by: "\"")).journal_mode")
    guard mode != "off" else {
      throw SnapshotError(
        .connection, "the connection keeps no journal (journal_mode=OFF): a restore that fails would leave half of it",
        hint: "Run `PRAGMA journal_mode=DELETE` on it first, or MEMORY.")
    }
  }

  /// - Parameter path: of the copy.
  private func demandEncoding(of path: String) throws {
    let schema = quoted(connection.schema, by: "\"")
    do {
      guard try connection.text("PRAGMA \(schema).schema_version") != "0" else { return }
      let wanted: String?
      do { wanted = try openImage(path, Watch(StopSignal(), busyTimeout: .seconds(1))).textEncoding() } catch {
        throw damaged(path, error)
      }
      try TextEncoding.demandSame(
        wanted, as: try connection.text("PRAGMA encoding"), of: connection.path ?? "the database in memory",
        hint: "Nothing was changed. Restore it to a file, and open that.")
    } catch {
      throw explained(error)
    }
  }

  private func damaged(_ copy: String, _ failure: SQLiteFailure) -> SnapshotError {
    SnapshotError(
      .damagedCopy, "\(copy) cannot be read: \(failure.message)", hint: "Nothing was changed. Restore another copy.",
      cause: failure)
  }

  /// A file with side files is a live database, not a copy of one.
  private func demandStill(_ path: String) throws(SnapshotError) {
    if let own = connection.path, realPath(own) == path {
      throw SnapshotError(.connection, "\(path) is what the connection has open itself", hint: "Name a copy of it.")
    }
    for ending in ["-wal", "-journal"] where (fileSize(path + ending) ?? 0) > 0 {
      throw SnapshotError(
        .connection, "\(path) has a \(path)\(ending) beside it: it is a live database, and no finished copy",
        hint: "Take a snapshot of it first, and restore that.")
    }
  }

  private func pageSizeRefusal(_ pageSize: Int?, _ failure: SQLiteFailure) -> SnapshotError {
    let own = (try? connection.text("PRAGMA \(quoted(connection.schema, by: "\"")).page_size")) ?? ""
    guard let pageSize, own != "\(pageSize)" else { return failure.explained(of: connection.path ?? "the database") }
    return SnapshotError(
      .pageSize, "the copy has pages of \(pageSize) bytes, the open database pages of \(own)",
      hint: "SQLite cannot change that while a database is in memory or in WAL mode: use one with the same page size.",
      cause: failure)
  }

  private func explained(_ error: any Error) -> any Error {
    (error as? SQLiteFailure)?.explained(of: connection.path ?? "the database in memory") ?? error
  }
}

extension SnapshotProgress {
  init(_ stage: Stage, _ pagesDone: Int, of pagesTotal: Int?, pageSize: Int) {
    self.init(stage: stage, pagesDone: pagesDone, pagesTotal: pagesTotal, bytesDone: pagesDone * pageSize)
  }
}
