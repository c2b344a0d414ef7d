import CSQLite

/// SQLite as tests need it: one statement on one file.
package enum SQLite {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// Opens the file (made when missing), runs the statements and closes it.
  package static func run(_ statements: String, on path: String) throws {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    guard sqlite3_open(path, &handle) == SQLITE_OK, sqlite3_exec(handle, statements, nil, nil, nil) == SQLITE_OK else {
      throw Failure(description: handle.map { String(cString: sqlite3_errmsg($0)) } ?? "cannot open \(path)")
    }
  }
}
