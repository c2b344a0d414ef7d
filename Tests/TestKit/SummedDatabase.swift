import CSQLite

/// A database whose pages end with something of its application: a sum of the page, in the manner of SQLite's own
/// extension (https://sqlite.org/cksumvfs.html).
package enum SummedDatabase {
  package static let pageSize = 4096
  private static let reserved = 8

  /// - Parameter freeing: leave pages on the list of free ones.
  package static func make(at path: String, freeing: Bool = false, wal: Bool) throws {
    let database = try TestDatabase(path)
    var count = Int32(reserved)
    sqlite3_file_control(database.handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &count)
    try database.run("PRAGMA page_size=\(pageSize); VACUUM; PRAGMA journal_mode=\(wal ? "WAL" : "DELETE")")
    try database.run(
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b); CREATE TABLE u(b);"
        + "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) INSERT INTO t(b) SELECT hex(randomblob(200)) FROM n;"
        + "INSERT INTO u SELECT b FROM t;" + (freeing ? "DROP TABLE u;" : ""))
    database.close()
    var bytes = try fileBytes(path)
    for start in stride(from: 0, to: bytes.count, by: pageSize) {
      let end = start + pageSize - reserved
      bytes.replaceSubrange(end..<end + reserved, with: sum(bytes[start..<end]))
    }
    try writeFile(path, bytes)
  }

  /// Whether every page ends with the sum that it must have.
  package static func isRight(_ bytes: [UInt8]) -> Bool {
    !bytes.isEmpty
      && stride(from: 0, to: bytes.count, by: pageSize).allSatisfy { start in
        let page = bytes[start..<min(start + pageSize, bytes.count)]
        return page.count == pageSize && sum(page.dropLast(reserved)) == Array(page.suffix(reserved))
      }
  }

  /// Two words of 32 bits, as the extension computes them.
  private static func sum(_ page: ArraySlice<UInt8>) -> [UInt8] {
    var (first, second): (UInt32, UInt32) = (0, 0)
    page.withUnsafeBytes { bytes in
      for offset in stride(from: 0, to: bytes.count, by: 8) {
        first &+= bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) &+ second
        second &+= bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self) &+ first
      }
    }
    return withUnsafeBytes(of: first) { Array($0) } + withUnsafeBytes(of: second) { Array($0) }
  }
}
