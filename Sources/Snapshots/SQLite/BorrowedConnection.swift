import CSQLite

/// A connection that its application has opened, borrowed for the time of one call on the thread of that call.
///
/// Nothing of it is changed that outlives the call: no handler is set, no pragma, no function.
package struct BorrowedConnection {
  let handle: OpaquePointer
  /// `main`, `temp`, or the name of an attached database.
  let schema: String

  /// - Throws: `.connection` when it is closed, of another SQLite library, or has no such database.
  package init(_ handle: OpaquePointer?, schema: String) throws(SnapshotError) {
    guard let handle else {
      throw SnapshotError(
        .connection, "the database connection is closed", hint: "Call while the connection is open and lent to you.")
    }
    try demandOurLibrary(handle)
    guard sqlite3_db_readonly(handle, schema) >= 0 else {
      throw SnapshotError(
        .connection, "the connection has no database called '\(schema)'",
        hint: "Name 'main', 'temp', or a database as it was attached.")
    }
    self.handle = handle
    self.schema = schema
  }

  var isReadOnly: Bool { sqlite3_db_readonly(handle, schema) == 1 }
  /// A `BEGIN` waits for its end.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
  var writes: Bool { sqlite3_txn_state(handle, schema) == SQLITE_TXN_WRITE }
  /// The file; nil for a database in memory.
  package var path: String? {
    let name = sqlite3_db_filename(handle, schema).map { String(cString: $0) } ?? ""
    return name.isEmpty ? nil : name
  }

  /// The first column of the first row; "" when there is none.
  func text(_ sql: String) throws(SQLiteFailure) -> String {
    let statement = try prepare(sql)
    defer { sqlite3_finalize(statement) }
    guard sqlite3_step(statement) == SQLITE_ROW else { return "" }
    return sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? ""
  }

  /// Begins to read, and goes on until the statement is finalised: a read transaction that needs no `BEGIN`, which the
  /// application could notice.
  func beginReading() throws(SQLiteFailure) -> OpaquePointer? {
    let statement = try prepare("SELECT count(*) FROM \(quoted(schema, by: "\"")).sqlite_schema")
    let code = sqlite3_step(statement)
    if code == SQLITE_ROW { return statement }
    let failure = self.failure(code)
    sqlite3_finalize(statement)
    throw failure
  }

  func failure(_ code: Int32) -> SQLiteFailure {
    SQLiteFailure(code: code, message: String(cString: sqlite3_errmsg(handle)))
  }

  private func prepare(_ sql: String) throws(SQLiteFailure) -> OpaquePointer? {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard code == SQLITE_OK else { throw failure(code) }
    return statement
  }
}

/// Refuses a connection of another SQLite library in this process (a build of its own, SQLCipher): its memory means
/// something else to us, and to touch it would end the process at best.
///
/// No call can be asked, because every call would be one of ours; `sqlite_source_id()` too would be answered by our
/// library. But a connection begins with the address of the VFS that it was opened with, in every SQLite since 3.5, and
/// each library has VFSes of its own. That our own connections do so is looked at first.
private func demandOurLibrary(_ handle: OpaquePointer) throws(SnapshotError) {
  let ours = registeredVFSes()
  let own: Connection
  do { own = try Connection(":memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY) } catch {
    throw error.explained(of: "a database in memory")
  }
  guard let usual = firstWord(of: own.handle), ours.contains(usual) else {
    throw SnapshotError(
      .connection, "it cannot be told whether the connection is of SQLite \(String(cString: sqlite3_sourceid()))",
      hint: "Close it and take the copy from the database's file, or let another process do so.")
  }
  guard let vfs = firstWord(of: handle), ours.contains(vfs) else {
    throw SnapshotError(
      .connection,
      "the connection is of another SQLite library than ours, \(String(cString: sqlite3_sourceid()))",
      hint: "Link the application with the system's SQLite, or copy with that library's own backup into a file.")
  }
}

private func firstWord(of handle: OpaquePointer) -> UnsafeRawPointer? {
  UnsafeRawPointer(handle).load(as: UnsafeRawPointer?.self)
}

private func registeredVFSes() -> Set<UnsafeRawPointer> {
  var found: Set<UnsafeRawPointer> = []
  var next = sqlite3_vfs_find(nil)
  while let vfs = next {
    found.insert(UnsafeRawPointer(vfs))
    next = vfs.pointee.pNext
  }
  return found
}
