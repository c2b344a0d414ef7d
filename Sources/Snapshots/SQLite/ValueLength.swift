import CSQLite

extension Connection {
  /// Does what makes SQLite compute what the schema says: generated columns, and keys by expressions. Of a number in a small
  /// row they can make gigabytes, and search those for days in a single call, which nothing interrupts. What is longer than
  /// all that could be stored, and cannot be one of its values in another encoding, is `SQLITE_TOOBIG` here.
  func withoutLongerValuesThanStored<Value, Failure>(_ work: () throws(Failure) -> Value) throws(Failure) -> Value {
    let before = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(clamping: max(Self.shortest, 2 * mostBytes)))
    defer { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, before) }
    return try work()
  }

  /// What small databases may compute; SQLite goes through it in no time.
  private static let shortest = 1 << 16

  /// The most that the database can hold, what is in its -wal included.
  private var mostBytes: Int {
    let path = sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? ""
    return (fileSize(path) ?? 0) + (fileSize(path + "-wal") ?? 0)
  }
}
