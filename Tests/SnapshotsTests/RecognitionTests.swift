import Glibc
import TestKit
import Testing

@testable import Snapshots

/// What is no SQLite database is told by name, with the way out.
@Suite struct RecognitionTests {
  private func kind(_ bytes: [UInt8]) throws -> FileKind {
    let scratch = try Scratch()
    try writeFile(scratch.file("some file"), bytes)
    let kind = try identify(scratch.file("some file")).kind
    #expect(try names(in: scratch.path) == ["some file"])
    return kind
  }

  private static func padded(_ bytes: [UInt8], at offset: Int = 0) -> [UInt8] {
    [UInt8](repeating: 0, count: offset) + bytes + [UInt8](repeating: 7, count: 5000)
  }

  private static let wal2Header: [UInt8] =
    Array("SQLite format 3\0".utf8) + [16, 0, 3, 3, 0, 64, 32, 32] + [UInt8](repeating: 0, count: 76)

  /// How real files of each format begin.
  private static let beginnings: [(ForeignFormat, [UInt8])] = [
    (.realm, padded(Array("T-DB".utf8) + [24, 24, 0, 0], at: 16)),
    (.duckDB, padded(Array("DUCK".utf8) + [64, 0, 0, 0], at: 8)),
    (.lmdb, padded([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0xde, 0xc0, 0xef, 0xbe, 1, 0, 0, 0])),
    (.berkeleyDB, padded([0x62, 0x31, 5, 0], at: 12)), (.berkeleyDB, padded([0, 6, 0x15, 0x61], at: 12)),
    (.gdbm, padded([0xce, 0x9a, 0x57, 0x13])),
    (.access, padded([0, 1, 0, 0] + Array("Standard ACE DB\0".utf8))),
    (.sqlite2, padded(Array("** This file contains an SQLite 2.1 database **\0".utf8))),
    (.wal, padded([0x37, 0x7f, 0x06, 0x82, 0, 0x2d, 0xe2, 0x18])),
    (.journal, padded([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0, 0, 1])),
    (.laterSQLite, padded(wal2Header)),
    (.sqlText, padded(Array("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n".utf8))),
    (.xml, padded(Array("<?xml version=\"1.0\"?>\n<svg xmlns=\"x\">".utf8))),
    (.gzip, padded([0x1f, 0x8b, 8, 0])), (.zip, padded([0x50, 0x4b, 3, 4])), (.zstd, padded([0x28, 0xb5, 0x2f, 0xfd])),
    (.xz, padded([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])), (.bzip2, padded(Array("BZh9".utf8))),
    (.sevenZip, padded([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c])),
    (.tar, padded(Array("ustar\0".utf8) + [48, 48], at: 257)),
  ]

  @Test func `other formats are named, and refused with a hint`() async throws {
    for (format, bytes) in Self.beginnings {
      #expect(try kind(bytes) == .foreign(format))
      let desk = try Desk("other.db")
      try writeFile(desk.source, bytes)
      for method in SnapshotMethod.allCases {
        let error = try #require(try await desk.refusal(desk.request(method)))
        #expect(error.code == .otherFormat)
        #expect(error.message.contains("other.db") && error.message.contains(format.name))
        #expect(error.hint == format.hint && format.hint.hasSuffix("."))
      }
    }
    let folders: Set<ForeignFormat> = [.levelDB, .postgreSQL]
    #expect(Set(Self.beginnings.map(\.0)).union(folders) == Set(ForeignFormat.allCases), "every format has its test")
  }

  @Test func `a beginning that is cut is none of them, and no reason to crash`() throws {
    for (_, bytes) in Self.beginnings {
      for count in 1..<40 where count < bytes.count {
        let found = try kind(Array(bytes.prefix(count)))
        #expect(found != .empty)
      }
    }
  }

