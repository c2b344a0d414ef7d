import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// A manifest that the target lost or spoilt keeps rules and prunes from its chain until a person gives it up.
@Suite struct ForgetLostTests {
  private func prune(_ world: World, _ shelf: Shelf) async throws -> PruneRepository.Outcome {
    var request = PruneRepository.Request()
    (request.minAge, request.runs) = (0, .one)
    return try await PruneRepository(world).run(request, at: shelf.road.target)
  }

  private func rules(_ world: World, _ shelf: Shelf) async throws -> (ForgetVersions, ForgetVersions.Plan) {
    let forget = ForgetVersions(world)
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    return (forget, try await forget.plan(request, at: shelf.road.target))
  }

  @Test func `where a name is not there nothing is given up`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    shelf.road.store.content[versions[1].name.objectName] = nil
    let before = shelf.road.store.content
    var wish = ForgetLost.Request()
    wish.named = ["app", "nobody"]
    let request = wish
    let error = await #expect(throws: OperationError.self) {
      try await ForgetLost(shelf.world).run(request, at: shelf.road.target)
    }
    #expect(error?.kind == .noSuchVersion && error?.message.contains("'nobody'") == true)
    #expect(shelf.road.store.content == before)
  }

  /// Whoever asks for such an object by the name that it should have finds nothing there.
  @Test func `an object with zeros in front of its length is no manifest, and stops nothing`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    let planted = Layout.known(
      "\(Layout.versions(of: shelf.chain()))000000000005-9999-04096-\(Digest.sha256(of: [1]).hex)")
    shelf.road.store.content[planted] = [UInt8](repeating: 1, count: 4096)
    let checked = try await CheckRepository(shelf.world).run(at: shelf.road.target, databases: [], .all)
    #expect(checked.isSound && checked.findings.isEmpty && checked.unknown == 1)
    let (forget, plan) = try await rules(shelf.world, shelf)
    #expect(plan.refusals.isEmpty && plan.chains.count == 1)
    for chain in plan.chains { try await forget.carryOut(chain, of: plan) }
    #expect(try await prune(shelf.world, shelf).problems.isEmpty)
    let list = try await ListVersions(shelf.world).run(at: shelf.road.target)
    #expect(list.versions.map(\.id) == [versions[3].id.hex] && list.problems.isEmpty)
    #expect(shelf.road.store.content[planted] != nil)
  }

  @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
  func `what is lost is given up, and everything goes on`(isSpoilt: Bool, isKnown: Bool) async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    _ = try await shelf.listed()
    let elsewhere = try Scratch()
    var world = shelf.world
    if !isKnown { world.stateFolder = elsewhere.file("state") }
    let name = versions[1].name.objectName
    if isSpoilt { shelf.road.store.content[name]?[300] ^= 1 } else { shelf.road.store.content[name] = nil }
    let before = shelf.road.store.content
    if !isKnown {
      let repaired = try await RepairRepository(world).run(.init(databases: []), at: shelf.road.target)
      #expect(repaired.elsewhere.map(\.sequence) == [2] && shelf.road.store.content == before)
      #expect(try await rules(world, shelf).1.refusals.count == 1)
    }
    if !isKnown || !isSpoilt { #expect(try await prune(world, shelf).problems.count == 1) }
    #expect(shelf.road.store.content == before)

    var request = ForgetLost.Request()
    request.dryRun = true
    let told = try await ForgetLost(world).run(request, at: shelf.road.target)
    #expect(told.problems.isEmpty && told.chains.map(\.lost) == [[2...2]] && shelf.road.store.content == before)
    request.dryRun = false
    request.named = ["app"]
    #expect(try await ForgetLost(world).run(request, at: shelf.road.target).chains.map(\.lost) == [[2...2]])
    #expect(shelf.road.store.content.count == before.count + 1)
    #expect(try await ForgetLost(world).run(request, at: shelf.road.target).chains.isEmpty)

    // What is spoilt is named until a prune has deleted it.
    func check() async throws -> [String] {
      try await CheckRepository(world).run(at: shelf.road.target, databases: [], .all).findings.map(\.object)
    }
    #expect(try await check() == (isSpoilt ? [name.text] : []))
    let (forget, plan) = try await rules(world, shelf)
    #expect(plan.refusals.isEmpty)
    for chain in plan.chains { try await forget.carryOut(chain, of: plan) }
    let pruned = try await prune(world, shelf)
    #expect(pruned.problems.isEmpty, "\(pruned.problems)")
    #expect(try await check().isEmpty)
    let left = Set(shelf.road.store.content.keys.filter { $0.text.hasPrefix("versions/") })
    #expect(left == [versions[3].name.objectName])
    #expect(shelf.road.store.content.keys.count { $0.text.hasPrefix("packs/") } == 1)
    let path = shelf.road.scratch.file("again")
    _ = try await Pull(world).run(.id(prefix: versions[3].id.hex), from: shelf.road.target, to: .file(path))
    var random = SeededRandom(4)
    #expect(try fileBytes(path) == random.bytes(80_000))
  }

  @Test func `a version that was taken back and then lost is missing, and can be given up`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(5)
    try await shelf.carryOut(shelf.plan(forgetting: versions[1], versions[2]))
    _ = try await shelf.unforget(versions[2])
    #expect(try await shelf.listed() == [1, 3, 4, 5])
    let check = CheckRepository(shelf.world)
    #expect(try await check.run(at: shelf.road.target, databases: [], .all).isSound)
    shelf.road.store.content[versions[2].name.objectName] = nil
    let listed = try await ListVersions(shelf.world).run(at: shelf.road.target)
    #expect(listed.versions.map(\.sequence) == [1, 4, 5])
    #expect(listed.problems.map(\.message).contains { $0.contains(versions[2].id.hex.prefix(12)) })
    let found = try await check.run(at: shelf.road.target, databases: [], .all)
    #expect(!found.isSound && found.harmed.map(\.sequence) == [3] && found.harmed[0].id == versions[2].id.hex)
    // This machine has read its manifest once: all of it is saved.
    let repaired = try await RepairRepository(shelf.world).run(.init(databases: []), at: shelf.road.target)
    #expect(repaired.saved.map(\.sequence) == [3])
    #expect(try await shelf.listed() == [1, 3, 4, 5])
  }

  @Test func `a version that was taken back and then spoilt is given up, once`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(5)
    try await shelf.carryOut(shelf.plan(forgetting: versions[2]))
    _ = try await shelf.unforget(versions[2])
    shelf.road.store.content[versions[2].name.objectName]?[300] ^= 1
    let elsewhere = try Scratch()
    let world = shelf.road.withoutState(elsewhere)
    let given = try await ForgetLost(world).run(ForgetLost.Request(), at: shelf.road.target)
    #expect(given.problems.isEmpty && given.chains.map(\.lost) == [[3...3]])
    #expect(try await ForgetLost(world).run(ForgetLost.Request(), at: shelf.road.target).chains.isEmpty)
    let check = try await CheckRepository(world).run(at: shelf.road.target, databases: [], .all)
    #expect(check.findings.allSatisfy { !$0.object.hasPrefix("tomb/") } && check.harmed.isEmpty)
    #expect(try await prune(world, shelf).problems.isEmpty)
  }

  /// What this machine has kept of it restores nothing for others.
  @Test func `a version whose manifest is spoilt is stored anew when it is taken back`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(5)
    // Whoever has taken it back once keeps it.
    try await shelf.carryOut(shelf.plan(forgetting: versions[2]))
    _ = try await shelf.unforget(versions[2])
    try await shelf.carryOut(shelf.plan(forgetting: versions[2]))
    shelf.road.store.content[versions[2].name.objectName]?[300] ^= 1
    let taken = try await shelf.unforget(versions[2])
    #expect(taken.wasForgotten)
    let elsewhere = try Scratch()
    let world = shelf.road.withoutState(elsewhere)
    let listed = try await ListVersions(world).run(at: shelf.road.target)
    #expect(listed.versions.map(\.sequence) == [1, 2, 3, 4, 5])
    let path = shelf.road.scratch.file("again")
    _ = try await Pull(world).run(.id(prefix: versions[2].id.hex), from: shelf.road.target, to: .file(path))
    var random = SeededRandom(3)
    #expect(try fileBytes(path) == random.bytes(80_000))
  }

  /// Nothing that is left says what stood before it.
  @Test(arguments: [true, false]) func `a version from the middle of what was forgotten can be given up`(
    isSpoilt: Bool
  ) async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(7)
    try await shelf.carryOut(shelf.plan(forgetting: versions[1], versions[2], versions[3], versions[4], versions[5]))
    _ = try await shelf.unforget(versions[3])
    #expect(try await prune(shelf.world, shelf).problems.isEmpty)
    #expect(try await shelf.listed() == [1, 4, 7])
    let name = versions[3].name.objectName
    if isSpoilt { shelf.road.store.content[name]?[300] ^= 1 } else { shelf.road.store.content[name] = nil }
    let elsewhere = try Scratch()
    let world = shelf.road.withoutState(elsewhere)
    let given = try await ForgetLost(world).run(ForgetLost.Request(), at: shelf.road.target)
    #expect(given.problems.isEmpty && given.chains.first?.lost.contains { $0.contains(4) } == true)
    #expect(try await ForgetLost(world).run(ForgetLost.Request(), at: shelf.road.target).chains.isEmpty)
    let pruned = try await prune(world, shelf)
    #expect(pruned.problems.isEmpty, "\(pruned.problems)")
    #expect(try await ListVersions(world).run(at: shelf.road.target).problems.isEmpty)
    #expect(try await CheckRepository(world).run(at: shelf.road.target, databases: [], .all).isSound)
  }

  /// Four versions, of which the target has lost the second; another machine, which has its own state, may bring it back.
  private struct Loss {
    let shelf: Shelf
    let versions: [VersionFacts]
    let manifest: [UInt8]
    let world: World
    private let elsewhere: Scratch

    var name: ObjectName { versions[1].name.objectName }

    init() async throws {
      (shelf, elsewhere) = (try await Shelf(), try Scratch())
      versions = try await shelf.week(4)
      let name = versions[1].name.objectName
      manifest = try #require(shelf.road.store.content[name])
      shelf.road.store.content[name] = nil
      var world = shelf.world
      world.stateFolder = elsewhere.file("state")
      self.world = world
    }

    /// A machine that dies when its tombstone is stored, and a repair that ends right before. The line is so slow that the
    /// tombstone comes later.
    /// - Returns: the tombstone, which is not there yet.
    func giveUpAndDie(saving manifest: [UInt8]) async throws -> (name: ObjectName, bytes: [UInt8]) {
      let late = Locked<(name: ObjectName, bytes: [UInt8])?>(nil)
      var target = shelf.road.target
      target.store = HookedStore(
        shelf.road.store,
        afterPut: { [store = shelf.road.store, name] object async throws(StoreError) in
          guard object.text.hasPrefix("tomb/") else { return }
          store.content[name] = manifest
          late.withLock { $0 = store.content.removeValue(forKey: object).map { (object, $0) } }
          throw StoreError(.unavailable, "the line is cut")
        })
      await #expect(throws: OperationError.self) { try await ForgetLost(world).run(ForgetLost.Request(), at: target) }
      return try #require(late.withLock { $0 })
    }
  }

  /// A repair on another machine ends between the last look and the tombstone.
  @Test func `what a repair saves meanwhile is taken back`() async throws {
    let loss = try await Loss()
    let (shelf, world, name, manifest) = (loss.shelf, loss.world, loss.name, loss.manifest)
    var target = shelf.road.target
    target.store = HookedStore(
      shelf.road.store,
      beforePut: { [store = shelf.road.store] object async throws(StoreError) in
        if object.text.hasPrefix("tomb/") { store.content[name] = manifest }
      })
    let outcome = try await ForgetLost(world).run(ForgetLost.Request(), at: target)
    #expect(outcome.problems.isEmpty)
    #expect(shelf.road.notices.said.withLock { $0 }.contains { $0.contains("was taken back") })
    #expect(try await shelf.listed() == [1, 2, 3, 4])
  }

  /// The same, and this machine dies before it has looked: `forget --lost` does it the next time, and a prune before it
  /// deletes. A tombstone that is on its way is waited for.
  @Test(arguments: [true, false])
  func `who died before he saw it takes it back later`(byPrune: Bool) async throws {
    let loss = try await Loss()
    let (shelf, world) = (loss.shelf, loss.world)
    func again() async throws {
      if byPrune {
        _ = try await prune(world, shelf)
      } else {
        #expect(try await ForgetLost(world).run(ForgetLost.Request(), at: shelf.road.target).chains.isEmpty)
      }
    }
    let tombstone = try await loss.giveUpAndDie(saving: loss.manifest)
    #expect(try await shelf.listed() == [1, 2, 3, 4])
    try await again()
    shelf.road.store.content[tombstone.name] = tombstone.bytes
    #expect(try await shelf.listed() == [1, 3, 4])
    try await again()
    #expect(shelf.road.notices.said.withLock { $0 }.contains { $0.contains("was taken back") })
    #expect(try await shelf.listed() == [1, 2, 3, 4])
    // Once: from then on who forgets it means it.
    try await shelf.carryOut(shelf.plan(forgetting: loss.versions[1]))
    try await again()
    #expect(try await shelf.listed() == [1, 3, 4])
  }

  /// A manifest that turns up, of which the packs are gone, is no version that a repair has saved.
  @Test func `what turns up without its packs is told once, and keeps nobody from pruning`() async throws {
    let loss = try await Loss()
    let (shelf, world) = (loss.shelf, loss.world)
    let tombstone = try await loss.giveUpAndDie(saving: loss.manifest)
    shelf.road.store.content[tombstone.name] = tombstone.bytes
    for pack in try await shelf.ownPacks(of: loss.versions[1], among: loss.versions) {
      shelf.road.store.content[pack] = nil
    }
    #expect(try await prune(world, shelf).problems.map(\.code) == ["incomplete"])
    #expect(shelf.road.store.content[loss.name] != nil)
    #expect(try await prune(world, shelf).problems.isEmpty)
    #expect(shelf.road.store.content[loss.name] == nil)
    #expect(try await shelf.listed() == [1, 3, 4])
  }

  /// Whoever has the key can write one.
  @Test func `a tombstone to the end of all places, and a word of the end of all times, end nobody`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(7)
    let range = Tombstone.Range(first: 2, last: .max, previousOfFirst: versions[0].id, coreHashOfLast: .zero)
    try await shelf.repository.putTombstone(over: [range], of: shelf.chain(), now: 1)
    _ = try await shelf.unforget(versions[3])
    shelf.road.store.content[versions[3].name.objectName] = nil
    let elsewhere = try Scratch()
    _ = try await ForgetLost(shelf.road.withoutState(elsewhere)).run(ForgetLost.Request(), at: shelf.road.target)

    let first = versions[0]
    try await shelf.repository.annotate(first, [.init(.addTag, "last")], now: .max)
    let said = try await AnnotateVersions(shelf.world).run(
      .tags(add: ["later"], remove: []), of: .id(prefix: first.id.hex), at: shelf.road.target)
    #expect(Set(said.version.tags) == ["last", "later"])
  }

  @Test func `what is passed over is told`() async throws {
    let shelf = try await Shelf()
    let theirs = try await shelf.week(3, host: "web-2")
    let mine = try await shelf.week(3)
    shelf.road.store.content[theirs[1].name.objectName] = nil
    let passed = try await ForgetLost(shelf.world).run(ForgetLost.Request(), at: shelf.road.target)
    #expect(passed.chains.isEmpty && passed.problems.map(\.code) == ["hole"])
    #expect(passed.problems[0].message.contains("web-2") && passed.problems[0].hint?.contains("--all-hosts") == true)
    var named = ForgetLost.Request()
    (named.host, named.dryRun) = ("web-2", true)
    let dry = try await ForgetLost(shelf.world).run(named, at: shelf.road.target)
    #expect(dry.problems.isEmpty && dry.chains.map(\.host) == ["web-2"] && dry.chains.map(\.lost) == [[2...2]])
    named.host = "web-3"
    let unknown = named
    let strange = await #expect(throws: OperationError.self) {
      try await ForgetLost(shelf.world).run(unknown, at: shelf.road.target)
    }
    #expect(strange?.message.hasSuffix("host web-3 has no versions there; host, web-2 have some") == true)
    shelf.road.store.content[mine[2].name.objectName]?[300] ^= 1
    let elsewhere = try Scratch()
    var request = ForgetLost.Request()
    request.allHosts = true
    let given = try await ForgetLost(shelf.road.withoutState(elsewhere)).run(request, at: shelf.road.target)
    #expect(given.chains.map(\.lost) == [[2...2]] && given.chains[0].host == "web-2")
    #expect(given.problems.map(\.code) == ["damaged"] && given.problems[0].message.contains("manifest 3"))
  }

  /// What this machine keeps of the newest one is no backup; and what nothing can be read of is not nothing.
  @Test func `what is spoilt and cannot be given up is told`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    _ = try await shelf.listed()
    shelf.road.store.content[versions[1].name.objectName]?[300] ^= 1
    let kept = try await ForgetLost(shelf.world).run(ForgetLost.Request(), at: shelf.road.target)
    #expect(kept.chains.isEmpty && kept.problems.map(\.code) == ["damaged"])
    #expect(kept.problems.first?.message.contains("this machine keeps it") == true)

    shelf.road.store.content[versions[0].name.objectName]?[300] ^= 1
    let elsewhere = try Scratch()
    let world = shelf.road.withoutState(elsewhere)
    for names in [[], ["app"]] {
      var request = ForgetLost.Request()
      request.named = names
      let nameless = try await ForgetLost(world).run(request, at: shelf.road.target)
      #expect(nameless.chains.isEmpty && nameless.problems.map(\.code) == ["damaged"])
    }
    let rules = RetentionRules(last: 1)
    for choice: ForgetVersions.Request.Choice in [.rulesForAll(rules), .rules(["app": rules])] {
      let plan = try await ForgetVersions(world).plan(.init(choice), at: shelf.road.target)
      #expect(plan.chains.isEmpty && plan.refusals.map(\.code) == ["damaged"])
    }
    let others = try await ForgetVersions(world).plan(.init(.rules(["other": rules])), at: shelf.road.target)
    #expect(others.chains.isEmpty && others.refusals.isEmpty)
    var prune = PruneRepository.Request()
    prune.databases = ["app"]
    #expect(try await PruneRepository(world).run(prune, at: shelf.road.target).problems.count == 1)
    prune.databases = ["other"]
    let error = await #expect(throws: OperationError.self) {
      try await PruneRepository(world).run(prune, at: shelf.road.target)
    }
    #expect(error?.code == "noSuchDatabase")
    let status = try await StatusOfDatabases(world).run(nil, at: shelf.road.target)
    #expect(status.databases.isEmpty && !status.problems.isEmpty)
    #expect(status.problems.first?.kind == .verificationFailed)
  }

  /// Whoever may write to the target put something at the far end of the chain: the push behind it is no end of a walk.
  @Test func `a gap of a million million places is passed in one step`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    let planted = VersionName(
      chain: shelf.chain(), sequence: 999_999_999_000, revision: 0, length: 4096, digest: .sha256(of: [1]))
    shelf.road.store.content[planted.objectName] = [UInt8](repeating: 1, count: 4096)
    let later = try await shelf.push(9, at: Shelf.monday + 9 * Shelf.day)
    #expect(later.sequence == planted.sequence + 1)
    let lookup = VersionSelector.notLater(database: "app", time: try #require(versions[1].version).time)
    let place = Pull.Destination.file(shelf.road.scratch.file("pulled"))
    let error = await #expect(throws: OperationError.self) {
      try await Pull(shelf.world).run(lookup, from: shelf.road.target, to: place)
    }
    #expect(error?.code == "hole")
    #expect(try await ForgetLost(shelf.world).run(ForgetLost.Request(), at: shelf.road.target).chains.count == 1)
    _ = try await Pull(shelf.world).run(lookup, from: shelf.road.target, to: place)
  }

  @Test func `nothing is given up that a listing only left out, nor the newest version, nor twice`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    _ = try await shelf.listed()
    var target = shelf.road.target
    target.store = ShortStore(shelf.road.store, hiding: versions[1].name.objectName)
    let before = shelf.road.store.content
    let refused = try await ForgetLost(shelf.world).run(ForgetLost.Request(), at: target)
    #expect(refused.chains.isEmpty && refused.problems.map(\.code) == ["conflict"])
    #expect(shelf.road.store.content == before)

    shelf.road.store.content[versions[3].name.objectName] = nil
    shelf.road.store.content[versions[0].name.objectName] = nil
    let scratch = try Scratch()
    var world = shelf.world
    world.stateFolder = scratch.file("state")
    let outcome = try await ForgetLost(world).run(ForgetLost.Request(), at: shelf.road.target)
    #expect(outcome.chains.map(\.lost) == [[1...1]] && outcome.problems.isEmpty)
    var request = ForgetLost.Request()
    request.named = ["nobody"]
    let error = await #expect(throws: OperationError.self) {
      try await ForgetLost(world).run(request, at: shelf.road.target)
    }
    #expect(error?.kind == .noSuchVersion)
  }
}
