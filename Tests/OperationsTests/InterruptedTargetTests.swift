import FoundationEssentials
import Snapshots
import Storage
import TestKit
import Testing

@testable import Operations

/// A push that is interrupted at its second target, as by a timer that ends it: what became of the first one is told, and counts.
@Suite struct InterruptedTargetTests {
  private let road: Road
  private let database: DatabaseSource

  init() async throws {
    road = try await Road()
    database = DatabaseSource(name: "app", path: try road.database(rows: 2_000))
  }

  /// Whoever puts there is interrupted.
  private func interrupting(while isSlow: Locked<Bool> = Locked(true)) async throws -> TargetAccess {
    let store = MemoryStore(location: "memory:second")
    let secret = UnlockSecret.keyFile([UInt8](repeating: 9, count: 64))
    var target = TargetAccess(name: "second", store: store, unlock: { secret })
    _ = try await Initialize(road.world).run(at: target, ifMissing: false)
    target.store = HookedStore(
      store,
      beforePut: { _ async throws(StoreError) in
        guard isSlow.withLock({ $0 }) else { return }
        withUnsafeCurrentTask { $0?.cancel() }
        throw StoreError(.cancelled, "interrupted")
      })
    return target
  }

  private func push(_ targets: TargetAccess...) async throws -> Push.Outcome {
    let (push, request) = (Push(road.world), Push.Request(database: database, targets: targets))
    return try await Task { try await push.run(request) }.value
  }

  @Test func `who pushed under the same name is told`() async throws {
    _ = try await push(road.target)
    let elsewhere = try Scratch()
    try await road.change(database.path)
    _ = try await Push(road.withoutState(elsewhere)).run(Push.Request(database: database, targets: [road.target]))
    try await road.change(database.path)
    let outcome = try await push(road.target, try await interrupting())
    #expect(outcome.interruption?.kind == .cancelled && outcome.failures.isEmpty)
    #expect(outcome.pushed.count == 1 && outcome.pushed.first?.pushedElsewhere == 2)
  }

  @Test func `a damaged database is told`() async throws {
    try SQLite.run("UPDATE t SET body = NULL WHERE id = 7", on: database.path)
    try SQLite.run(
      """
      PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id integer primary key, body blob NOT NULL)' WHERE name = 't';
      """, on: database.path)
    let outcome = try await push(road.target, try await interrupting())
    #expect(outcome.interruption != nil && outcome.pushed.first?.version.damaged == true)
    #expect(outcome.damage?.code == "sourceDamaged")
  }

  @Test func `a writer that passed over the lock is told`() async throws {
    var push = Push(road.world)
    push.take = { [take = push.take] in
      var snapshot = try await take($0, $1)
      snapshot.lockWasPassed = true
      return snapshot
    }
    let request = Push.Request(database: database, targets: [road.target, try await interrupting()])
    let outcome = try await Task { [push] in try await push.run(request) }.value
    #expect(outcome.interruption != nil && outcome.pushed.count == 1)
    #expect(outcome.shortfalls.map(\.code) == ["lockPassed"])
  }

  @Test func `a target that failed before is told`() async throws {
    var locked = road.target
    locked.unlock = { .keyFile([UInt8](repeating: 77, count: 64)) }
    let outcome = try await push(locked, try await interrupting())
    #expect(outcome.interruption != nil && outcome.pushed.isEmpty && outcome.failures.map(\.error.kind) == [.wrongKey])
  }

  @Test func `with nothing done an interruption is one`() async throws {
    await #expect(throws: OperationError.self) { try await push(try await interrupting()) }
  }

  /// A timer ends what takes too long at the first target, night after night.
  @Test func `a target at which a push was stopped comes behind the others the next time`() async throws {
    let isSlow = Locked(true)
    let slow = try await interrupting(while: isSlow)
    await #expect(throws: OperationError.self) { try await push(slow, road.target) }
    for _ in 1...2 {
      try await road.change(database.path)
      let outcome = try await push(slow, road.target)
      #expect(outcome.interruption != nil && outcome.pushed.map(\.version.target) == ["memory"])
    }
    isSlow.withLock { $0 = false }
    try await road.change(database.path)
    // Told in the order that was asked for, whoever came first.
    let last = try await push(slow, road.target)
    #expect(last.interruption == nil && last.pushed.map(\.version.target) == ["second", "memory"])
    #expect(road.files(in: "\(road.world.stateFolder)/turns").isEmpty)
  }

  /// Else all of it would be sent there again, each night, until the second target's first push has ended.
  @Test func `the next push to the first target sends what changed`() async throws {
    let first = try await push(road.target, try await interrupting())
    try SQLite.run("update t set body = randomblob(900) where id % 200 = 0", on: database.path)
    let second = try #require(try await push(road.target).pushed.first)
    #expect(second.version.bytesNew < (first.pushed.first?.version.bytesNew ?? 0) / 8)
    let folder = BaseFolder.path(of: database, host: "host", road.world)
    #expect(FileManager.default.fileExists(atPath: "\(folder)/anchor.db"))
  }

  @Test func `bases that another push uses are told`() async throws {
    let held = BaseFolder(of: database, host: "host", road.world)
    _ = try await push(road.target)
    withExtendedLifetime(held) {}
    let said = road.notices.said.withLock { $0 }
    #expect(held != nil && said.contains { $0.contains("another push uses its bases") })
  }
}
