import Glibc
import Snapshots
import TestKit
import Testing

/// Databases whose pages end with something of their application: a sum of the page.
@Suite struct ReservedBytesTests {
  private func desk(freeing: Bool, wal: Bool) throws -> Desk {
    let desk = try Desk()
    try SummedDatabase.make(at: desk.source, freeing: freeing, wal: wal)
    return desk
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
    #expect(copied.count == snapshot.pageCount * SummedDatabase.pageSize)
    #expect(SummedDatabase.isRight(copied))
  }

  @Test(arguments: [false, true])
  func `no way back writes into pages whose sums only the application can compute`(wal: Bool) async throws {
    let desk = try desk(freeing: false, wal: wal)
    let image = try await desk.take(.pages).path
    let (copied, source) = (try fileBytes(image), try fileBytes(desk.source))
    let (packed, plain) = (desk.scratch.file("packed.db"), desk.scratch.file("plain.db"))
    try writeFile(packed, [])
    try SQLite.run("PRAGMA page_size=\(SummedDatabase.pageSize); CREATE TABLE mine(a)", on: plain)
    let other = try fileBytes(plain)

    let repacked = await #expect(throws: SnapshotError.self) {
      try await repackImage(at: image, into: packed, isWAL: nil)
    }
    let descriptor = open(image, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    // It is gone by what is open, not by a name.
    let file = OwnFile(path: desk.scratch.file("no name"), descriptor: descriptor)
    let switched = await #expect(throws: SnapshotError.self) {
      try await setJournalMode(of: file, isWAL: !wal)
    }
    for error in [repacked, switched] {
      #expect(error?.code == .reservedBytes && error?.hint?.contains("without --vacuum and --journal") == true)
    }
    for (version, database) in [(image, plain), (plain, desk.source)] {
      let live = LiveRestore(image: version, database: database, undo: nil, busyTimeout: .seconds(5))
      let error = await #expect(throws: SnapshotError.self) { try await live.run(undoKept: {}) { _, _, _ in } }
      #expect(error?.code == .reservedBytes && error?.hint?.contains("--replace") == true)
    }
    for dryRun in [true, false] {
      var tables = TableCopy(image: plain, database: desk.source, tables: ["mine"], busyTimeout: .seconds(5))
      tables.dryRun = dryRun
      let error = await #expect(throws: SnapshotError.self) { try await tables.run() }
      #expect(error?.code == .reservedBytes && error?.hint?.contains("with its application") == true)
    }
    // It says so already.
    try await setJournalMode(of: file, isWAL: wal)

    #expect(try fileBytes(image) == copied && fileBytes(desk.source) == source)
    #expect(try fileBytes(plain) == other && fileBytes(packed).isEmpty)
    #expect(SummedDatabase.isRight(copied))
  }

  @Test func `tables of a version with sums go into a database without them`() async throws {
    let desk = try desk(freeing: false, wal: false)
    let image = try await desk.take(.pages).path
    let plain = desk.scratch.file("plain.db")
    try SQLite.run("CREATE TABLE mine(a)", on: plain)
    let outcome = try await TableCopy(image: image, database: plain, tables: ["t"], busyTimeout: .seconds(5)).run()
    #expect(outcome.tables.map(\.rows) == [400])
  }
}
