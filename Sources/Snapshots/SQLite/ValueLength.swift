import CSQLite

extension Connection {
  /// Does what makes SQLite compute what the schema says: generated columns, and keys by expressions. Of a number in a small
  /// row they can make gigabytes, and search those for days in a single call, which nothing interrupts. What is longer than
  /// all that could be stored, and cannot be one of its values in another encoding, is `SQLITE_TOOBIG` here.
  func withoutLongerValuesThanStored<Value, Failure>(_ work: () throws(Failure) -> Value) throws(Failure) -> Value {
    let before = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, longestValue)
    defer { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, before) }
    return try work()
  }

  /// What small databases may compute; SQLite goes through it in no time.
  private static let shortest = 1 << 16

  private var longestValue: Int32 {
    let path = sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? ""
    return Self.longestValue(database: fileSize(path) ?? 0, wal: fileSize(path + "-wal") ?? 0)
  }

  /// Twice the most that the database can hold, what is in its -wal included, as far as SQLite goes.
  /// - Parameters: lengths of the files in bytes: where a file is hollow any that there can be.
  static func longestValue(database: Int, wal: Int) -> Int32 {
    let most = Int(Int32.max)
    return Int32(clamping: max(shortest, 2 * (min(database, most) + min(wal, most))))
  }
}
