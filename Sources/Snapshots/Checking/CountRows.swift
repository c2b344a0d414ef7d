import CSQLite

/// The rows of one table.
package struct TableRows: Sendable, Equatable {
  package var table: String
  package var rows: UInt64

  package init(table: String, rows: UInt64) {
    self.table = table
    self.rows = rows
  }
}

/// How many tables are counted, at most, and how many bytes their names may have together: what is noted of them rides
/// in every manifest.
package struct CountLimits: Sendable {
  package var tables = 500
  package var bytesOfNames = 12 << 10
  package var longestName = 255

  package init() {}
}

/// Counts the rows of the tables of a private, finished image, in the order in which the tables were made.
///
/// SQLite walks the smallest index of each table, or the table, and looks at no row. Virtual tables have no rows of
/// their own, and SQLite's own tables say nothing of the application's: both are left out, as is what cannot be counted
/// without the application's collations and functions, or at all.
/// - Throws: `.missing`, `.unreadable`, `.spool` without a thread, `.cancelled`.
package func countRows(at path: String, limits: CountLimits = CountLimits()) async throws -> [TableRows] {
  try await onOwnThread { stop in
    guard exists(path) else { throw SnapshotError(.missing, "there is no file \(path)") }
    let watch = Watch(stop, busyTimeout: .seconds(1))
    do {
      let connection = try openImage(path, watch)
      return try tableNames(connection, limits).compactMap { name in
        try countRows(of: name, connection, watch).map { TableRows(table: name, rows: $0) }
      }
    } catch let failure as SQLiteFailure {
      if let refusal = watch.refusal { throw refusal }
      throw failure.explained(ofCopy: path)
    }
  }
}

/// Nil when they cannot be counted.
/// - Throws: what says nothing of the table: no memory, or a disk that fails.
func countRows(of table: String, _ connection: Connection, _ watch: Watch) throws -> UInt64? {
  do throws(SQLiteFailure) {
    let count = try connection.rows("SELECT count(*) FROM main.\(quoted(table, by: "\""))", limit: 1).first
    return count.flatMap { UInt64($0) }
  } catch {
    if let refusal = watch.refusal { throw refusal }
    if error.isOfTheMachine { throw error }
    return nil
  }
}

/// How many tables have a name that is no UTF-8, in whose place U+FFFD shows: nobody can ask for their rows by it.
func tablesWithoutText(_ connection: Connection) throws(SQLiteFailure) -> Int {
  try tableNames(connection, CountLimits()).count { $0.unicodeScalars.contains("\u{FFFD}") }
}

private func tableNames(_ connection: Connection, _ limits: CountLimits) throws(SQLiteFailure) -> [String] {
  let names = try connection.rows(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    limit: limits.tables)
  var bytes = 0
  return names.filter { name in
    let count = name.utf8.count
    guard (1...limits.longestName).contains(count), bytes + count <= limits.bytesOfNames else { return false }
    bytes += count
    return true
  }
}
