import Glibc
import Storage
import TestKit
import Testing

@testable import Operations

/// What is committed by another name of the file lies in a -wal that is not beside this one.
@Suite struct OtherNamesTests {
  private let road: Road
  private let path: String

  init() async throws {
    road = try await Road()
    path = try road.database(rows: 5)
    try SQLite.run("pragma journal_mode=wal", on: path)
  }

  private func push(_ path: String, isMounted: Bool) async throws -> Push.Outcome {
    var push = Push(road.world)
    push.isMountPoint = { [path] in isMounted && $0 == path }
    return try await push.run(
      Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target]))
  }

  @Test func `a file that is mounted alone is told of at each push, changed or not`() async throws {
    for isNew in [true, false] {
      let outcome = try await push(path, isMounted: true)
      #expect(outcome.pushed.map(\.unchanged) == [!isNew])
      #expect(outcome.shortfalls.map(\.code) == ["mountedAlone"] && outcome.shortfalls[0].kind == .partlyDone)
      #expect(outcome.shortfalls[0].message.contains(path))
    }
    #expect(try await push(path, isMounted: false).shortfalls.isEmpty)
  }

  @Test func `not where its -wal is beside it, nor where there can be none`() async throws {
    let writer = try TestDatabase(path)
    try writer.run("insert into t(body) values('more')")
    #expect(try await push(path, isMounted: true).shortfalls.isEmpty)
    try writer.run("pragma journal_mode=delete")
    writer.close()
    #expect(try await push(path, isMounted: true).shortfalls.isEmpty)
  }

  @Test func `a second link is remarked on, and lacks what the first name has in its -wal`() async throws {
    let other = road.scratch.file("other.db")
    try #require(link(path, other) == 0)
    let writer = try TestDatabase(path)
    try writer.run("pragma wal_autocheckpoint=0; insert into t(body) values('only in the -wal')")
    // As another process has it: within one, SQLite knows that both are one file.
    writer.closeKeepingWal()
    let outcome = try await push(other, isMounted: false)
    #expect(outcome.shortfalls.isEmpty && outcome.pushed.count == 1)
    let told = { self.road.notices.said.withLock { $0 }.filter { $0.contains("another name") } }
    #expect(told().count == 1)
    let pulled = road.scratch.file("pulled.db")
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(pulled))
    #expect(try TestDatabase(pulled).number("select count(*) from t") == 5)
    // By the name that is in use nothing is amiss.
    _ = try await push(path, isMounted: false)
    #expect(told().count == 1)
  }

  private func restore(into path: String, isMounted: Bool = false) async throws {
    var restore = Restore(Pull(road.world))
    restore.isMountPoint = { [path] in isMounted && $0 == path }
    var request = Restore.Request(place: .file(path), mode: .live)
    request.keepsUndo = false
    let preview = try await restore.preview(.latest(database: "app"), from: road.target, request)
    do { _ = try await restore.run(.latest(database: "app"), from: road.target, request) } catch {
      #expect(preview.refusal?.code == (error as? OperationError)?.code)
      throw error
    }
    #expect(preview.refusal == nil)
  }

  @Test func `nothing is restored into a file by a name that nobody uses`() async throws {
    #expect(try await push(path, isMounted: false).failures.isEmpty)
    let other = road.scratch.file("other.db")
    try #require(link(path, other) == 0)
    let writer = try TestDatabase(path)
    try writer.run("pragma wal_autocheckpoint=0; insert into t(body) values('only in the -wal')")
    let refused = await #expect(throws: OperationError.self) { try await restore(into: other) }
    #expect(refused?.code == "mountedAlone" && refused?.message.contains("a hard link") == true)
    let tables = await #expect(throws: OperationError.self) {
      try await RestoreTables(Pull(road.world)).run(
        .latest(database: "app"), from: road.target, RestoreTables.Request(tables: ["t"], into: other))
    }
    #expect(tables?.code == "mountedAlone" && refused?.hint?.contains("--replace") == true)
    // That would replace all the others as well.
    #expect(tables?.hint?.contains("--replace") == false && tables?.hint?.contains("copy the rows") == true)
    #expect(try writer.number("select count(*) from t") == 6)
    #expect(access(other + "-wal", F_OK) != 0)
    // The writer's own name, which it holds.
    try await restore(into: path)
    #expect(try writer.number("select count(*) from t") == 5)
  }

  /// It was killed when it had given the database its name, and not yet taken the other one away.
  @Test func `a second name that a killed restore has left is nobody's, and goes with the next`() async throws {
    let (left, other) = (road.scratch.file(".app.db.sealift-1-2"), road.scratch.file("other.db"))
    try #require(link(path, left) == 0)
    #expect(try await push(path, isMounted: false).failures.isEmpty)
    #expect(road.notices.said.withLock { $0 }.allSatisfy { !$0.contains("another name") })
    try await restore(into: path)
    #expect(access(left, F_OK) != 0)
    // One that somebody has made counts all the same.
    try #require(link(path, left) == 0 && link(path, other) == 0)
    let refused = await #expect(throws: OperationError.self) { try await restore(into: path) }
    #expect(refused?.code == "mountedAlone")
  }

  @Test func `a file that is mounted alone is restored into in rollback mode only`() async throws {
    #expect(try await push(path, isMounted: false).failures.isEmpty)
    let refused = await #expect(throws: OperationError.self) { try await restore(into: path, isMounted: true) }
    #expect(refused?.code == "mountedAlone" && refused?.hint?.contains("Mount the folder") == true)
    let told = { self.road.notices.said.withLock { $0 }.filter { $0.contains("SQLite's journal stands beside") } }
    #expect(told().isEmpty)
    try SQLite.run("pragma journal_mode=delete", on: path)
    try await restore(into: path, isMounted: true)
    #expect(told().count == 1)
    try await restore(into: path)
    #expect(told().count == 1)
  }
}
