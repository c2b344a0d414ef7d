import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// A repair died after the manifest of its revision and before all packs of that were safe: whoever reads passes it over,
/// for the revision below it is whole.
@Suite struct DanglingRevisionTests {
  private let road: Road
  private let versions: [VersionSummary]

  init() async throws {
    road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    let older = try #require(try await road.push(database).pushed.first?.version)
    let before = Set(road.store.content.keys)
    try SQLite.run("update t set body = randomblob(900)", on: database.path)
    let newer = try #require(try await road.push(database).pushed.first?.version)
    versions = [older, newer]
    let whole = Set(road.store.content.keys)
    var request = RepairRepository.Request(databases: [database])
    request.packs = whole.subtracting(before).map(\.text).filter { $0.hasPrefix("packs/") }
    let repaired = try await RepairRepository(road.world).run(request, at: road.target)
    #expect(repaired.saved.map(\.id) == [newer.id])
    let new = Set(road.store.content.keys).subtracting(whole)
    #expect(new.contains { $0.text.hasPrefix("versions/") && $0.text.contains("/000000000002-") })
    for pack in new where pack.text.hasPrefix("packs/") { road.store.content[pack] = nil }
  }

  @Test func `forget counts the version`() async throws {
    let scratch = try Scratch()
    let world = road.withoutState(scratch)
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let plan = try await ForgetVersions(world).plan(request, at: road.target)
    #expect(plan.refusals.isEmpty)
    #expect(plan.chains.flatMap { $0.plan.going.map(\.version.id) } == [versions[0].id])
  }

  @Test func `a drill restores it, by its name and as the newest or any version`() async throws {
    var drill = Drill(road.world)
    drill.pick = { $0 - 1 }
    for choice: Drill.Choice in [.newest, .random, .versions([.id(prefix: versions[1].id)])] {
      var request = Drill.Request()
      request.choice = choice
      let drilled = try await drill.run(request, at: road.target).drilled
      #expect(drilled.map(\.version.id) == [versions[1].id] && drilled.map(\.hasPassed) == [true])
    }
  }

  @Test func `a copy is made of it, and is there then`() async throws {
    let store = MemoryStore(location: "memory:other")
    let other = TargetAccess(
      name: "other", store: store, unlock: { .keyFile([UInt8](repeating: 9, count: 64)) })
    _ = try await Initialize(road.world).run(at: other, ifMissing: false)
    let copy = CopyVersions(road.world)
    let outcome = try await copy.run(CopyVersions.Request(), from: road.target, to: other)
    #expect(outcome.failures.isEmpty && outcome.copied.map(\.version.sha256) == versions.map(\.sha256))
    // The other way round it is what is there.
    let back = try await copy.run(CopyVersions.Request(), from: other, to: road.target)
    #expect(back.failures.isEmpty && back.copied.map(\.wasThere) == [true, true])
  }

  @Test func `it is taken back from being forgotten`() async throws {
    let database = DatabaseSource(name: "app", path: road.scratch.file("app.db"))
    try SQLite.run("update t set body = randomblob(900)", on: database.path)
    _ = try await road.push(database)
    let forget = ForgetVersions(road.world)
    let plan = try await forget.plan(.init(.versions([.id(prefix: versions[1].id)])), at: road.target)
    #expect(try await forget.carryOut(try #require(plan.chains.first), of: plan).forgot == 1)
    #expect(try await UnforgetVersions(road.world).run(.id(prefix: versions[1].id), at: road.target).wasForgotten)
    let path = road.scratch.file("again.db")
    _ = try await Pull(road.world).run(.id(prefix: versions[1].id), from: road.target, to: .file(path))
  }

  /// Nothing is to be saved, and no prune goes on until somebody has looked.
  @Test func `a revision that cannot be read above one that is whole is named as not mended`() async throws {
    let above = try #require(
      road.store.content.keys.first { $0.text.hasPrefix("versions/") && $0.text.contains("/000000000002-0001-") })
    road.store.content[above]?[300] ^= 1
    let scratch = try Scratch()
    let repair = RepairRepository(road.withoutState(scratch))
    let repaired = try await repair.run(.init(databases: []), at: road.target)
    #expect(repaired.saved.isEmpty && repaired.lost.isEmpty && repaired.elsewhere.isEmpty)
    #expect(!repaired.isWhole && repaired.unmended.map(\.object) == [above.text])
    #expect(repaired.unmended.first?.hint?.contains("by hand") == true)
    road.store.content[above] = nil
    #expect(try await repair.run(.init(databases: []), at: road.target).isWhole)
  }

  @Test func `a check finds all versions whole`() async throws {
    let outcome = try await CheckRepository(road.world).run(at: road.target, databases: [], .all)
    #expect(outcome.isSound && outcome.harmed.isEmpty && outcome.whole.count == 2)
  }
}
