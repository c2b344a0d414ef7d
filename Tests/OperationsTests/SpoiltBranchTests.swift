import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// A cloned machine, and the manifest of our version at the place that both took is spoilt: nobody else knows of it.
@Suite struct SpoiltBranchTests {
  private let shelf: Shelf
  private let shared: VersionFacts
  private let mine: VersionFacts
  private let theirs: VersionFacts
  /// Of a third machine, which knows nothing.
  private let scratch: Scratch

  init() async throws { try await self.init(packsPerPartial: 64) }

  /// - Parameters:
  ///   - packsPerPartial: of our push.
  ///   - size: of our database.
  private init(packsPerPartial: Int, size: Int = 80_000) async throws {
    scratch = try Scratch()
    shelf = try await Shelf()
    shared = try #require(try await shelf.week(1).first)
    let before = shelf.road.store.content
    mine = try await shelf.push(40, at: Shelf.monday + Shelf.day, packsPerPartial: packsPerPartial, size: size)
    let ours = shelf.road.store.content
    shelf.road.store.content = before
    var clone = shelf
    clone.useOtherState()
    theirs = try await clone.push(50, at: Shelf.monday + Shelf.day)
    shelf.road.store.content.merge(ours) { first, _ in first }
  }

  private func spoil() { shelf.road.store.content[mine.name.objectName]?[300] ^= 1 }

  /// As a repair on the clone does.
  private func writeTheirsAnew() async throws {
    let manifest = try await shelf.repository.readManifest(theirs.name)
    _ = try await shelf.repository.republish(manifest, revision: mine.revision + 1, state: nil)
  }

  private var third: World {
    var world = shelf.road.withoutState(scratch)
    world.now = shelf.world.now
    return world
  }

  private func prune(on machine: World? = nil) async throws -> PruneRepository.Outcome {
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    return try await PruneRepository(machine ?? third).run(request, at: shelf.road.target)
  }

  private func check() async throws -> CheckRepository.Outcome {
    try await CheckRepository(third).run(at: shelf.road.target, databases: [], .all)
  }

  private func expectRefusal() async throws {
    let before = shelf.road.store.content
    let refused = try await prune()
    #expect(refused.chains.isEmpty && refused.problems.map(\.kind) == [.verificationFailed])
    #expect(refused.problems.first?.message.contains("the manifest of version 2 cannot be read") == true)
    #expect(shelf.road.store.content == before)
    let checked = try await check()
    let finding = checked.findings.first { $0.object == mine.name.objectName.text }
    #expect(!checked.isSound && finding?.isDamage == true && finding?.hint?.contains("each machine") == true)
  }

  @Test func `a later revision of the other branch does not stand in for it`() async throws {
    #expect(mine.sequence == 2 && theirs.sequence == 2 && mine.revision == 0 && theirs.revision == 0)
    try await writeTheirsAnew()
    spoil()
    try await expectRefusal()
  }

  @Test func `no prune before takes what tells them apart`() async throws {
    try await writeTheirsAnew()
    #expect(try await prune().problems.isEmpty)
    #expect(shelf.road.store.content[theirs.name.objectName] != nil)
    spoil()
    try await expectRefusal()
  }

