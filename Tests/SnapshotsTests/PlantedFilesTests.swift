import Glibc
import TestKit
import Testing

@testable import Snapshots

/// What somebody who may make names beside a database has put there.
@Suite struct PlantedFilesTests {
  /// What opens a database of others: a push, one that may recover it, a live restore, and one of tables.
  enum Opening: CaseIterable, Sendable {
    case push
    case recovery
    case live
    case tables
    case dryRun
  }

  private func refusal(_ desk: Desk, by opening: Opening) async throws -> SnapshotError? {
    let image = desk.scratch.file("image.db")
    if access(image, F_OK) != 0 { try SQLite.run("CREATE TABLE mine(a)", on: image) }
    switch opening {
    case .push, .recovery:
      var request = desk.request(.vacuum)
      request.allowRecovery = opening == .recovery
      return try await desk.refusal(request)
    case .live:
      let live = LiveRestore(image: image, database: desk.source, undo: nil, busyTimeout: .milliseconds(200))
      return await #expect(throws: SnapshotError.self) { try await live.run(undoKept: {}) { _, _, _ in } }
    case .tables, .dryRun:
      var tables = TableCopy(image: image, database: desk.source, tables: ["mine"], busyTimeout: .milliseconds(200))
      tables.dryRun = opening == .dryRun
      let asked = tables
      return await #expect(throws: SnapshotError.self) { try await asked.run() }
    }
  }

  // MARK: What a journal names

  /// SQLite would remove it with the journal, as whoever rolls that back: root, perhaps.
  @Test(arguments: ["precious", "live/precious", "live/../precious-mj01ABCD9EF", "live/app.db-mj01abcd9ef"])
  func `nobody rolls back a journal that has a file of others removed`(name: String) async throws {
    let desk = try Desk()
    try await leaveHotJournal(desk)
    let precious = desk.scratch.file(name)
    try writeFile(precious, [1])
    try endJournal(of: desk.source, naming: precious)
    let before = try SourceBytes(desk.source)
    for opening in [Opening.recovery, .live, .tables, .dryRun] {
      let error = try await refusal(desk, by: opening)
      #expect(error?.code == .hotJournal && error?.message.contains(precious) == true, "\(opening): \(error as Any)")
      #expect(error?.hint?.contains("as its own user") == true)
    }
    #expect(try SourceBytes(desk.source) == before && fileBytes(precious) == [1])
  }

  @Test func `a journal that names what SQLite makes is rolled back`() async throws {
    let untouched = try Desk()
    try SampleDatabase.rollback.make(at: untouched.source)
    let desk = try Desk()
    try await leaveHotJournal(desk)
    let superJournal = desk.source + "-mj01ABCD9EF"
    try writeFile(superJournal, Array((desk.source + "-journal").utf8) + [0])
    try endJournal(of: desk.source, naming: superJournal)
    var request = desk.request(.vacuum)
    request.allowRecovery = true
    let snapshot = try await takeSnapshot(request)
    #expect(snapshot.check == .ok)
    #expect(try contents(ofImage: snapshot.path) == untouched.contents())
    #expect(access(superJournal, F_OK) != 0 && access(desk.source + "-journal", F_OK) != 0)
  }

  /// While it is committed, the journal of each of its databases names a file in the folder of the first.
  @Test(arguments: [Opening.live, .tables])
  func `a transaction over several folders is waited for`(opening: Opening) async throws {
    let desk = try Desk()
    try SampleDatabase.rollback.make(at: desk.source)
    let image = desk.scratch.file("image.db")
    try SQLite.run("CREATE TABLE mine(a)", on: image)
    let journal = desk.source + "-journal"
    try writeFile(journal, [UInt8](repeating: 0, count: 512))
    try endJournal(of: desk.source, naming: desk.scratch.file("first.db-mj01ABCD9EF"))
    let commit = Task.detached {
      try await Task.sleep(for: .milliseconds(300))
      unlink(journal)
    }
    if opening == .live {
      let live = LiveRestore(image: image, database: desk.source, undo: nil, busyTimeout: .seconds(60))
      _ = try await live.run(undoKept: {}) { _, _, _ in }
    } else {
      let tables = TableCopy(image: image, database: desk.source, tables: ["mine"], busyTimeout: .seconds(60))
      _ = try await tables.run()
    }
    try await commit.value
    #expect(try TestDatabase(desk.source).number("SELECT count(*) FROM sqlite_schema WHERE name = 'mine'") == 1)
  }

