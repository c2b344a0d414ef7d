import CSQLite

/// One connection to SQLite, closed exactly once. One thread at a time.
final class Connection {
  private let handle: OpaquePointer

  /// - Parameter name: a path, or a `file:` URI when `flags` say so.
  init(_ name: String, flags: Int32) throws(SQLiteFailure) {
    var opened: OpaquePointer?
    let result = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard result == SQLITE_OK, let opened else {
      let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      sqlite3_close_v2(opened)
      throw SQLiteFailure(code: result, message: message)
    }
    handle = opened
  }

  deinit { sqlite3_close_v2(handle) }

  func execute(_ statement: String) throws(SQLiteFailure) { _ = try rows(statement) }

  /// The first column of every row, as text.
  @discardableResult
  func rows(_ text: String, binding values: [String] = []) throws(SQLiteFailure) -> [String] {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v2(handle, text, -1, &statement, nil))
    defer { sqlite3_finalize(statement) }
    for (index, value) in values.enumerated() {
      try check(sqlite3_bind_text(statement, Int32(index + 1), value, -1, sl_transient()))
    }
    var rows: [String] = []
    while true {
      let result = sqlite3_step(statement)
      guard result == SQLITE_ROW else {
        try check(result)
        return rows
      }
      rows.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
    }
  }

  func integer(_ text: String) throws(SQLiteFailure) -> Int { Int(try rows(text).first ?? "") ?? 0 }

  func set(_ option: Int32, to value: Bool) { sl_db_config_int(handle, option, value ? 1 : 0, nil) }

  func wait(milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

  /// Calls `onStep` every so many steps of SQLite's machine; it ends the statement by returning false.
  func withProgress<Result>(_ onStep: @escaping () -> Bool, _ body: () throws -> Result) rethrows -> Result {
    let box = Box(onStep)
    sqlite3_progress_handler(
      handle, 10_000,
      { context in
        guard let context else { return 0 }
        return Unmanaged<Box>.fromOpaque(context).takeUnretainedValue().call() ? 0 : 1
      }, Unmanaged.passUnretained(box).toOpaque())
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    return try withExtendedLifetime(box) { try body() }
  }

  private final class Box {
    let call: () -> Bool
    init(_ call: @escaping () -> Bool) { self.call = call }
  }

  /// Copies all pages of `main` to another connection's. See: sqlite.org/c3ref/backup_finish.html
  /// - Parameter onStep: pages done and in total; ends the copy by throwing.
  func copy(to destination: Connection, pagesPerStep: Int32, onStep: (Int, Int) throws -> Void) throws {
    guard let backup = sqlite3_backup_init(destination.handle, "main", handle, "main") else {
      throw destination.failure()
    }
    var result = SQLITE_OK
    do {
      while result == SQLITE_OK {
        result = sqlite3_backup_step(backup, pagesPerStep)
        let total = Int(sqlite3_backup_pagecount(backup))
        try onStep(total - Int(sqlite3_backup_remaining(backup)), total)
      }
    } catch {
      sqlite3_backup_finish(backup)
      throw error
    }
    let finished = sqlite3_backup_finish(backup)
    guard result == SQLITE_DONE, finished == SQLITE_OK else {
      throw SQLiteFailure(
        code: result == SQLITE_DONE ? finished : result, message: String(cString: sqlite3_errstr(result)))
    }
  }

  private func check(_ result: Int32) throws(SQLiteFailure) {
    guard result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE else { throw failure() }
  }

  private func failure() -> SQLiteFailure {
    SQLiteFailure(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
  }
}
