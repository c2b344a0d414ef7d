import CSQLite

/// An SQLite connection of the tests' own, which may write, and knows what an application would: a collation
/// `shouting` and a function `twice`.
package final class TestDatabase {
  package struct Failure: Error {
    package let code: Int32
    package let message: String
  }

  package let handle: OpaquePointer
  private var isOpen = true

  package init(_ path: String, readOnly: Bool = false, withApplicationCode: Bool = true) throws {
    var opened: OpaquePointer?
    let flags = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    // "./" before nothing: paths in tests are absolute, so none is taken for a URI.
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    handle = opened!
    guard code == SQLITE_OK else { throw failure(code) }
    sqlite3_busy_timeout(handle, 10_000)
    // Nothing here must survive a power cut.
    if !readOnly { sqlite3_exec(handle, "PRAGMA synchronous=OFF", nil, nil, nil) }
    if withApplicationCode { registerApplicationCode() }
  }

  deinit { close() }

  package func close() {
    if isOpen { sqlite3_close_v2(handle) }
    isOpen = false
  }

  /// Closes without a checkpoint: the -wal keeps its content.
  package func closeKeepingWal() {
    sl_db_config_int(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nil)
    close()
  }

  /// Runs statements, several at once if need be.
  package func run(_ sql: String) throws {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Every row, every value as its type and its text.
  package func rows(_ sql: String) throws -> [[String]] {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard code == SQLITE_OK else { throw failure(code) }
    defer { sqlite3_finalize(statement) }
    var rows: [[String]] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: rows.append((0..<sqlite3_column_count(statement)).map { value(statement, $0) })
      case SQLITE_DONE: return rows
      case let code: throw failure(code)
      }
    }
  }

  package func text(_ sql: String) throws -> String { String(try rows(sql).first?.first?.dropFirst(2) ?? "") }
  package func number(_ sql: String) throws -> Int { Int(try text(sql)) ?? -1 }

  /// Everything that can be read by SQL: pragmas that travel with the file, the schema, and all rows.
  package func dump() throws -> [String] {
    var lines: [String] = []
    for pragma in ["encoding", "page_size", "auto_vacuum", "user_version", "application_id", "journal_mode"] {
      lines.append("\(pragma) = \(try text("PRAGMA \(pragma)"))")
    }
    let schema = try rows("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    lines += schema.map { $0.joined(separator: "|") }
    for entry in schema where entry[0] == "t:table" || entry[0] == "t:view" {
      let name = entry[1].dropFirst(2).split(separator: "\"", omittingEmptySubsequences: false).joined(
        separator: "\"\"")
      lines.append("-- \(name)")
      lines += try rows("SELECT * FROM \"\(name)\"").map { $0.joined(separator: "|") }.sorted()
    }
    return lines
  }

  /// From now on `lower` is the application's own, as of one that knows more letters than SQLite's: nothing in the file says
  /// so.
  package func replaceLower() {
    sqlite3_create_function_v2(
      handle, "lower", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
      { context, _, _ in sqlite3_result_int64(context, 7) }, nil, nil, nil)
  }

  /// From now on `NOCASE` is the application's own, with another order than SQLite's.
  package func replaceNoCase() {
    sqlite3_create_collation_v2(
      handle, "NOCASE", SQLITE_UTF8, nil,
      { _, leftCount, left, rightCount, right in
        let left = UnsafeRawBufferPointer(start: left, count: Int(leftCount))
        let right = UnsafeRawBufferPointer(start: right, count: Int(rightCount))
        return left.elementsEqual(right) ? 0 : right.lexicographicallyPrecedes(left) ? -1 : 1
      }, nil)
  }

  private func value(_ statement: OpaquePointer?, _ column: Int32) -> String {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: return "i:\(sqlite3_column_int64(statement, column))"
    case SQLITE_FLOAT: return "f:\(sqlite3_column_double(statement, column))"
    case SQLITE_NULL: return "n:"
    case SQLITE_BLOB:
      let count = Int(sqlite3_column_bytes(statement, column))
      let bytes = UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, column), count: count)
      var hasher = Hasher()
      hasher.combine(bytes: bytes)
      return "b:\(count):\(hasher.finalize())"
    default: return "t:" + String(cString: sqlite3_column_text(statement, column))
    }
  }

  private func failure(_ code: Int32) -> Failure {
    Failure(code: code, message: String(cString: sqlite3_errmsg(handle)))
  }

  private func registerApplicationCode() {
    sqlite3_create_collation_v2(
      handle, "shouting", SQLITE_UTF8, nil,
      { _, leftCount, left, rightCount, right in
        let left = UnsafeRawBufferPointer(start: left, count: Int(leftCount)).map { $0 | 0x20 }
        let right = UnsafeRawBufferPointer(start: right, count: Int(rightCount)).map { $0 | 0x20 }
        return left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
      }, nil)
    sqlite3_create_function_v2(
      handle, "twice", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
      { context, _, values in sqlite3_result_int64(context, 2 * sqlite3_value_int64(values?[0])) }, nil, nil, nil)
  }
}
