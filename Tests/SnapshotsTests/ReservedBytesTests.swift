import CSQLite
import Glibc
import Snapshots
import TestKit
import Testing

/// Databases whose pages end with something of their application: a sum of the page, in the manner of SQLite's own
/// extension (https://sqlite.org/cksumvfs.html).
@Suite struct ReservedBytesTests {
  private static let reserved = 8
  private static let pageSize = 4096

  /// - Parameter freeing: leave pages on the list of free ones.
  private func desk(freeing: Bool, wal: Bool) throws -> Desk {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    var count = Int32(Self.reserved)
    sqlite3_file_control(database.handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &count)
    try database.run("PRAGMA page_size=\(Self.pageSize); VACUUM; PRAGMA journal_mode=\(wal ? "WAL" : "DELETE")")
    try database.run(
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b); CREATE TABLE u(b);"
        + "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) INSERT INTO t(b) SELECT hex(randomblob(200)) FROM n;"
        + "INSERT INTO u SELECT b FROM t;" + (freeing ? "DROP TABLE u;" : ""))
    database.close()
    var bytes = try fileBytes(desk.source)
    for start in stride(from: 0, to: bytes.count, by: Self.pageSize) {
      let end = start + Self.pageSize - Self.reserved
      bytes.replaceSubrange(end..<end + Self.reserved, with: Self.sum(bytes[start..<end]))
    }
    try writeFile(desk.source, bytes)
    return desk
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

  @Test(arguments: SnapshotMethod.allCases, [(false, false), (true, false), (true, true)])
  func `every page of the copy has the sum that it must have`(
    _ method: SnapshotMethod, _ kind: (freeing: Bool, wal: Bool)
  ) async throws {
    let desk = try desk(freeing: kind.freeing, wal: kind.wal)
    let snapshot = try await desk.take(method)
    #expect(snapshot.method == .pages && (snapshot.fallback != nil) == (method == .vacuum))
    #expect(snapshot.check == .ok)
    #expect((snapshot.freePagesZeroed > 0) == kind.freeing)
    let copied = try fileBytes(snapshot.path)
    #expect(copied.count == snapshot.pageCount * Self.pageSize)
    for page in pages(copied, size: Self.pageSize) {
      #expect(Self.sum(page.dropLast(Self.reserved)) == Array(page.suffix(Self.reserved)))
    }
  }
}
