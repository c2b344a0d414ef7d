import CSQLite
import Platform

/// One run of SQLite's backup API. Released before its end, it is rolled back at the destination.
final class BackupRun {
  private let backup: OpaquePointer
  private let connection: Connection
  private var isFinished = false

  /// - Parameter connection: ours of the two, which stays open until the end.
  /// - Throws: what the destination says.
  init(
    from source: OpaquePointer, _ sourceSchema: String, to destination: OpaquePointer, _ destinationSchema: String,
    keepingOpen connection: Connection
  ) throws(SQLiteFailure) {
    self.connection = connection
    guard let backup = sqlite3_backup_init(destination, destinationSchema, source, sourceSchema) else {
      throw SQLiteFailure(
        code: sqlite3_extended_errcode(destination), message: String(cString: sqlite3_errmsg(destination)))
    }
    self.backup = backup
  }

  deinit { if !isFinished { sqlite3_backup_finish(backup) } }

  /// Copies all pages.
  /// - Parameters:
  ///   - wait: what to do while somebody has either side locked.
  ///   - stepDone: called before the first step and after each but the last, which commits.
  /// - Throws: `SQLiteFailure`, `CancellationError`, or what `stepDone` throws.
  func run(
    pagesPerStep: Int, _ wait: LockWait, stepDone: (SnapshotProgress) throws -> Void
  ) throws {
    // A step of no pages: it only tells how many there are.
    try step(0, wait)
    let total = pages(sqlite3_backup_pagecount(backup))
    try stepDone(SnapshotProgress(.copying, 0, of: total, pageSize: 0))
    while try !step(Int32(clamping: pagesPerStep), wait) {
      try Task.checkCancellation()
      let done = total - pages(sqlite3_backup_remaining(backup))
      try stepDone(SnapshotProgress(.copying, done, of: total, pageSize: 0))
    }
    isFinished = true
    let code = sqlite3_backup_finish(backup)
    guard code == SQLITE_OK else { throw SQLiteFailure(code: code, message: String(cString: sqlite3_errstr(code))) }
  }

  /// - Returns: whether that was the last one.
  @discardableResult
  private func step(_ count: Int32, _ wait: LockWait) throws -> Bool {
    try wait.whileBusy { () throws(SQLiteFailure) in
      let code = sqlite3_backup_step(backup, count)
      guard code != SQLITE_OK, code != SQLITE_DONE else { return code == SQLITE_DONE }
      throw SQLiteFailure(code: code, message: String(cString: sqlite3_errstr(code)))
    }
  }
}

/// Waits for the locks of others, on the calling thread.
struct LockWait {
  private let patience: Duration

  init(atMost patience: Duration) { self.patience = patience }

  /// Makes a call again, after 1 to 25 ms each time, while somebody has the lock that it needs.
  /// - Throws: `SQLiteFailure`, the last one when patience is at its end; `CancellationError`.
  func whileBusy<Value>(_ call: () throws(SQLiteFailure) -> Value) throws -> Value {
    let began = SuspendingClock.now
    var tries: UInt32 = 0
    while true {
      try Task.checkCancellation()
      do throws(SQLiteFailure) {
        return try call()
      } catch {
        guard [SQLITE_BUSY, SQLITE_LOCKED].contains(error.primary), SuspendingClock.now - began < patience else {
          throw error
        }
      }
      tries += 1
      usleep(min(25, tries) * 1000)
    }
  }
}
