import Storage
import TestKit
import Testing

@testable import Operations

/// Two machines that push under one name, one after the other: nothing in their chain is out of order, and each is told.
@Suite struct MachinesInTurnTests {
  private let road: Road
  private let database: DatabaseSource
  private let elsewhere: Scratch
  /// A machine of the same name, with a state of its own.
  private let other: World

  init() async throws {
    road = try await Road()
    database = DatabaseSource(name: "app", path: try road.database(rows: 50))
    elsewhere = try Scratch()
    other = road.withoutState(elsewhere)
  }

  private func push(_ world: World, to target: TargetAccess? = nil, dryRun: Bool = false) async throws -> Push.Pushed {
    var request = Push.Request(database: database, targets: [target ?? road.target])
    request.dryRun = dryRun
    let outcome = try await Push(world).run(request)
    #expect(outcome.failures.isEmpty && outcome.shortfalls.isEmpty)
    return try #require(outcome.pushed.first)
  }

  /// Pushes content that was never there.
  private func pushChange(_ world: World, to target: TargetAccess? = nil) async throws -> Push.Pushed {
    try await road.change(database.path)
    return try await push(world, to: target)
  }

  /// A repository with a key of its own.
  private func repository(_ name: String) async throws -> TargetAccess {
    let secret = UnlockSecret.keyFile([UInt8](repeating: 9, count: 64))
    let target = TargetAccess(name: name, store: MemoryStore(location: "memory:\(name)"), unlock: { secret })
    _ = try await Initialize(road.world).run(at: target, ifMissing: false)
    return target
  }

  @Test func `each is told from its second push on`() async throws {
    var told: [UInt64?] = []
    for turn in 0..<6 {
      told.append(try await pushChange(turn % 2 == 0 ? road.world : other).pushedElsewhere)
    }
    #expect(told == [nil, nil, 2, 3, 4, 5])
    // Who only asks what would happen is told, and has pushed nothing.
    #expect(try await push(road.world, dryRun: true).pushedElsewhere == 6)
    let pushed = try await pushChange(road.world)
    let remark = try #require(pushed.turnTaken)
    #expect(remark.kind == .partlyDone && remark.code == "pushedElsewhere")
    #expect(remark.message.contains("version 6 of 'app'") && remark.message.contains("under the name 'host'"))
    // One that goes on alone hears no more of it.
    #expect(try await pushChange(road.world).turnTaken == nil)
  }

  @Test func `an old machine whose database has not changed is told`() async throws {
    _ = try await push(road.world)
    let content = try fileBytes(database.path)
    _ = try await pushChange(other)
    try writeFile(database.path, content)
    let back = try await push(road.world)
    #expect(!back.unchanged && back.version.sequence == 3 && back.pushedElsewhere == 2)
    // Also where nothing is stored, because the other one's newest version has this content.
    _ = try await pushChange(other)
    let same = try await push(road.world)
    #expect(same.unchanged && same.version.sequence == 4 && same.pushedElsewhere == 4)
    #expect(try await push(road.world).pushedElsewhere == nil)
  }

  @Test func `what a machine has only read it has not pushed`() async throws {
    _ = try await pushChange(road.world)
    _ = try await pushChange(other)
    #expect(try await ListVersions(road.world).run(at: road.target).problems.isEmpty)
    #expect(try await pushChange(road.world).pushedElsewhere == 2)
  }

  @Test func `who has lost its state, or begins another chain, is told nothing`() async throws {
    _ = try await pushChange(road.world)
    _ = try await pushChange(other)
    try removeFile(road.world.stateFolder)
    #expect(try await pushChange(road.world).pushedElsewhere == nil)
    _ = try await pushChange(other)
    var forked = database
    forked.fork = 1
    let outcome = try await Push(road.world).run(Push.Request(database: forked, targets: [road.target]))
    let begun = try #require(outcome.pushed.first)
    #expect(begun.version.sequence == 1 && begun.pushedElsewhere == nil)
  }

  @Test func `copies are nobody's, and targets may lag behind`() async throws {
    let bucket = try await repository("bucket")
    _ = try await pushChange(road.world, to: bucket)
    for _ in 0..<2 { _ = try await pushChange(road.world) }
    var newest = CopyVersions.Request()
    newest.choice = .newest
    let copies = try await CopyVersions(other).run(newest, from: road.target, to: bucket)
    #expect(copies.failures.isEmpty && copies.copied.map(\.version.sequence) == [2])
    #expect(try await pushChange(road.world, to: bucket).pushedElsewhere == nil)
    try await road.change(database.path)
    let both = try await Push(road.world).run(Push.Request(database: database, targets: [road.target, bucket]))
    #expect(both.pushed.map(\.version.sequence) == [3, 4] && both.pushed.allSatisfy { $0.pushedElsewhere == nil })
  }

  @Test func `a forget and a prune of its own are no other machine's`() async throws {
    for _ in 0..<3 { _ = try await pushChange(road.world) }
    var rules = RetentionRules()
    rules.last = 1
    let forget = ForgetVersions(road.world)
    let plan = try await forget.plan(ForgetVersions.Request(.rulesForAll(rules)), at: road.target)
    for chain in plan.chains { _ = try await forget.carryOut(chain, of: plan) }
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    #expect(try await PruneRepository(road.world).run(request, at: road.target).problems.isEmpty)
    #expect(try await ListVersions(road.world).run(at: road.target).versions.map(\.sequence) == [3])
    #expect(try await pushChange(road.world).pushedElsewhere == nil)
  }

  @Test func `a list tells the fork of what was pushed with one`() async throws {
    _ = try await push(road.world)
    var forked = database
    forked.fork = 7
    let outcome = try await Push(road.world).run(Push.Request(database: forked, targets: [road.target]))
    let version = try #require(outcome.pushed.first).version
    let list = try await ListVersions(other).run(at: road.target)
    #expect(list.versions.map(\.fork) == [nil, 7])
    #expect(try await ListVersions(other).show(.id(prefix: version.id), at: road.target).summary.fork == 7)
  }

  @Test func `a status of all that this host pushed names the others`() async throws {
    let shelf = try await Shelf()
    _ = try await shelf.week(1, host: "web-2")
    _ = try await shelf.week(1, host: "web-1")
    let nothing = try await shelf.status()
    #expect(nothing.databases.isEmpty && nothing.host == "host" && nothing.otherHosts == ["web-1", "web-2"])
    let named = [DatabaseSource(name: "app", path: "/nowhere"), DatabaseSource(name: "mail", path: "/nowhere")]
    #expect(try await shelf.status(named).databases.map(\.otherHosts) == [["web-1", "web-2"], []])
    _ = try await shelf.week(1)
    #expect(try await shelf.status().otherHosts == ["web-1", "web-2"])
    let asked = try await shelf.status([DatabaseSource(name: "app", path: "/nowhere")])
    #expect(asked.otherHosts == nil && asked.databases.map(\.otherHosts) == [nil])
  }
}
