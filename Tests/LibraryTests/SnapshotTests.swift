import CSQLite
import FoundationEssentials
import Glibc
import Sealift
import Storage
import TestKit
import Testing

@Suite struct SnapshotTests {
  let bench: Bench
  init() throws { bench = try Bench() }

  @Test(arguments: Snapshot.Method.allCases)
  func `a copy holds what the database holds, and goes with its folder`(method: Snapshot.Method) async throws {
    try bench.makeDatabase()
    var copy: Snapshot? = try await Snapshot.take(of: .file(bench.database), method: method, in: bench.folder)
    let path = try #require(copy?.path)
    #expect(try words(path) == [["t:old", "i:60"]])
    #expect(copy?.method == method)
    #expect(copy?.check == .ok)
    #expect(copy?.lockDoubt == nil && copy?.lockWasPassed == false)
    #expect(try fileBytes(path).count == (copy?.pageCount ?? 0) * (copy?.pageSize ?? 0))
    #expect(mode(of: path) == 0o600)
    #expect(try bench.copiesLeft().count == 1)
    copy = nil
    #expect(try bench.copiesLeft().isEmpty)
    #expect(access(path, F_OK) != 0)
  }

  @Test func `a copy beside which somebody writes in spite of the lock says so`() async throws {
    try bench.makeDatabase()
    let last = Locked(0)
    let copy = try await Snapshot.take(
      of: .file(bench.database), method: .pages, pagesPerStep: 10, in: bench.folder
    ) { [path = bench.database] progress in
      guard progress.pagesDone > 0 else { return }
      // The first step of the copy, and of the one that is made once more.
      let isFirst = last.withLock { last in
        defer { last = progress.pagesDone }
        return last == 0 || progress.pagesDone < last
      }
      guard isFirst else { return }
      var handle: OpaquePointer?
      defer { sqlite3_close_v2(handle) }
      #expect(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, "unix-none") == SQLITE_OK)
      #expect(sqlite3_exec(handle, "INSERT INTO t(body) VALUES(randomblob(20000))", nil, nil, nil) == SQLITE_OK)
    }
    #expect(copy.lockWasPassed)
  }

  /// What a damaged database calls free may be in use: only a check tells.
  @Test(arguments: [true, false]) func `free pages become zeros in a copy that is checked, in no other`(
    isChecked: Bool
  ) async throws {
    try SampleDatabase.freePages.make(at: bench.database)
    let remains = Array(SampleDatabase.deletedWords.utf8)[...]
    func hasRemains(_ copy: Snapshot) throws -> Bool { try fileBytes(copy.path)[...].firstRange(of: remains) != nil }
    let file = try await Snapshot.take(
      of: .file(bench.database), method: .pages, check: isChecked, in: bench.folder)
    #expect(try hasRemains(file) == !isChecked)
    let database = try TestDatabase(bench.database)
    let lent = try Snapshot.take(of: .connection(database.handle), check: isChecked, in: bench.folder)
    #expect(try hasRemains(lent) == !isChecked)
  }

  @Test func `a copy that is removed or moved leaves no folder behind`() async throws {
    try bench.makeDatabase()
    let removed = try await Snapshot.take(of: .file(bench.database), in: bench.folder)
    removed.remove()
    #expect(try bench.copiesLeft().isEmpty)
    let gone = #expect(throws: SealiftError.self) { try removed.move(to: bench.scratch.file("gone.db")) }
    #expect(gone?.message == "the snapshot was removed" && gone?.hint == "Take another one.")

    let moved = try await Snapshot.take(of: .file(bench.database), in: bench.folder)
    let place = bench.scratch.file("kept.db")
    try moved.move(to: place)
    #expect(try bench.copiesLeft().isEmpty)
    #expect(moved.path == place)
    #expect(try words(place) == [["t:old", "i:60"]])
    #expect(mode(of: place) == 0o600)
    moved.remove()
    #expect(access(place, F_OK) == 0)
    let again = #expect(throws: SealiftError.self) { try moved.move(to: bench.scratch.file("other.db")) }
    #expect(again?.kind == .usage && again?.hint?.contains(place) == true)
  }

