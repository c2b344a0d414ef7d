import Glibc
import Snapshots
import TestKit
import Testing

/// Names that mean something to shells, to URIs or to SQLite itself, and links.
@Suite struct PathTests {
  static let oddNames = [
    "with space.db", "it's.db", "say \"hi\".db", "line\nbreak.db", "what?.db", "what?immutable=1.db", "no#1.db",
    "100%.db", "%41.db", "file:x.db?mode=memory", ":memory:", "ünïcode 數據.db", "back\\slash.db", "-dash.db", "a;b&c.db",
    "semi';DROP TABLE people;--.db", "no extension", ".hidden",
  ]

  @Test(arguments: oddNames, SnapshotMethod.allCases)
  func `any name will do`(_ name: String, _ method: SnapshotMethod) async throws {
    let desk = try Desk(name)
    try SampleDatabase.walWithContent.make(at: desk.source)
    let before = try SourceBytes(desk.source)
    let snapshot = try await desk.take(method)
    #expect(snapshot.check == .ok)
    #expect(snapshot.sideFilesAppeared.isEmpty)
    #expect(try SourceBytes(desk.source) == before)
    #expect(try contents(ofImage: snapshot.path) == desk.contents())
  }

  @Test(arguments: oddNames)
  func `a spool with any name will do too`(_ name: String) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    var request = desk.request(.vacuum)
    request.spoolFolder += "/\(name)"
    mkdir(request.spoolFolder, 0o700)
    let snapshot = try await takeSnapshot(request)
    #expect(snapshot.check == .ok)
    #expect(try names(in: request.spoolFolder).count == 1)
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a link leads to the real file and its -wal`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.walWithContent.make(at: desk.source)
    let first = desk.scratch.file("first link")
    let second = desk.scratch.file("second link")
    symlink("live/app.db", first)
    symlink(first, second)
    var request = desk.request(method)
    request.source = second
    let snapshot = try await takeSnapshot(request)
    #expect(try contents(ofImage: snapshot.path) == desk.contents())
    #expect(snapshot.source == (try SourceSignature.read(desk.source)))
    #expect(try names(in: desk.scratch.path) == ["first link", "live", "second link", "spool"])
    #expect(try identify(second).path == realpath(desk.source))
  }

  /// Arguments and settings are text, in which such a name cannot stand.
  @Test(arguments: [false, true])
  func `a name that is not UTF-8 is told as that`(isLink: Bool) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let bytes = Array(desk.scratch.file("live/bad").utf8) + [0xff] + Array(".db".utf8) + [0]
    let odd = bytes.map { CChar(truncatingIfNeeded: $0) }
    try #require(rename(desk.source, odd) == 0)
    defer { unlink(odd) }
    let path = desk.scratch.file(isLink ? "link.db" : "live/bad\u{FFFD}.db")
    if isLink { try #require(symlink(odd, path) == 0) }
    var request = desk.request(.vacuum)
    request.source = path
    let taken = try await desk.refusal(request)
    let read = #expect(throws: SnapshotError.self) { try SourceSignature.read(path) }
    for error in [taken, read] {
      #expect(error?.code == .missing)
      #expect(error?.message.contains(path) == true && error?.message.contains("not UTF-8") == true)
      #expect(error?.hint?.hasPrefix("Rename it") == true)
    }
  }

  @Test(arguments: SnapshotMethod.allCases)
  func `a path that is longer than SQLite's is told as that, of whatever it is`(_ method: SnapshotMethod) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    var folder = desk.scratch.path
    for _ in 0..<3 {
      folder += "/\(String(repeating: "d", count: 180))"
      try #require(mkdir(folder, 0o700) == 0)
    }
    var request = desk.request(method)
    request.spoolFolder = folder
    let copy = try await desk.refusal(request)
    #expect(copy?.code == .spool, "\(String(describing: copy))")
    #expect(copy?.message.contains("more than 504 bytes") == true)
    #expect(copy?.hint?.contains("state folder") == true)
    #expect(try names(in: folder).isEmpty)
    request = desk.request(method)
    request.source = "\(folder)/app.db"
    try #require(rename(desk.source, request.source) == 0)
    let source = try await desk.refusal(request)
    #expect(source?.code == .unreadable && source?.message.contains("/app.db has ") == true)
    #expect(source?.message.contains("more than 504 bytes") == true, "\(String(describing: source))")
  }

  @Test func `a path of ours that is longer than SQLite's is not told as that of the database`() async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    var folder = desk.scratch.path
    for _ in 0..<3 {
      folder += "/\(String(repeating: "d", count: 180))"
      try #require(mkdir(folder, 0o700) == 0)
    }
    let (image, long) = (desk.scratch.file("image.db"), "\(folder)/image.db")
    for path in [image, long] { try writeFile(path, try fileBytes(desk.source)) }
    let tables = await #expect(throws: SnapshotError.self) {
      try await TableCopy(image: long, database: desk.source, tables: ["t"], busyTimeout: .zero).run()
    }
    let live = await #expect(throws: SnapshotError.self) {
      try await LiveRestore(image: long, database: desk.source, undo: nil, busyTimeout: .zero)
        .run(undoKept: {}, progress: { _, _, _ in })
    }
    let undo = "\(folder)/undo.db"
    try writeFile(undo, [])
    let descriptor = open(undo, O_RDWR)
    defer { close(descriptor) }
    let own = OwnFile(path: undo, descriptor: descriptor)
    let kept = await #expect(throws: SnapshotError.self) {
      try await LiveRestore(image: image, database: desk.source, undo: own, busyTimeout: .zero)
        .run(undoKept: {}, progress: { _, _, _ in })
    }
    let store = await #expect(throws: SnapshotError.self) { try await readCoreDataStore(at: long) }
    for (error, path) in [(tables, long), (live, long), (kept, undo), (store, long)] {
      #expect(error?.code == .spool, "\(String(describing: error))")
      #expect(error?.message.contains("\(path) has ") == true && error?.hint?.contains("shorter path") == true)
    }
  }

  @Test func `a relative path is followed from where the program runs`() async throws {
    let desk = try Desk()
    var request = desk.request(.pages)
    request.source = "../../../../../../../../../usr/share/proj/proj.db"
    #expect(try await takeSnapshot(request).check == .ok)
  }

  private func realpath(_ path: String) -> String {
    let resolved = Glibc.realpath(path, nil)!
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
