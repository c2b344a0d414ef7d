import CSQLite

extension LiveRestoreRun {
  /// A copy by the backup API that holds its locks from the beginning to the end. Without the end, nothing was changed.
  final class Backup {
    private let handle: OpaquePointer
    private let source: Connection
    private let destination: Connection
    private var isOver = false

    init(from source: Connection, to destination: Connection) throws(SQLiteFailure) {
      guard let handle = sqlite3_backup_init(destination.handle, "main", source.handle, "main") else {
        throw SQLiteFailure(
          code: sqlite3_extended_errcode(destination.handle),
          message: String(cString: sqlite3_errmsg(destination.handle)))
      }
      self.handle = handle
      self.source = source
      self.destination = destination
    }

    deinit { if !isOver { sqlite3_backup_finish(handle) } }

    /// Takes the locks.
    /// - Returns: how many pages there are.
    func begin() throws(SQLiteFailure) -> Int {
      try demand(sqlite3_backup_step(handle, 0))
      return pageCount
    }

    /// Copies all, and commits: SQLite does that in the step that copies the last page.
    func finish(beforeLastPage: () throws -> Void = {}, stepDone: (Int, Int) throws -> Void) throws {
      try stepDone(0, pageCount)
      while remaining > 1 {
        try demand(sqlite3_backup_step(handle, Int32(min(64, remaining - 1))))
        try stepDone(pageCount - remaining, pageCount)
      }
      try beforeLastPage()
      try demand(sqlite3_backup_step(handle, -1))
      isOver = true
      try demand(sqlite3_backup_finish(handle))
    }

    private var remaining: Int { Int(UInt32(bitPattern: sqlite3_backup_remaining(handle))) }
    private var pageCount: Int { Int(UInt32(bitPattern: sqlite3_backup_pagecount(handle))) }

    private func demand(_ code: Int32) throws(SQLiteFailure) {
      guard code != SQLITE_OK, code != SQLITE_DONE else { return }
      throw SQLiteFailure(code: code, message: String(cString: sqlite3_errstr(code)))
    }
  }
}
