import FoundationEssentials
import Glibc
import Snapshots
import TestKit
import Testing

/// Beyond 1 GiB lies the page of lock bytes, beyond 4 GiB the end of 32-bit offsets. Each test needs two or three times the
/// database's size on disk and up to a minute, so they run where `SEALIFT_LARGE` is set: by the whole test script.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["SEALIFT_LARGE"] == "1"))
struct LargeDatabaseTests {
  /// Large objects of zeros, with small rows before, between and after them.
  private func make(_ path: String, pageSize: Int, megabytes: Int) throws {
    let database = try TestDatabase(path)
    try database.run(
      "PRAGMA page_size=\(pageSize); PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; CREATE TABLE files(name TEXT, b BLOB)"
    )
    var left = megabytes
    while left > 0 {
      let part = min(left, 500)
      try database.run("INSERT INTO files VALUES('before \(left)', zeroblob(\(part) << 20))")
      try database.run("INSERT INTO files VALUES('after \(left)', randomblob(100000))")
      left -= part
    }
    try database.run("CREATE INDEX by_name ON files(name); PRAGMA journal_mode=DELETE")
    database.close()
  }

  @Test(arguments: [(4096, 1100), (65536, 1100), (65536, 4200)], SnapshotMethod.allCases)
  func `pages beyond every boundary arrive`(_ shape: (Int, Int), _ method: SnapshotMethod) async throws {
    let (pageSize, megabytes) = shape
    let desk = try Desk()
    try make(desk.source, pageSize: pageSize, megabytes: megabytes)
    let before = try SourceSignature.read(desk.source)
    let lockPage = 0x4000_0000 / pageSize

    let snapshot = try await desk.take(method)
    #expect(snapshot.check == .ok)
    #expect(snapshot.method == method)
    #expect(try SourceSignature.read(desk.source) == before)
    #expect(snapshot.pageCount > lockPage)
    #expect(snapshot.pageCount * snapshot.pageSize > megabytes << 20)
    #expect(try page(lockPage, of: snapshot) == [UInt8](repeating: 0, count: pageSize))
    #expect(try rows(snapshot.path) == rows(desk.source))
    if method == .pages { #expect(try sameBytes(snapshot.path, desk.source)) }
  }

  private func rows(_ path: String) throws -> [[String]] {
    try TestDatabase(path).rows("SELECT name, length(b), iif(length(b) < 200000, b, NULL) FROM files ORDER BY name")
  }

  private func page(_ index: Int, of snapshot: Snapshot) throws -> [UInt8] {
    let file = open(snapshot.path, O_RDONLY)
    defer { close(file) }
    var bytes = [UInt8](repeating: 1, count: snapshot.pageSize)
    try #require(pread(file, &bytes, bytes.count, off_t(index * snapshot.pageSize)) == bytes.count)
    return bytes
  }

  private func sameBytes(_ left: String, _ right: String) throws -> Bool {
    let files = [open(left, O_RDONLY), open(right, O_RDONLY)]
    defer { for file in files { close(file) } }
    let length = 4 << 20
    var buffers = [[UInt8](repeating: 0, count: length), [UInt8](repeating: 0, count: length)]
    while true {
      let first = read(files[0], &buffers[0], length)
      let second = read(files[1], &buffers[1], length)
      guard first == second, memcmp(buffers[0], buffers[1], max(0, first)) == 0 else { return false }
      if first <= 0 { return true }
    }
  }
}
