import FoundationEssentials
import Repositories
import Sealing
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

  /// Another database of the same world, all of which rides in a manifest.
  private func small(_ name: String) throws -> DatabaseSource {
    let path = road.scratch.file("\(name).db")
    try SQLite.run("create table t(b); insert into t values(randomblob(3000))", on: path)
    return DatabaseSource(name: name, path: path)
  }

  /// As the program goes through a run, until that is stopped.
  /// - Returns: what has a version, and where.
  private func night(_ databases: [DatabaseSource], _ targets: [TargetAccess]) async -> [String] {
    let (world, wishes) = (road.world, wished(databases, targets.map(\.name)))
    return await Task { () -> [String] in
      var done: [String] = []
      for turn in RunTurn.inOrder(wishes, world) {
        let meant = targets.filter { turn.targets.contains($0.name) }
        let request = Push.Request(database: databases[turn.database], targets: meant)
        guard let outcome = try? await Push(world).run(request) else { break }
        done += outcome.pushed.map { "\($0.version.database) \($0.version.target)" }
        if outcome.interruption != nil { break }
      }
      return done
    }.value
  }

  private func wished(_ databases: [DatabaseSource], _ targets: [String]) -> [RunTurn.Wish] {
    databases.map { (database: $0, targets: targets) }
  }

  @Test func `a target at which one database was stopped comes behind the other targets of all`() async throws {
    let isSlow = Locked(true)
    let slow = try await interrupting(while: isSlow)
    let databases = [database, try small("second"), try small("third")]
    let targets = [slow, road.target]
    #expect(await night(databases, targets) == [])
    for _ in 1...2 {
      #expect(await night(databases, targets) == ["app memory", "second memory", "third memory"])
    }
    isSlow.withLock { $0 = false }
    #expect(await night(databases, targets).count == 6)
    #expect(road.files(in: "\(road.world.stateFolder)/turns").isEmpty)
  }

  @Test func `the target that was slow last comes last, and there who was stopped`() throws {
    let time = Locked<UInt64>(5)
    var world = road.world
    world.now = { time.withLock { $0 } }
    let databases = [database, try small("second")]
    PushTurns(of: databases[0], world).begin(at: "b")
    time.withLock { $0 = 9 }
    PushTurns(of: databases[1], world).begin(at: "a")
    let turns = RunTurn.inOrder(wished(databases, ["a", "b", "c"]), world)
    #expect(turns.map(\.database) == [0, 1, 1, 0, 0, 1])
    #expect(turns.map(\.targets) == [["c"], ["c"], ["b"], ["b"], ["a"], ["a"]])
    // One database alone is copied once.
    let alone = RunTurn.inOrder(wished([database], ["a", "b"]), world)
    #expect(alone.map(\.targets) == [["a", "b"]])
  }

  @Test func `what is asked before a push leaves the note of one that was stopped`() async throws {
    let turns = PushTurns(of: database, road.world)
    turns.begin(at: "slow")
    let began = try #require(turns.began(at: "slow"))
    await turns.asking("slow") {}
    #expect(turns.began(at: "slow") == began)
    await turns.asking("good") {}
    #expect(turns.began(at: "good") == nil)
    // The push that it was of has come to its end.
    await turns.asking("slow") { turns.end(at: "slow") }
    #expect(turns.began(at: "slow") == nil)
    // Nobody has come to that one.
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      turns.begin(at: "good")
    }.value
    #expect(turns.began(at: "good") == nil)
  }

  /// Another push has a note of its own; a copy or a repair has none, and nobody would end this one's.
  @Test(arguments: [nil, 7] as [UInt64?])
  func `a push that is kept out by another run leaves the note as it was`(before: UInt64?) async throws {
    let repository = try await road.target.open(road.world)
    let state = try StateFolder(road.world.stateFolder, repository: repository.id)
    let chain = repository.keys.keyring.chainID(host: "host", database: "app", fork: 0)
    let lock = try ChainLock(chain, in: state)
    if let before {
      var world = road.world
      world.now = { before }
      PushTurns(of: database, world).begin(at: "memory")
    }
    let outcome = try await push(road.target)
    #expect(outcome.pushed.isEmpty && outcome.failures.map(\.error.kind) == [.pushInProgress])
    #expect(PushTurns(of: database, road.world).began(at: "memory") == before)
    #expect(road.files(in: "\(road.world.stateFolder)/turns").isEmpty == (before == nil))
    withExtendedLifetime(lock) {}
  }

  /// What opens it may hang as well.
  @Test func `a target whose secret was waited for in vain is opened behind the others the next time`() async throws {
    var slow = try await interrupting(while: Locked(false))
    slow.unlock = {
      withUnsafeCurrentTask { $0?.cancel() }
      throw OperationError(.cancelled, "interrupted")
    }
    slow.prepare = { [unlock = slow.unlock] in _ = try await unlock() }
    let stopped = slow
    await #expect(throws: OperationError.self) { try await push(stopped, road.target) }
    let outcome = try await push(stopped, road.target)
    #expect(outcome.interruption != nil && outcome.pushed.map(\.version.target) == ["memory"])
  }

  /// Else all databases would go there last until this one changes.
  @Test func `a target that is known to have the content has no push to wait for`() async throws {
    let isSlow = Locked(false)
    var slow = road.target
    slow.unlock = { [unlock = slow.unlock] in
      guard isSlow.withLock({ $0 }) else { return try await unlock() }
      withUnsafeCurrentTask { $0?.cancel() }
      throw OperationError(.cancelled, "interrupted")
    }
    // A file touched less than two seconds ago proves nothing by its times.
    try await Task.sleep(for: .milliseconds(2200))
    let target = slow
    _ = try await push(target)
    isSlow.withLock { $0 = true }
    var request = Push.Request(database: database, targets: [target])
    request.note = "of this content, once more"
    let (world, wish) = (road.world, request)
    await #expect(throws: OperationError.self) { try await Task { try await Push(world).run(wish) }.value }
    let turns = PushTurns(of: database, world)
    #expect(turns.began(at: "memory") != nil)
    #expect(try await push(target).pushed.map(\.unchanged) == [true])
    #expect(turns.began(at: "memory") == nil)
  }

  /// A listing may drip as a push may.
  @Test func `a target at which a look for the newest version was stopped is asked behind the others`() async throws {
    let (isSlow, asked) = (Locked(false), Locked<[String]>([]))
    let store = MemoryStore(location: "memory:second")
    var slow = TargetAccess(name: "second", store: store, unlock: road.target.unlock)
    _ = try await Initialize(road.world).run(at: slow, ifMissing: false)
    slow.store = ListingStore(base: store) { (prefix) async throws(StoreError) in
      asked.withLock { $0.append("second") }
      guard isSlow.withLock({ $0 }) else { return try await store.list(prefix: prefix) }
      withUnsafeCurrentTask { $0?.cancel() }
      throw StoreError(.cancelled, "interrupted")
    }
    var good = road.target
    good.store = ListingStore(base: road.store) { [store = road.store] (prefix) async throws(StoreError) in
      asked.withLock { $0.append("memory") }
      return try await store.list(prefix: prefix)
    }
    var request = Push.Request(database: database, targets: [slow, good])
    request.verifyRemoteEvery = 0
    let (world, wish) = (road.world, request)
    func run(slowly: Bool = false) async throws -> Push.Outcome {
      isSlow.withLock { $0 = slowly }
      asked.withLock { $0 = [] }
      return try await Task { try await Push(world).run(wish) }.value
    }
    // A file touched less than two seconds ago proves nothing by its times.
    try await Task.sleep(for: .milliseconds(2200))
    _ = try await run()
    let turns = PushTurns(of: database, world)
    _ = try? await run(slowly: true)
    #expect(turns.began(at: "second") != nil && turns.began(at: "memory") == nil)
    // An answer is the end of it.
    let unchanged = try await run()
    #expect(unchanged.pushed.map(\.unchanged) == [true, true] && turns.began(at: "second") == nil)
    _ = try? await run(slowly: true)
    StateFiles.remove(SourceMemory.path(world, database, host: "host", store: road.store.traits.identity))
    // The other one has to be pushed to now: nobody waits for this one before that.
    let pushed = try await run()
    #expect(pushed.pushed.map(\.unchanged) == [true, true] && asked.withLock { $0 }.first == "memory")
    #expect(turns.began(at: "second") == nil)
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