  @Test func `where nothing tells them apart its packs stay`() async throws {
    try await writeTheirsAnew()
    let packs = try await shelf.ownPacks(of: mine, among: [shared, theirs])
    #expect(!packs.isEmpty)
    // As a prune leaves it that sees their branch alone.
    shelf.road.store.content[theirs.name.objectName] = nil
    spoil()
    #expect(try await prune().problems.isEmpty)
    for pack in packs { #expect(shelf.road.store.content[pack] != nil) }
    #expect(shelf.road.notices.said.withLock { $0 }.contains { $0.contains("that nothing needs stay") })
    // As the notice says.
    #expect(try await check().isSound)
    let repaired = try await RepairRepository(shelf.world).run(.init(databases: []), at: shelf.road.target)
    #expect(repaired.saved.map(\.id) == [mine.id.hex] && repaired.isWhole)
    try await expectThreeWhole()
  }

  private func expectThreeWhole() async throws {
    let checked = try await check()
    #expect(Set(checked.whole.map(\.id)) == [shared.id.hex, mine.id.hex, theirs.id.hex] && checked.harmed.isEmpty)
    let path = shelf.road.scratch.file("out")
    let pulled = try await Pull(shelf.world).run(.id(prefix: mine.id.hex), from: shelf.road.target, to: .file(path))
    #expect(pulled.version.id == mine.id.hex)
  }

  /// It may be what is left of a push that never ended, or of a version that is wanted.
  @Test(arguments: [64, 1])
  func `a manifest that was cut keeps its packs until it is stored again`(packsPerPartial: Int) async throws {
    let branches = try await SpoiltBranchTests(packsPerPartial: packsPerPartial)
    try await branches.expectCutIsMended()
  }

  private func expectCutIsMended() async throws {
    let packs = try await shelf.ownPacks(of: mine, among: [shared, theirs])
    shelf.road.store.content[mine.name.objectName]?.removeLast()
    #expect(try await prune().problems.isEmpty)
    #expect(!packs.isEmpty)
    for pack in packs { #expect(shelf.road.store.content[pack] != nil) }
    #expect(shelf.road.notices.said.withLock { $0 }.contains { $0.contains("that nothing needs stay") })
    let finding = try await check().findings.first { $0.object == mine.name.objectName.text }
    #expect(finding?.hint?.contains("each machine") == true)
    let repaired = try await RepairRepository(shelf.world).run(.init(databases: []), at: shelf.road.target)
    #expect(repaired.saved.map(\.id) == [mine.id.hex] && repaired.isWhole)
    try await expectThreeWhole()
  }

  @Test func `nor do the packs of a newest version go whose manifest was cut`() async throws {
    let packs = try await shelf.ownPacks(of: mine, among: [shared, theirs])
    #expect(!packs.isEmpty)
    shelf.road.store.content[theirs.name.objectName] = nil
    shelf.road.store.content[mine.name.objectName]?.removeLast()
    #expect(try await prune().problems.isEmpty)
    for pack in packs { #expect(shelf.road.store.content[pack] != nil) }
  }

  /// The tombstone names their version; of ours nobody has said that it may go.
  @Test func `that theirs is forgotten does not give our packs away`() async throws {
    try await writeTheirsAnew()
    let packs = try await shelf.ownPacks(of: mine, among: [shared, theirs])
    try await forgetTheirs { spoil() }
    for _ in 1...2 {
      #expect(try await prune().problems.isEmpty)
      #expect(!packs.isEmpty && shelf.road.store.content[shared.name.objectName] == nil)
      for object in packs + [mine.name.objectName] { #expect(shelf.road.store.content[object] != nil) }
    }
    #expect(shelf.road.notices.said.withLock { $0 }.contains { $0.contains("that nothing needs stay") })
    let repaired = try await RepairRepository(shelf.world).run(.init(databases: []), at: shelf.road.target)
    #expect(repaired.saved.map(\.id) == [mine.id.hex] && repaired.isWhole)
  }

  /// A prune that saw their branch alone took the revision before theirs, and they went on.
  /// - Parameter harm: what comes over our manifest.
  private func forgetTheirs(_ harm: () -> Void) async throws {
    let ours = shelf.road.store.content[mine.name.objectName]
    shelf.road.store.content[mine.name.objectName] = nil
    shelf.road.store.content[theirs.name.objectName] = nil
    var clone = shelf
    clone.useOtherState()
    #expect(try await clone.push(60, at: Shelf.monday + 2 * Shelf.day).sequence == 3)
    shelf.road.store.content[mine.name.objectName] = ours
    harm()

    var request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    request.allHosts = true
    let plan = try await ForgetVersions(third).plan(request, at: shelf.road.target)
    let chain = try #require(plan.chains.first)
    #expect(chain.plan.going.map(\.version.sequence) == [1, 2])
    #expect(try await ForgetVersions(third).carryOut(chain, of: plan).problem == nil)
  }

  /// What a small push stores is in its manifest: no pack is left over that would tell of it.
  @Test(arguments: [false, true])
  func `nor our manifest, where it holds all that is ours`(isCut: Bool) async throws {
    let small = try await SpoiltBranchTests(packsPerPartial: 64, size: 9000)
    try await small.expectManifestStays(isCut: isCut)
  }

  private func expectManifestStays(isCut: Bool) async throws {
    try await writeTheirsAnew()
    #expect(try await shelf.ownPacks(of: mine, among: []).isEmpty)
    try await forgetTheirs {
      guard isCut else { return spoil() }
      shelf.road.store.content[mine.name.objectName]?.removeLast()
    }
    for _ in 1...2 {
      #expect(try await prune().problems.isEmpty)
      #expect(shelf.road.store.content[shared.name.objectName] == nil)
      #expect(shelf.road.store.content[mine.name.objectName] != nil)
    }
    #expect(shelf.road.notices.said.withLock { $0 }.contains { $0.contains("a manifest stays that cannot be read") })
    let repaired = try await RepairRepository(shelf.world).run(.init(databases: []), at: shelf.road.target)
    #expect(repaired.saved.map(\.id) == [mine.id.hex] && repaired.isWhole)
  }

  /// Nothing else tells that it is not of another one.
  @Test(arguments: [false, true])
  func `the spoilt revision of a forgotten version goes where this machine has kept it`(isKept: Bool) async throws {
    let manifest = try await shelf.repository.readManifest(shared.name)
    let anew = try await shelf.repository.republish(manifest, revision: 1, state: nil)
    #expect(try await shelf.carryOut(shelf.plan(forgetting: shared)) == [1])
    let own = try StateFolder(shelf.world.stateFolder, repository: shelf.repository.id)
    own.keep(try #require(shelf.road.store.content[shared.name.objectName]), as: shared.name.digest.hex)
    shelf.road.store.content[shared.name.objectName]?[300] ^= 1
    #expect(try await prune(on: isKept ? shelf.world : third).problems.isEmpty)
    for name in [shared.name, anew.name] { #expect((shelf.road.store.content[name.objectName] == nil) == isKept) }
  }

  @Test(arguments: [false, true])
  func `check says that prune deletes a spoilt manifest only where it does`(isWrittenAnew: Bool) async throws {
    if isWrittenAnew {
      let manifest = try await shelf.repository.readManifest(shared.name)
      _ = try await shelf.repository.republish(manifest, revision: 1, state: nil)
    }
    #expect(try await shelf.carryOut(shelf.plan(forgetting: shared)) == [1])
    shelf.road.store.content[shared.name.objectName]?[300] ^= 1
    let finding = try await check().findings.first { $0.object == shared.name.objectName.text }
    let hint = try #require(finding?.hint)
    #expect(hint.contains("`sealift prune` deletes it") == !isWrittenAnew)
    #expect(hint.contains("remove it by hand: \(shared.name.objectName)") == isWrittenAnew)
    #expect(try await prune().problems.isEmpty)
    #expect((shelf.road.store.content[shared.name.objectName] == nil) == !isWrittenAnew)
  }

  /// One that stands there in a later revision, or is to go, is spare on this machine, too.
  @Test(arguments: [false, true])
  func `a repair stores nothing again that is spare indeed`(isForgotten: Bool) async throws {
    let manifest = try await shelf.repository.readManifest(shared.name)
    _ = try await shelf.repository.republish(manifest, revision: 1, state: nil)
    if isForgotten { #expect(try await shelf.carryOut(shelf.plan(forgetting: shared)) == [1]) }
    let own = try StateFolder(shelf.world.stateFolder, repository: shelf.repository.id)
    own.keep(try #require(shelf.road.store.content[shared.name.objectName]), as: shared.name.digest.hex)
    shelf.road.store.content[shared.name.objectName]?[300] ^= 1
    let before = shelf.road.store.content
    let repaired = try await RepairRepository(shelf.world).run(.init(databases: []), at: shelf.road.target)
    #expect(repaired.saved.isEmpty && shelf.road.store.content == before)
  }

  /// They list packs of the very version that cannot be read.
  @Test func `nor does a partial manifest of our own push give its packs away`() async throws {
    let long = try await SpoiltBranchTests(packsPerPartial: 1)
    try await long.expectPacksStayBesidePartials()
  }

  private func expectPacksStayBesidePartials() async throws {
    #expect(mine.revision > 0 && theirs.revision == 0)
    let partials = try await shelf.repository.versionListing(of: mine.chain).versions.filter {
      $0.sequence == 2 && $0 != mine.name && $0 != theirs.name
    }
    try await writeTheirsAnew()
    let packs = try await shelf.ownPacks(of: mine, among: [shared, theirs])
    #expect(!packs.isEmpty && !partials.isEmpty)
    spoil()
    #expect(try await prune().problems.isEmpty)
    for object in packs + partials.map(\.objectName) { #expect(shelf.road.store.content[object] != nil) }
  }

  @Test(arguments: [false, true])
  func `a repair on the machine that keeps it stores it again`(dryRun: Bool) async throws {
    let before = shelf.road.store.content
    spoil()
    let spoilt = shelf.road.store.content
    var request = RepairRepository.Request(databases: [])
    request.dryRun = dryRun
    let repaired = try await RepairRepository(shelf.world).run(request, at: shelf.road.target)
    #expect(repaired.saved.map(\.id) == [mine.id.hex] && repaired.unmended.isEmpty)
    // That the target showed another version than this machine has seen is explained.
    #expect(repaired.isWhole && repaired.failures.isEmpty)
    #expect(shelf.road.store.content == (dryRun ? spoilt : before))
    guard !dryRun else { return }
    try await expectThreeWhole()
  }

  @Test(arguments: ["a prune has named it", "a pack is gone"])
  func `it is not stored again where it would not be safe`(why: String) async throws {
    let packs = try await shelf.ownPacks(of: mine, among: [shared, theirs])
    spoil()
    if why == "a pack is gone" {
      for pack in packs { shelf.road.store.content[pack] = nil }
    } else {
      try await shelf.condemn([mine.name.digest])
    }
    let before = shelf.road.store.content
    let repaired = try await RepairRepository(shelf.world).run(.init(databases: []), at: shelf.road.target)
    #expect(repaired.saved.isEmpty && repaired.unmended.map(\.object) == [mine.name.objectName.text])
    #expect(shelf.road.store.content == before)
  }
}