  @Test(arguments: ["", "-wal", "-journal"])
  func `a copy is moved over nothing that exists`(ending: String) async throws {
    try bench.makeDatabase()
    let copy = try await Snapshot.take(of: .file(bench.database), in: bench.folder)
    let place = bench.scratch.file("kept.db")
    try writeFile(place + ending, [1, 2, 3])
    let error = #expect(throws: SealiftError.self) { try copy.move(to: place) }
    #expect(error?.kind == .usage)
    #expect(try fileBytes(place + ending) == [1, 2, 3])
    #expect(try words(copy.path) == [["t:old", "i:60"]])
  }

  @Test(.enabled(if: access("/dev/shm", W_OK) == 0))
  func `a copy is moved to another file system`() async throws {
    try bench.makeDatabase()
    let copy = try await Snapshot.take(of: .file(bench.database), in: bench.folder)
    let shelf = "/dev/shm/sealift-shelf-\(UUID().uuidString)"
    mkdir(shelf, 0o700)
    defer { try? removeFile(shelf) }
    let bytes = try fileBytes(copy.path)
    try copy.move(to: "\(shelf)/kept.db")
    #expect(try fileBytes("\(shelf)/kept.db") == bytes)
    #expect(try names(in: shelf) == ["kept.db"])
    #expect(try bench.copiesLeft().isEmpty)
  }

  /// In rollback mode large blocks are copied, with content in the -wal page by page.
  @Test(arguments: ["delete", "wal"])
  func `progress is told after each step, and of all pages`(journal: String) async throws {
    try bench.makeDatabase(journal: journal)
    let writer = try TestDatabase(bench.database)
    try writer.run("INSERT INTO t(word, body) SELECT 'more', randomblob(3500) FROM t LIMIT 7")
    let told = Told<Snapshot.Progress>()
    let copy = try await Snapshot.take(
      of: .file(bench.database), method: .pages, pagesPerStep: 9, in: bench.folder
    ) { told.append($0) }
    let copying = told.values.filter { $0.stage == .copying }
    #expect(copying.allSatisfy { $0.pagesTotal == copy.pageCount })
    let steps = Array(stride(from: 0, to: copy.pageCount, by: 9))
    #expect(copying.map(\.pagesDone).filter { $0 < copy.pageCount } == steps)
    #expect(told.values.last?.pagesDone == copy.pageCount)
  }

  @Test func `a vacuum does not know how many pages it will write`() async throws {
    try bench.makeDatabase()
    let told = Told<Snapshot.Progress>()
    _ = try await Snapshot.take(of: .file(bench.database), in: bench.folder) { told.append($0) }
    let copying = told.values.filter { $0.stage == .copying }
    #expect(!copying.isEmpty)
    #expect(copying.allSatisfy { $0.pagesTotal == nil })
  }

