import Glibc
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations

/// What SQLite makes for us beside another user's database keeps that user out of it. Only root can make such databases.
@Suite(.enabled(if: geteuid() == 0)) struct SideFileOwnerTests {
  private static let stranger: uid_t = 65534

  /// Makes files as SQLite does while it reads: a -wal with nothing in it, and a -shm.
  private static func leaveFiles(beside path: String) throws {
    for ending in ["-wal", "-shm"] {
      unlink(path + ending)
      try writeFile(path + ending, ending == "-wal" ? [] : [1])
    }
  }

  @Test func `files of ours beside another user's database are in its way, others are not`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    let database = DatabaseSource(name: "app", path: path)
    #expect(AppearedSideFile.shortfall(of: database) == nil)
    try Self.leaveFiles(beside: path)
    #expect(AppearedSideFile.shortfall(of: database) == nil, "the database is ours, too")
    #expect(chown(path, Self.stranger, Self.stranger) == 0)
    let shortfall = try #require(AppearedSideFile.shortfall(of: database))
    #expect(shortfall.kind == .partlyDone && shortfall.code == "sideFilesLeft")
    #expect(shortfall.message.contains("\(path)-wal and \(path)-shm"))
    // By a link they lie beside the file itself.
    let link = road.scratch.file("link.db")
    #expect(symlink(path, link) == 0)
    #expect(AppearedSideFile.shortfall(of: DatabaseSource(name: "app", path: link)) != nil)
    // Somebody who is this user, too, writes to it.
    try writeFile(path + "-wal", [1])
    #expect(AppearedSideFile.shortfall(of: database) == nil)
    try writeFile(path + "-wal", [])
    for ending in ["-wal", "-shm"] { #expect(chown(path + ending, Self.stranger, Self.stranger) == 0) }
    #expect(AppearedSideFile.shortfall(of: database) == nil)
  }

  @Test func `tables that are put into such a database tell of them, too`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 5)))
    let other = road.scratch.file("other.db")
    try SQLite.run("CREATE TABLE mine(a)", on: other)
    #expect(chown(other, Self.stranger, Self.stranger) == 0)
    try Self.leaveFiles(beside: other)
    var request = RestoreTables.Request(tables: ["t"], into: other)
    request.dryRun = true
    let restore = RestoreTables(Pull(road.world))
    let rehearsed = try await restore.run(.latest(database: "app"), from: road.target, request)
    #expect(rehearsed.shortfall?.code == "sideFilesLeft" && rehearsed.shortfall?.kind == .partlyDone)
    request.tables = ["absent"]
    await #expect(throws: OperationError.self) {
      try await restore.run(.latest(database: "app"), from: road.target, request)
    }
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("SQLite made \(other)-wal and \(other)-shm") })
    for ending in ["-wal", "-shm"] { unlink(other + ending) }
    (request.tables, request.dryRun) = (["t"], false)
    let done = try await restore.run(.latest(database: "app"), from: road.target, request)
    #expect(done.shortfall == nil && done.tables.map(\.rows) == [5])
  }

  @Test func `each push tells of them until they are gone, and the version is there`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 5)
    #expect(chown(path, Self.stranger, Self.stranger) == 0)
    var push = Push(road.world)
    push.take = { request, progress in
      for ending in ["-wal", "-shm"] { unlink(path + ending) }
      var snapshot = try await takeSnapshot(request, progress: progress)
      try Self.leaveFiles(beside: path)
      snapshot.sideFilesAppeared = ["\(path)-wal", "\(path)-shm"]
      return snapshot
    }
    let request = Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target])
    for isNew in [true, false] {
      let outcome = try await push.run(request)
      #expect(outcome.pushed.map(\.unchanged) == [!isNew] && outcome.failures.isEmpty)
      #expect(outcome.shortfalls.map(\.code) == ["sideFilesLeft"])
    }
    #expect(road.notices.said.withLock { $0 }.allSatisfy { !$0.contains("harmless") })
    for ending in ["-wal", "-shm"] { unlink(path + ending) }
    #expect(try await Push(road.world).run(request).shortfalls.isEmpty)
  }
}