  /// SQLite opens all that it names.
  @Test func `a list of journals that names a pipe holds nobody up`() async throws {
    let desk = try Desk()
    try await leaveHotJournal(desk)
    let (superJournal, pipe) = (desk.source + "-mj01ABCD9EF", desk.scratch.file("pipe"))
    try #require(mkfifo(pipe, 0o600) == 0)
    try writeFile(superJournal, Array((desk.source + "-journal").utf8) + [0] + Array(pipe.utf8) + [0])
    try endJournal(of: desk.source, naming: superJournal)
    let helper = rescuer(of: pipe)
    defer { helper.cancel() }
    #expect(try await refusal(desk, by: .recovery)?.code == .hotJournal)
    #expect(access(superJournal, F_OK) == 0)
  }

  /// The kernel says in the end that the disk failed.
  @Test func `a journal that cannot be made independent is told, with the way out`() async throws {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      let (path, superJournal) = (scratch.file("app.db"), scratch.file("other.db-mj01ABCD9EF"))
      try writeFile(path + "-journal", [UInt8](repeating: 1, count: 512))
      try writeFile(superJournal, Array((path + "-journal").utf8) + [0])
      try endJournal(of: path, naming: superJournal)
      guard FailingCalls.fail(.fsync, with: EIO) else { fatalError("this kernel takes no filters") }
      let error = #expect(throws: SnapshotError.self) { try SuperJournal.makeIndependent(journalOf: path) }
      #expect(error?.code == .hotJournal && error?.message.contains(path + "-journal") == true)
      #expect(error?.hint == "Let the application open all databases of this transaction once first.")
    }
  }

  /// Of what SQLite has not made it is not even asked whether it is there; and a sum that is wrong says nothing.
  @Test func `only what names a super-journal is cut off a journal`() throws {
    let scratch = try Scratch()
    let path = scratch.file("app.db")
    for (name, isMade) in [("precious", false), ("other.db-mj01abcd9ef", false), ("ö.db-mj01ABCD9EF", true)] {
      for isSound in [false, true] {
        let content = [UInt8](repeating: 1, count: 512)
        try writeFile(path + "-journal", content)
        try writeFile(scratch.file(name), [1])
        try endJournal(of: path, naming: scratch.file(name))
        var ended = try fileBytes(path + "-journal")
        if !isSound { ended[ended.count - 9] &+= 1 }
        try writeFile(path + "-journal", ended)
        try SuperJournal.makeIndependent(journalOf: path)
        #expect(try fileBytes(path + "-journal") == (isMade && isSound ? content : ended), "\(name) \(isSound)")
        #expect(try fileBytes(scratch.file(name)) == [1])
      }
    }
  }

  // MARK: What is no file

  /// SQLite would wait in it for whoever writes to it, for ever.
  @Test(arguments: [false, true], sideFileEndings)
  func `a pipe beside a database holds nobody up`(isWAL: Bool, ending: String) async throws {
    let desk = try Desk()
    try (isWAL ? SampleDatabase.walClosed : .rollback).make(at: desk.source)
    let before = try fileBytes(desk.source)
    let helper = rescuer(of: desk.source + ending)
    defer { helper.cancel() }
    for isLinked in [false, true] {
      let (name, pipe) = (desk.source + ending, desk.scratch.file("pipe"))
      unlink(name)
      try #require(mkfifo(isLinked ? pipe : name, 0o600) == 0)
      if isLinked { try #require(symlink(pipe, name) == 0) }
      for opening in Opening.allCases {
        let error = try await refusal(desk, by: opening)
        #expect(error?.code == .unreadable && error?.message.contains(name) == true, "\(opening): \(error as Any)")
      }
    }
    try await TableCopy.demandFree(["people"], in: desk.source)
    #expect(try fileBytes(desk.source) == before)
  }

  /// Ends what waits in a pipe all the same, so that a test fails and does not stand still.
  private func rescuer(of path: String) -> Task<Void, Never> {
    Task.detached {
      while (try? await Task.sleep(for: .seconds(2))) != nil {
        let pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        if pipe >= 0 { close(pipe) }
      }
    }
  }
}