  @Test(arguments: [
    (["CURRENT", "MANIFEST-000004", "000005.ldb", "LOCK"], FileKind.foreignFolder(.levelDB)),
    (["CURRENT", "MANIFEST-000004", "OPTIONS-000007", "IDENTITY"], .foreignFolder(.levelDB)),
    (["data.mdb", "lock.mdb"], .foreignFolder(.lmdb)), (["PG_VERSION", "base"], .foreignFolder(.postgreSQL)),
    (["CURRENT", "app.db"], .directory), ([], .directory),
  ])
  func `a folder is known by what lies in it`(_ content: [String], _ expected: FileKind) async throws {
    let desk = try Desk("folder")
    mkdir(desk.source, 0o755)
    for name in content { try writeFile("\(desk.source)/\(name)", [1]) }
    #expect(try identify(desk.source).kind == expected)
    let error = try await desk.refusal(desk.request(.vacuum))
    #expect(error?.code == (expected == .directory ? .isDirectory : .otherFormat))
    #expect(error?.hint?.hasSuffix(".") == true)
  }

  @Test(
    arguments: [
      (
        "<?xml version=\"1.0\"?>\n<!DOCTYPE database SYSTEM \"file:///System/Library/DTDs/CoreData.dtd\">\n\n<database>",
        .xml
      ),
      ("<?xml version=\"1.0\" standalone=\"yes\"?><database>", .xml),
      ("\u{feff}<?xml version=\"1.0\"?>\r\n<!-- <svg> --> <database>\n", .xml),
      (
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"x\">",
        .propertyList
      ),
      ("<plist version=\"1.0\"><dict/></plist>", .propertyList),
      ("bplist00\u{1}\u{2}", .binary),
      ("<?xml version=\"1.0\"?><databases>", nil), ("<!DOCTYPE html>", nil), ("<?xml never ends", nil),
      ("<!-- never", nil),
      ("<", nil), ("plist", nil), ("bplist", nil), ("", nil),
    ] as [(String, AtomicStore?)])
  func `stores that are written as a whole`(_ text: String, _ expected: AtomicStore?) throws {
    #expect(AtomicStore(beginningOf: Array(text.utf8)) == expected)
    guard let expected else { return }
    #expect(try kind(Array(text.utf8)) == .atomicStore(expected))
  }

  @Test func `an encrypted database is known also behind a plain header`() async throws {
    var random = SeededRandom(11)
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let plain = try fileBytes(desk.source)
    // SQLCipher leaves so much plain when it is asked to (cipher_plaintext_header_size).
    for size in [16, 32, 48] {
      try writeFile(desk.source, Array(plain.prefix(size)) + random.bytes(plain.count - size))
      #expect(try identify(desk.source).kind == .probablyEncrypted)
      #expect(try await desk.refusal(desk.request(.vacuum))?.code == .encrypted)
    }
    // One that is only damaged is still a database: no copy at all would be worse.
    var damaged = plain
    damaged.replaceSubrange(100..<4096, with: random.bytes(3996))
    try writeFile(desk.source, damaged)
    guard case .database = try identify(desk.source).kind else {
      Issue.record("\(try identify(desk.source).kind)")
      return
    }
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a database of another SQLite is not called damaged, unless it is`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    var bytes = try fileBytes(desk.source)
    bytes.replaceSubrange(18..<20, with: [3, 3])
    try writeFile(desk.source, bytes)
    let error = try #require(try await desk.refusal(desk.request(method)))
    #expect(error.code == .otherFormat && !error.message.contains("damaged") && error.message.contains("wal2"))
    #expect(error.hint?.contains("PRAGMA journal_mode=wal") == true)
    let file = await #expect(throws: SnapshotError.self) {
      try await takeFile(FileRequest(source: desk.source, spoolFolder: desk.spool))
    }
    #expect(file?.code == .otherFormat, "as a plain file it could be of two moments")
    // An encoding that is none; a write version that is none; a page size that is none.
    for (offset, byte) in [(59, 9), (18, 1), (18, 77), (16, 3)] as [(Int, UInt8)] {
      var damaged = bytes
      damaged[offset] = byte
      try writeFile(desk.source, damaged)
      #expect(try await desk.refusal(desk.request(method))?.code == .damaged, "byte \(offset)")
    }
  }

  @Test func `what is encrypted is told how to be pushed`() async throws {
    var random = SeededRandom(12)
    let desk = try Desk()
    try writeFile(desk.source, random.bytes(8192))
    let hint = try await desk.refusal(desk.request(.pages))?.hint
    #expect(hint?.contains("sqlcipher_export") == true && hint?.contains("--method file") == true)
  }
}
