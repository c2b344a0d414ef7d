import CSQLite

/// What a copy of tables asks of the database, with the version beside it.
extension Connection {
  static func encoding(of image: String, _ watch: Watch) throws(SQLiteFailure) -> String {
    try openImage(image, watch).rows("PRAGMA encoding", limit: 1).first ?? ""
  }

  /// Reads its schema as well: what ours cannot parse of that is no fault of the database that is open already.
  func attachVersion(_ image: String) throws {
    do throws(SQLiteFailure) {
      try execute("ATTACH ? AS \(TableSchema.version)", immutableURI(image))
    } catch {
      guard error.isOfUnparsedSchema else { throw error }
      throw SnapshotError(
        .table,
        "the schema of the version may be of a later SQLite than ours (\(CheckOutcome.release)): \(error.message)",
        hint: "Nothing was changed. Restore the whole version beside it, and copy the rows with its application.",
        cause: error)
    }
  }

  func hasTable(_ name: String, in schema: String) throws(SQLiteFailure) -> Bool {
    try !rows(
      "SELECT 1 FROM \(schema).sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", [name], limit: 1
    ).isEmpty
  }

  /// Why a statement cannot be prepared; nil when it can.
  func complaint(preparing sql: String) -> String? {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) != SQLITE_OK else { return nil }
    return String(cString: sqlite3_errmsg(handle))
  }
}
