import Repositories
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Sealing

/// A pin keeps a version, whatever goes wrong around it.
@Suite struct PinnedTests {
  @Test func `a note that cannot be read may be a pin: nothing of its chain is forgotten`() async throws {
    var shelf = try await Shelf()
    let versions = try await shelf.week(3)
    _ = try await shelf.week(2, database: "other")
    _ = try await shelf.say(.pin, of: versions[0])
    let note = try #require(shelf.road.store.content.keys.first { $0.text.hasPrefix("notes/") })
    shelf.road.store.content[note]?[100] ^= 1
    // What was kept of it here would still be true.
    try removeFile(shelf.world.stateFolder)
    shelf.useOtherState()
    for plan in [try await shelf.plan(RetentionRules(last: 1)), try await shelf.plan(forgetting: versions[0])] {
      #expect(plan.refusals.map(\.kind) == [.verificationFailed])
      #expect(plan.refusals.first?.message.contains(note.text) == true)
      #expect(plan.chains.map(\.database).allSatisfy { $0 == "other" })
    }
    // One that never was stored whole says nothing.
    shelf.road.store.content[note]?.removeLast()
    let plan = try await shelf.plan(RetentionRules(last: 1), named: ["app"])
    #expect(plan.refusals.isEmpty && plan.chains.first?.plan.going.map(\.version.sequence) == [1, 2])
  }

  @Test func `a note that cannot be read is given up as its hint says, and what it said holds on every machine`()
    async throws
  {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    #expect(try await shelf.say(.pin, of: versions[0]).changed)
    let note = try #require(shelf.road.store.content.keys.first { $0.text.hasPrefix("notes/") })
    shelf.road.store.content[note]?[100] ^= 1
    let scratch = try Scratch()
    var other = shelf.road.withoutState(scratch)
    other.now = shelf.world.now
    let rules = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    let refused = try await ForgetVersions(other).plan(rules, at: shelf.road.target).refusals
    #expect(refused.map(\.code) == ["damaged"])
    for words in ["say again what it said", "how to accept that it is gone"] {
      #expect(refused.first?.hint?.contains(words) == true, "\(refused.first?.hint ?? "")")
    }
    // Who has read it shows it still, and stores nothing.
    #expect(try await !shelf.say(.pin, of: versions[0]).changed)
    let pin = VersionSelector.id(prefix: versions[0].id.hex)
    #expect(try await AnnotateVersions(other).run(.pin, of: pin, at: shelf.road.target).changed)
    shelf.road.store.content[note] = nil
    let plan = try await ForgetVersions(other).plan(rules, at: shelf.road.target)
    #expect(plan.refusals.isEmpty && plan.chains.first?.plan.going.map(\.version.sequence) == [2])
    let missed = try await shelf.plan(RetentionRules(last: 1)).refusals
    #expect(missed.map(\.code) == ["hole"])
    let command = (missed.first?.hint ?? "").split(separator: ": rm ").last ?? ""
    for file in command.split(separator: "'") where file.hasPrefix("/") { try removeFile(String(file)) }
    let accepted = try await shelf.plan(RetentionRules(last: 1))
    #expect(accepted.refusals.isEmpty && accepted.chains.first?.plan.going.map(\.version.sequence) == [2])
  }

  @Test func `a pin that crossed a tombstone keeps its version, also when forget dies between the two`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    let plan = try await shelf.plan(RetentionRules(last: 1))
    #expect(try await shelf.say(.pin, of: versions[0]).changed)
    let store = DeafStore(shelf.road.store)
    let repository = try await Repository.open(at: store, with: .keyFile([UInt8](repeating: 3, count: 64)))
    let deaf = ForgetVersions.Plan(
      target: plan.target, chains: plan.chains, refusals: [], repository: repository, state: plan.state)
    let done = try await ForgetVersions(shelf.world).carryOut(deaf.chains[0], of: deaf)
    #expect(done.forgot == 2 && done.problem?.message.contains("they are forgotten") == true)
    #expect(try await shelf.listed() == [3])
    var policy = PruneRepository.Request()
    (policy.minAge, policy.runs) = (0, .one)
    _ = try await PruneRepository(shelf.world).run(policy, at: shelf.road.target)
    #expect(shelf.road.store.content[versions[0].name.objectName] != nil)
    #expect(shelf.road.store.content[versions[1].name.objectName] == nil)
    let path = shelf.road.scratch.file("first")
    _ = try await Pull(shelf.world).run(.id(prefix: versions[0].id.hex), from: shelf.road.target, to: .file(path))
    var random = SeededRandom(1)
    #expect(try fileBytes(path) == random.bytes(80_000))
    #expect(try await shelf.unforget(versions[0]).wasForgotten)
    #expect(try await shelf.listed() == [1, 3])
  }

  /// What a tombstone covers may be spoilt, or left out of a listing, without harm; not so what is pinned all the same.
  @Test func `a pin that crossed a tombstone lets no prune go on where its version cannot be read, or is not listed`()
    async throws
  {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    #expect(try await shelf.listed() == [1, 2, 3])
    _ = try await shelf.repository.forget(
      [versions[0]], now: 1, state: StateFolder(shelf.world.stateFolder, repository: shelf.repository.id))
    try await shelf.annotate(versions[0], .init(.pin))
    let name = versions[0].name.objectName
    let packs = try await shelf.ownPacks(of: versions[0], among: versions)
    try #require(!packs.isEmpty)
    var policy = PruneRepository.Request()
    (policy.minAge, policy.runs) = (0, .one)
    let manifest = try #require(shelf.road.store.content[name])

    shelf.road.store.content[name]?[300] ^= 1
    let scratch = try Scratch()
    let elsewhere = shelf.road.withoutState(scratch)
    #expect(try await PruneRepository(elsewhere).run(policy, at: shelf.road.target).problems.count == 1)
    #expect(shelf.road.store.content[name] != nil)
    shelf.road.store.content[name] = manifest

    var target = shelf.road.target
    target.store = ShortStore(shelf.road.store, hiding: name)
    #expect(try await PruneRepository(shelf.world).run(policy, at: target).problems.count == 1)
    #expect(packs.allSatisfy { shelf.road.store.content[$0] != nil })
  }
}

/// Does not list annotations.
private final class DeafStore: ObjectStore {
  private let base: MemoryStore
  init(_ base: MemoryStore) { self.base = base }

  var traits: StoreTraits { base.traits }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    if prefix.hasPrefix("notes/") { throw StoreError(.unavailable, "the connection was cut") }
    return try await base.list(prefix: prefix)
  }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
