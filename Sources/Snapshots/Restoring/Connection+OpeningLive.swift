import CSQLite

/// How a live restore opens the database.
extension Connection {
  /// Opens a database that others have open, to write to it. It is never checkpointed while others have it open; who closes
  /// it last does that, under a lock that keeps all others out.
  convenience init(openingLive path: String, _ watch: Watch) throws(SQLiteFailure) {
    try self.init(path, flags: SQLITE_OPEN_READWRITE)
    obey(watch)
    try trustSchema()
    try demand(sqlite3_wal_autocheckpoint(handle, 0))
    try execute("PRAGMA mmap_size=0")
    try passOverUnparsedSchema()
    // FULL leaves it to luck whether a journal that was removed stays removed when the power goes: what was said to be
    // restored would be rolled back, and after the file was cut to its new length, into nothing that SQLite can read.
    try execute("PRAGMA synchronous=EXTRA")
    limitCache()
  }

  /// Its pages are replaced, whatever they say, but most pragmas read the schema first: an entry that ours cannot parse, of a
  /// later SQLite, is no reason to refuse.
  private func passOverUnparsedSchema() throws(SQLiteFailure) {
    do throws(SQLiteFailure) {
      _ = try rows("SELECT 1 FROM sqlite_schema", limit: 1)
    } catch {
      guard error.isOfUnparsedSchema else { throw error }
      try execute("PRAGMA writable_schema=1")
    }
  }
}
