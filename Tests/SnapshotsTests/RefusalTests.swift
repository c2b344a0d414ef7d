import Glibc
import Snapshots
import TestKit
import Testing

/// What is not a database is refused in words, and nothing appears beside it or in the spool.
@Suite struct RefusalTests {
  @Test(arguments: SnapshotMethod.allCases)
  func `what is not a database is named for what it is`(_ method: SnapshotMethod) async throws {
    var random = SeededRandom(1)
    let cases: [(String, SnapshotError.Code, (String) throws -> Void)] = [
      ("missing", .missing, { _ in }),
      ("in/a/missing/folder", .missing, { _ in }),
      ("folder", .isDirectory, { mkdir($0, 0o755) }),
      ("empty", .empty, { try writeFile($0, []) }),
      ("text", .notADatabase, { try writeFile($0, Array(String(repeating: "some text\n", count: 1024).utf8)) }),
      ("short", .notADatabase, { try writeFile($0, Array("SQLite format 3\0".utf8)) }),
      ("zeros", .notADatabase, { try writeFile($0, [UInt8](repeating: 0, count: 8192)) }),
      ("encrypted", .encrypted, { try writeFile($0, random.bytes(4096 * 20)) }),
      ("encrypted, one small page", .encrypted, { try writeFile($0, random.bytes(512)) }),
      ("dangling", .missing, { symlink("/nowhere/at/all", $0) }),
      ("link to itself", .unreadable, { symlink($0, $0) }),
      ("pipe", .notADatabase, { mkfifo($0, 0o644) }),
      ("device", .notADatabase, { symlink("/dev/zero", $0) }),
    ]
    for (name, code, make) in cases {
      let desk = try Desk()
      var request = desk.request(method)
      request.source = desk.scratch.file("live/\(name)")
      try make(request.source)
      let before = try names(in: desk.scratch.file("live"))
      let error = try await desk.refusal(request)
      #expect(error?.code == code, "\(name)")
      #expect(error?.message.contains(name) == true, "the message must name the file: \(error?.message ?? "")")
      #expect(error?.hint?.hasSuffix(".") == true, "\(name)")
      #expect(try names(in: desk.scratch.file("live")) == before, "\(name)")
    }
  }

  @Test func `a path with a zero byte leads nowhere`() async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    var request = desk.request(.pages)
    request.source += "\0.db"
    #expect(try await desk.refusal(request)?.code == .missing)
  }

  @Test func `a spool folder that is not there is an error of the spool`() async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    var request = desk.request(.pages)
    request.spoolFolder += "/not/there"
    #expect(try await desk.refusal(request)?.code == .spool)
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a copy that cannot fit is refused with numbers, before it is begun`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    // 2^31 pages of 4 KiB, all but the first few a hole: 8 TiB.
    var bytes = try fileBytes(desk.source)
    bytes.replaceSubrange(28..<32, with: [0x80, 0, 0, 0])
    try writeFile(desk.source, bytes)
    try #require(truncate(desk.source, 4096 << 31) == 0)
    let error = try await desk.refusal(desk.request(method))
    #expect(error?.code == .noSpace)
    #expect(error?.message.contains("needs 87960") == true, "8 TiB: \(error?.message ?? "")")
  }

  @Test func `identify says what a header says, and makes no files`() throws {
    let desk = try Desk()
    try SampleDatabase.page65536WithContentInWal.make(at: desk.source)
    let before = try names(in: desk.scratch.file("live"))
    let wal = try identify(desk.source)
    guard case .database(let facts) = wal.kind else {
      Issue.record("\(wal)")
      return
    }
    #expect(facts.pageSize == 65536)
    #expect(facts.isWAL)
    #expect(facts.encoding == "UTF-8")
    #expect(try names(in: desk.scratch.file("live")) == before)

    let other = desk.scratch.file("live/other.db")
    try SampleDatabase.reservedBytes.make(at: other)
    guard case .database(let reserved) = try identify(other).kind else {
      Issue.record("not a database")
      return
    }
    #expect(reserved.reservedBytes == 24)
    #expect(!reserved.isWAL)
    #expect(reserved.size == (try fileBytes(other).count))
    #expect(try names(in: desk.scratch.file("live")) == before + ["other.db"])
  }
}
