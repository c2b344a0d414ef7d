import Operations
import Snapshots

extension Snapshot {
  /// Takes a copy of a database file while others go on using it. The database is not changed.
  ///
  /// ```swift
  /// let copy = try await Snapshot.take(of: .file("/var/lib/app/app.db"), method: .pages, pagesPerStep: 500) { progress in
  ///   if let total = progress.pagesTotal { report(progress.pagesDone, of: total) }
  /// }
  /// ```
  ///
  /// The work is done on a thread of its own. In WAL mode nobody has to wait for it; in the rollback modes writers wait
  /// while pages are copied. Cancelling the task ends it within moments, and nothing is left behind.
  /// - Parameters:
  ///   - file: the database.
  ///   - method: how the copy is made.
  ///   - pagesPerStep: how many pages lie between two calls of `progress`, at least 1.
  ///   - busy: what to do while somebody else has the database locked.
  ///   - check: whether SQLite's `quick_check` reads the finished copy. Where it does not, pages are kept as they are,
  ///     free ones too: what a damaged database calls free may be in use.
  ///   - folder: where the copy lies until it is moved or released.
  ///   - progress: called on that thread. Throwing from it aborts the copy, and the error is passed on; once the copy
  ///     is complete, what it throws is ignored.
  /// - Throws: `SealiftError` of kind `sourceUnreadable`, `usage`, or `failed` when the copy cannot be written;
  ///   `CancellationError`; or what `progress` threw.
  public static func take(
    of file: DatabaseFile, method: Method = .vacuum, pagesPerStep: Int = 1000,
    busy: BusyPolicy = .retry(upTo: .seconds(30)), check: Bool = true, in folder: Folder = .temporaryFolder,
    progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws -> Snapshot {
    do {
      try demandStep(pagesPerStep)
      try Task.checkCancellation()
      try OperationError.demandOwnLinks(on: file.path, writing: false)
      let spool = try folder.openSpool()
      var request = SnapshotRequest(
        source: file.path, method: method.snapshotMethod, spoolFolder: spool.path, busyTimeout: busy.patience,
        check: check)
      request.pagesPerStep = pagesPerStep
      request.keepFreePages = !check
      let copy = try await takeSnapshot(request) { step in try aborting { try progress(Progress(step)) } }
      return Snapshot(
        path: copy.path, in: spool, pageSize: copy.pageSize, pageCount: copy.pageCount, method: Method(copy.method),
        fallback: copy.fallback, check: copy.check, takenAt: copy.takenAt,
        longestWriterStall: copy.longestWriterStall, lockWasPassed: copy.lockWasPassed,
        source: file.path)
    } catch {
      throw told(error)
    }
  }

  /// Takes a copy of what an open connection sees: of a file, or of a database in memory.
  ///
  /// ```swift
  /// let copy = try queue.read { db in
  ///   try Snapshot.take(of: .connection(db.sqliteConnection))
  /// }
  /// ```
  ///
  /// The copy is made by SQLite's backup API, on the calling thread, inside one read transaction: the connection's own,
  /// or one that ends with the call. SQLite's change counter and schema cookie of the copy are its own; all else is the
  /// source's.
  /// - Parameters:
  ///   - connection: lent to us for the time of the call.
  ///   - pagesPerStep: how many pages are copied between two calls of `progress`, at least 1.
  ///   - busy: what to do while somebody else has the database locked; the connection's own busy handler may wait as
  ///     well.
  ///   - check: whether SQLite's `quick_check` reads the finished copy. Where it does not, pages are kept as they are,
  ///     free ones too: what a damaged database calls free may be in use.
  ///   - folder: where the copy lies until it is moved or released.
  ///   - progress: throwing from it aborts the copy, and the error is passed on; once the copy is complete, what it
  ///     throws is ignored.
  /// - Throws: `SealiftError` of kind `usage` when the connection cannot be used: it is of another SQLite library,
  ///   closed, or in the middle of a write transaction; `sourceUnreadable`; `failed` when the copy cannot be written;
  ///   `CancellationError` in a cancelled task; or what `progress` threw.
  public static func take(
    of connection: Connection, pagesPerStep: Int = 1000, busy: BusyPolicy = .retry(upTo: .seconds(30)),
    check: Bool = true, in folder: Folder = .temporaryFolder, progress: (Progress) throws -> Void = { _ in }
  ) throws -> Snapshot {
    do {
      try demandStep(pagesPerStep)
      let source = try BorrowedConnection(connection.handle, schema: connection.schema)
      let spool = try folder.openSpool()
      var copying = ConnectionCopy(source, pagesPerStep: pagesPerStep, busyTimeout: busy.patience)
      copying.check = check
      let copy = try copying.take(in: spool.path) { step in try aborting { try progress(Progress(step)) } }
      return Snapshot(
        path: copy.path, in: spool, pageSize: copy.pageSize, pageCount: copy.pageCount, method: .pages,
        fallback: nil, check: copy.check, takenAt: copy.takenAt, longestWriterStall: nil, source: source.path)
    } catch {
      throw told(error)
    }
  }

  static func demandStep(_ pages: Int) throws(OperationError) {
    guard pages >= 1 else {
      throw OperationError(
        .usage, code: "badValue", "\(pages) pages are no step", hint: "Copy at least 1 page per step.")
    }
  }
}

/// Runs an application's callback so that what it throws can be told from our own errors.
func aborting(_ callback: () throws -> Void) throws(Abort) {
  do { try callback() } catch { throw Abort(reason: error) }
}