  @Test(arguments: Snapshot.Method.allCases, [Snapshot.Progress.Stage.copying, .checking])
  func `throwing aborts and leaves nothing behind`(method: Snapshot.Method, stage: Snapshot.Progress.Stage) async throws
  {
    try bench.makeDatabase()
    await #expect(throws: Enough()) {
      try await Snapshot.take(of: .file(bench.database), method: method, pagesPerStep: 5, in: bench.folder) {
        progress in
        if progress.stage == stage, progress.pagesDone < 30 { throw Enough() }
      }
    }
    #expect(try bench.copiesLeft().isEmpty)
  }

  @Test(arguments: Snapshot.Method.allCases)
  func `throwing is ignored once the copy is complete`(method: Snapshot.Method) async throws {
    try bench.makeDatabase()
    let late = Told<Int>()
    let copy = try await Snapshot.take(of: .file(bench.database), method: method, in: bench.folder) { progress in
      guard progress.stage == .checking, progress.pagesDone == progress.pagesTotal else { return }
      late.append(progress.pagesDone)
      throw Enough()
    }
    #expect(late.values == [copy.pageCount])
    #expect(try words(copy.path) == [["t:old", "i:60"]])
  }

  @Test(arguments: Snapshot.Method.allCases)
  func `cancelling the task aborts and leaves nothing behind`(method: Snapshot.Method) async throws {
    try bench.makeDatabase(rows: 2000)
    await #expect(throws: CancellationError.self) {
      try await Fuse<Snapshot>().run { [bench] fuse in
        try await Snapshot.take(of: .file(bench.database), method: method, pagesPerStep: 10, in: bench.folder) { _ in
          fuse.blow()
        }
      }
    }
    #expect(try bench.copiesLeft().isEmpty)
  }

  @Test(arguments: Snapshot.Method.allCases)
  func `whoever has no patience hears at once that the database is locked`(method: Snapshot.Method) async throws {
    try bench.makeDatabase()
    let writer = try TestDatabase(bench.database)
    try writer.run("BEGIN EXCLUSIVE")
    let error = await #expect(throws: SealiftError.self) {
      try await Snapshot.take(of: .file(bench.database), method: method, busy: .fail, in: bench.folder)
    }
    #expect(error?.code == "busy")
    #expect(error?.kind == .sourceUnreadable)
    #expect(error?.hint != nil)
    #expect(try bench.copiesLeft().isEmpty)
    async let copy = Snapshot.take(
      of: .file(bench.database), method: method, busy: .retry(upTo: .seconds(600)), in: bench.folder)
    usleep(20_000)
    try writer.run("COMMIT")
    #expect(try await copy.check == .ok)
  }

  @Test func `what a dead run left among temporary files goes, and nothing else`() async throws {
    try bench.makeDatabase()
    let alive = try await Snapshot.take(of: .file(bench.database))
    let own = alive.path.split(separator: "/").dropLast().joined(separator: "/")
    let temporary = FileManager.default.temporaryDirectory.path
    #expect("/\(own)".hasPrefix(temporary.hasSuffix("/") ? temporary : "\(temporary)/"))
    #expect(mode(of: "/\(own)") == 0o700)

    let dead = "\(temporary)/sealift-copy-\(UUID().uuidString)"
    mkdir(dead, 0o700)
    try writeFile("\(dead)/lock", [])
    try writeFile("\(dead)/x.sqlite", [1])
    let others = "\(temporary)/sealift-copy-\(UUID().uuidString)"
    mkdir(others, 0o700)
    try writeFile("\(others)/x.sqlite", [1])
    defer { try? removeFile(others) }

    let next = try await Snapshot.take(of: .file(bench.database))
    #expect(access(dead, F_OK) != 0)
    #expect(access("\(others)/x.sqlite", F_OK) == 0)
    #expect(access(alive.path, F_OK) == 0)
    let path = next.path
    next.remove()
    alive.remove()
    #expect(access(path, F_OK) != 0)
    #expect(access("/\(own)", F_OK) != 0)
  }

  @Test func `errors have a kind, a code, a message and a hint`() async throws {
    let missing = await #expect(throws: SealiftError.self) {
      try await Snapshot.take(of: .file("/nowhere/app.db"), in: bench.folder)
    }
    #expect(missing?.kind == .sourceUnreadable)
    #expect(missing?.code == "missing")
    #expect(missing?.message.contains("/nowhere/app.db") == true)
    let step = await #expect(throws: SealiftError.self) {
      try await Snapshot.take(of: .file(bench.database), pagesPerStep: 0, in: bench.folder)
    }
    #expect(step?.kind == .usage)
    #expect(try bench.copiesLeft().isEmpty)
  }

  @Test func `a damaged database is copied as it is, and the copy says so`() async throws {
    try bench.makeDatabase()
    var bytes = try fileBytes(bench.database)
    for index in 4096 * 3..<4096 * 3 + 64 { bytes[index] = 0x5A }
    try writeFile(bench.database, bytes)
    let copy = try await Snapshot.take(of: .file(bench.database), in: bench.folder)
    guard case .damaged(let findings) = copy.check else {
      Issue.record("the check said \(String(describing: copy.check))")
      return
    }
    #expect(!findings.isEmpty)
    #expect(copy.method == .pages)
    #expect(copy.fallback != nil)
  }
}
