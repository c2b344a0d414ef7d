import Operations
import Snapshots

extension Snapshot {
  /// Replaces the content of an open database by that of a copy: of a file, or of a database in memory.
  ///
  /// ```swift
  /// try queue.writeWithoutTransaction { db in
  ///   try Snapshot.restore("/srv/copies/app.db", into: .connection(db.sqliteConnection))
  ///   db.clearSchemaCache()  // of GRDB, which remembers tables; a pool: pool.invalidateReadOnlyConnections() as well
  /// }
  /// ```
  ///
  /// It is one transaction of SQLite's backup API: other connections, of other processes too, see the old content or
  /// the new, never half of each, and when it fails or is aborted the old content stays. The journal mode of the
  /// destination stays as well.
  ///
  /// - Important: Applications that keep values of the database elsewhere (caches, prepared models) have to read them
  ///   again.
  /// - Parameters:
  ///   - path: a finished copy without side files, such as `Snapshot/path` or a file that was pulled. It is only read.
  ///   - connection: what is replaced; lent to us for the time of the call.
  ///   - pagesPerStep: how many pages are copied between two calls of `progress`, at least 1.
  ///   - busy: what to do while somebody else has the destination locked; the connection's own busy handler may wait as
  ///     well.
  ///   - check: whether SQLite's `quick_check` reads the copy first; a damaged one is refused then.
  ///   - progress: throwing from it aborts, and the error is passed on; once the restore is complete, what it throws is
  ///     ignored.
  /// - Throws: `SealiftError` of kind `usage` when the connection cannot be used: it is of another SQLite library,
  ///   closed, in the middle of a transaction or a statement, read-only, without a journal, or has pages of another size; `verificationFailed` when the
  ///   copy is damaged; `sourceUnreadable`; `failed` with the code `untrustedLocks` on a file system where SQLite's locks
  ///   cannot be trusted, such as NFS; `CancellationError` in a cancelled task; or what `progress` threw.
  public static func restore(
    _ path: String, into connection: Connection, pagesPerStep: Int = 1000,
    busy: BusyPolicy = .retry(upTo: .seconds(30)), check: Bool = true, progress: (Progress) throws -> Void = { _ in }
  ) throws {
    do {
      try demandStep(pagesPerStep)
      let destination = try BorrowedConnection(connection.handle, schema: connection.schema)
      if let path = destination.path { try LockTrust.demand(path) }
      var copying = ConnectionCopy(destination, pagesPerStep: pagesPerStep, busyTimeout: busy.patience)
      copying.check = check
      try copying.restore(path) { step in try aborting { try progress(Progress(step)) } }
    } catch {
      throw told(error)
    }
  }

  /// Replaces the content of an open database by that of this snapshot; see
  /// ``restore(_:into:pagesPerStep:busy:check:progress:)``.
  public func restore(
    into connection: Connection, pagesPerStep: Int = 1000, busy: BusyPolicy = .retry(upTo: .seconds(30)),
    progress: (Progress) throws -> Void = { _ in }
  ) throws {
    try Self.restore(
      path, into: connection, pagesPerStep: pagesPerStep, busy: busy, check: check != .ok, progress: progress)
  }
}
