import Glibc
import Platform
import Snapshots
import TestKit
import Testing

/// Every kind of database, by both methods.
@Suite struct ZooTests {
  @Test(arguments: SampleDatabase.allCases, SnapshotMethod.allCases)
  func `the copy says what the source says, and the source stays as it was`(
    _ kind: SampleDatabase, _ method: SnapshotMethod
  ) async throws {
    let desk = try Desk()
    try kind.make(at: desk.source)
    let before = try SourceBytes(desk.source)
    let expected = try desk.contents()

    let snapshot = try await desk.take(method)

    #expect(try SourceBytes(desk.source) == before)
    #expect(try names(in: desk.spool).map { "\(desk.spool)/\($0)" } == [snapshot.path])
    #expect(mode(of: snapshot.path) == 0o600)
    #expect(snapshot.method == (kind.needsApplicationCode ? .pages : method))
    #expect((snapshot.fallback != nil) == (kind.needsApplicationCode && method == .vacuum))
    #expect(try fileBytes(snapshot.path).count == snapshot.pageSize * snapshot.pageCount)
    #expect((snapshot.longestWriterStall == nil) == kind.isWAL)
    #expect(
      try Array(fileBytes(snapshot.path)[18..<20]) == (kind.isWAL ? [2, 2] : [1, 1]), "the journal mode is kept")
    switch kind {
    case .applicationCollation: #expect(snapshot.check != .ok && snapshot.check?.isDamaged == false)
    case .applicationFunctionInCheck, .applicationFunctionInIndex, .applicationFunctionInColumn,
      .applicationFunctionInColumnThatIsNotNull, .applicationFunctionInPartialIndex,
      .applicationFunctionInIndexOfColumn:
      // It depends on SQLite's version whether quick_check calls these functions.
      #expect(snapshot.check?.isDamaged == false)
    default: #expect(snapshot.check == .ok)
    }
    #expect(try await checkImage(at: snapshot.path) == snapshot.check)
    #expect(try names(in: desk.spool).count == 1, "checking must leave no file beside the image")
    #expect(try contents(ofImage: snapshot.path) == expected)
  }

  @Test(arguments: SampleDatabase.allCases)
  func `pages are the source's own, byte for byte, except free ones`(_ kind: SampleDatabase) async throws {
    let desk = try Desk()
    try kind.make(at: desk.source)
    let expected = try desk.mergedBytes()
    let snapshot = try await desk.take(.pages)
    let image = try fileBytes(snapshot.path)
    #expect(image.count == expected.count)
    let differing = zip(pages(image, size: snapshot.pageSize), pages(expected, size: snapshot.pageSize)).filter {
      $0 != $1
    }
    #expect(differing.allSatisfy { copy, original in zip(copy, original).allSatisfy { $0 == 0 || $0 == $1 } })
    let free = try TestDatabase(snapshot.path).number("PRAGMA freelist_count")
    #expect(differing.count <= free)
    #expect(snapshot.freePagesZeroed <= free)
  }

  @Test(arguments: [SampleDatabase.freePages, .freePagesInWal])
  func `deleted rows are not carried along, unless asked for`(_ kind: SampleDatabase) async throws {
    let desk = try Desk()
    try kind.make(at: desk.source)
    let words = Array(SampleDatabase.deletedWords.utf8)
    #expect(contains(try fileBytes(desk.source), words), "the source must still hold them")

    for method in SnapshotMethod.allCases {
      let snapshot = try await desk.take(method)
      #expect(!contains(try fileBytes(snapshot.path), words), "\(method)")
      #expect((snapshot.freePagesZeroed > 50) == (method == .pages))
    }
    var keeping = desk.request(.pages)
    keeping.keepFreePages = true
    let snapshot = try await takeSnapshot(keeping)
    #expect(contains(try fileBytes(snapshot.path), words))
    #expect(snapshot.freePagesZeroed == 0)
    #expect(try fileBytes(snapshot.path) == desk.mergedBytes())
  }

  @Test func `free pages take no room where the file system makes holes`() async throws {
    let desk = try Desk()
    let database = try TestDatabase(desk.source)
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)"
    let rows = "\(numbers) SELECT randomblob(900) FROM n"
    try database.run(
      """
      PRAGMA secure_delete=OFF; PRAGMA page_size=4096; CREATE TABLE kept(b); CREATE TABLE gone(b);
      INSERT INTO kept \(rows); INSERT INTO gone \(rows); DROP TABLE gone;
      """)
    database.close()
    var keeping = desk.request(.pages)
    keeping.keepFreePages = true
    let whole = try await takeSnapshot(keeping)
    let sparse = try await desk.take(.pages)
    #expect(sparse.freePagesZeroed > 100)
    let (all, left) = (try fileBytes(whole.path), try fileBytes(sparse.path))
    #expect(all.count == left.count)
    #expect(zip(all, left).allSatisfy { $1 == $0 || $1 == 0 })
    #expect(pages(left, size: 4096).count { $0.allSatisfy { $0 == 0 } } == sparse.freePagesZeroed)
    #expect(try TestDatabase(sparse.path).number("SELECT count(DISTINCT b) FROM kept") == 600)
    guard try makesHoles(desk.scratch.file("hole")) else { return }
    #expect(blocks(sparse.path) < blocks(whole.path) * 3 / 4)
  }

  private func makesHoles(_ path: String) throws -> Bool {
    try writeFile(path, [UInt8](repeating: 1, count: 256 << 10))
    let file = open(path, O_RDWR)
    defer { close(file) }
    return punchHole(0..<128 << 10, into: file)
  }

  /// Of 512 bytes, that a file takes on the disk.
  private func blocks(_ path: String) -> Int {
    var status = stat()
    return lstat(path, &status) == 0 ? Int(status.st_blocks) : 0
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a real database`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    let request = SnapshotRequest(source: "/usr/share/proj/proj.db", method: method, spoolFolder: desk.spool)
    let snapshot = try await takeSnapshot(request)
    #expect(snapshot.check == .ok)
    // It says CHECK: by who may not write to it, it is copied page by page.
    #expect((snapshot.fallback == nil) == (method == .pages || access(request.source, W_OK) == 0))
    let expected = try TestDatabase(request.source, readOnly: true).dump()
    #expect(try contents(ofImage: snapshot.path) == expected)
    #expect(expected.count > 10_000)
  }

  private func contains(_ bytes: [UInt8], _ words: [UInt8]) -> Bool {
    bytes.indices.dropLast(words.count).contains {
      bytes[$0] == words[0] && bytes[$0..<$0 + words.count].elementsEqual(words)
    }
  }
}
