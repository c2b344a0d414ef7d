import Sealing
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// `forget`, `unforget`, `tag`, `note`, `pin` and `status`, against a repository in memory.
@Suite struct KeepingTests {
  private func refusal(_ work: () async throws -> some Any) async -> OperationError? {
    await #expect(throws: OperationError.self) { _ = try await work() }
  }

  @Test func `a plan changes nothing; carried out, what goes is not listed, and is there by its id`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(5)
    let content = shelf.road.store.content
    let plan = try await shelf.plan(RetentionRules(last: 2))
    #expect(shelf.road.store.content == content)
    #expect(plan.chains.map(\.database) == ["app"] && plan.chains.map(\.host) == ["host"])
    #expect(plan.chains[0].versions.map(\.id) == versions.map(\.id.hex))
    #expect(try await shelf.carryOut(plan) == [1, 2, 3])
    // One tombstone for a chain and a run, and nothing else.
    let new = Set(shelf.road.store.content.keys).subtracting(content.keys)
    #expect(new.count == 1 && new.allSatisfy { $0.text.hasPrefix("tomb/\(shelf.chain().hex)/") })
    #expect(try await shelf.listed() == [4, 5])

    let path = shelf.road.scratch.file("second")
    let pulled = try await Pull(shelf.world).run(
      .id(prefix: versions[1].id.hex), from: shelf.road.target, to: .file(path))
    #expect(pulled.version.sequence == 2)
    var random = SeededRandom(2)
    #expect(try fileBytes(path) == random.bytes(80_000))
    let latest = try await ListVersions(shelf.world).show(.latest(database: "app"), at: shelf.road.target)
    #expect(latest.summary.sequence == 5)
    let earlier = VersionSelector.notLater(database: "app", time: versions[2].version?.time ?? 0)
    #expect(await refusal { try await ListVersions(shelf.world).show(earlier, at: shelf.road.target) } != nil)

    // Forgotten twice is forgotten once.
    let again = try await shelf.plan(RetentionRules(last: 2))
    #expect(again.chains[0].plan.going.isEmpty && again.chains[0].forgottenBefore == 3)
    let before = shelf.road.store.content
    try await shelf.carryOut(again)
    #expect(shelf.road.store.content == before)
    try await shelf.push(9, at: Shelf.monday + 9 * Shelf.day)
    #expect(try await shelf.listed() == [4, 5, 6])
  }

  @Test func `what is taken back is listed, until it is forgotten again`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    try await shelf.carryOut(try await shelf.plan(RetentionRules(last: 1)))
    let outcome = try await shelf.unforget(versions[1])
    #expect(outcome.wasForgotten && outcome.version.sequence == 2)
    #expect(try await shelf.listed() == [2, 4])
    #expect(try await !shelf.unforget(versions[1]).wasForgotten)
    #expect(try await shelf.carryOut(shelf.plan(forgetting: versions[1])) == [2])
    #expect(try await shelf.listed() == [4])
    #expect(try await shelf.unforget(versions[1]).wasForgotten)
    #expect(try await shelf.listed() == [2, 4])
    // As a prune will leave it.
    for index in [0, 2] { shelf.road.store.content[versions[index].name.objectName] = nil }
    #expect(try await shelf.listed() == [2, 4])
    #expect(await refusal { try await shelf.unforget(versions[0]) }?.kind == .noSuchVersion)
  }

  @Test func `who takes back what was found damaged hears it`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    try await shelf.carryOut(try await shelf.plan(RetentionRules(last: 1)))
    let (chain, state) = (shelf.chain(), try StateFolder(shelf.world.stateFolder, repository: shelf.repository.id))
    var harmed = try HarmedVersions(of: chain, in: state, at: shelf.repository.place)
    try harmed.add([versions[1].id: HarmedVersions.Harm(.content, by: [])], of: chain, in: state)
    func said() -> [String] { shelf.road.notices.said.withLock { $0.filter { $0.contains("was found damaged") } } }
    _ = try await shelf.unforget(versions[0])
    #expect(said().isEmpty)
    _ = try await shelf.unforget(versions[1])
    #expect(said().count == 1 && said().first?.contains(versions[1].id.hex.prefix(12)) == true)
  }

  @Test func `nothing newer than the newest sound version goes, and no pinned one, by rule or by id`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    try await shelf.push(5, at: Shelf.monday + 5 * Shelf.day, flags: .damaged)
    #expect(try await shelf.say(.pin, of: versions[0]).changed)
    let plan = try await shelf.plan(RetentionRules(last: 1))
    #expect(plan.chains[0].plan.going.map(\.version.sequence) == [2, 3])
    for (version, code) in [(versions[3], "newestVersion"), (versions[0], "pinned")] {
      let refused = try await shelf.plan(forgetting: version, versions[1])
      #expect(refused.chains.isEmpty)
      #expect(refused.refusals.map(\.code) == [code] && refused.refusals.map(\.kind) == [.usage])
    }
    #expect(try await shelf.say(.unpin, of: versions[0]).changed)
    #expect(try await shelf.carryOut(shelf.plan(forgetting: versions[0])) == [1])
    #expect(try await shelf.listed() == [2, 3, 4, 5])
  }

  @Test func `of a pin and a tombstone that cross, one side notices`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    let plan = try await shelf.plan(RetentionRules(last: 1))
    _ = try await shelf.say(.pin, of: versions[0])
    #expect(try await ForgetVersions(shelf.world).carryOut(plan.chains[0], of: plan).forgot == 1)
    #expect(try await shelf.listed() == [1, 3])
    #expect(shelf.road.notices.said.withLock { $0 }.contains { $0.contains("pinned meanwhile") })

    _ = try await shelf.unforget(versions[1])
    var target = shelf.road.target
    target.store = CrossedStore(shelf.road.store) { name in
      // The tombstone is there before the pin is, and was looked for before.
      if name.text.hasPrefix("notes/") { _ = try? await shelf.repository.forget([versions[1]], now: 1) }
    }
    let error = await refusal {
      try await AnnotateVersions(shelf.world).run(.pin, of: .id(prefix: versions[1].id.hex), at: target)
    }
    #expect(error?.code == "forgotten")
  }

  @Test func `a tag or a note on a forgotten version is told to bring nothing back`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    try await shelf.carryOut(shelf.plan(forgetting: versions[0]))
    func told() -> [String] {
      shelf.road.notices.said.withLock { $0 }.filter { $0.contains("does not bring it back: `sealift unforget ") }
    }
    let adding: [AnnotateVersions.Word] = [
      .tags(add: ["t"], remove: []), .tags(add: ["t"], remove: []), .note("n"), .note("n"),
    ]
    for (index, word) in adding.enumerated() {
      let said = try await shelf.say(word, of: versions[0])
      #expect(said.version.forgotten && said.changed == (index % 2 == 0))
      #expect(told().count == index + 1)
    }
    let id = versions[0].id.hex.prefix(12)
    #expect(told().first?.hasPrefix("version \(id) is forgotten, and a tag does not") == true)
    #expect(told().last?.contains("and a note does not") == true)
    for word: AnnotateVersions.Word in [.tags(add: [], remove: ["t"]), .note(""), .unpin] {
      _ = try await shelf.say(word, of: versions[0])
    }
    _ = try await shelf.say(.tags(add: ["t"], remove: []), of: versions[2])
    #expect(told().count == adding.count)
    // Of a tag and a tombstone that cross, too.
    var target = shelf.road.target
    target.store = CrossedStore(shelf.road.store) { name in
      if name.text.hasPrefix("notes/") { _ = try? await shelf.repository.forget([versions[1]], now: 1) }
    }
    let crossed = try await AnnotateVersions(shelf.world).run(
      .tags(add: ["t"], remove: []), of: .id(prefix: versions[1].id.hex), at: target)
    #expect(crossed.changed && crossed.version.forgotten && told().count == adding.count + 1)
  }

  @Test func `a tag that no version has is told, where it is given as a rule`() async throws {
    let shelf = try await Shelf()
    _ = try await shelf.week(2)
    _ = try await shelf.push(7, at: Shelf.monday + 7 * Shelf.day, database: "mail", tags: ["first"])
    let rules = RetentionRules(last: 1, tags: ["first", "frist"])
    func told() -> [String] {
      shelf.road.notices.said.withLock { $0 }.filter { $0.contains("has the tag") }
    }
    _ = try await shelf.plan(rules)
    #expect(told() == ["memory: no version of 'app', 'mail' has the tag 'frist'"])
    _ = try await shelf.plan(rules, named: ["app"])
    #expect(told().dropFirst().map { $0.suffix(7) } == ["'first'", "'frist'"])
    let configured = ForgetVersions.Request(.rules(["app": rules]))
    _ = try await ForgetVersions(shelf.world).plan(configured, at: shelf.road.target)
    #expect(told().count == 3)
  }

  @Test func `a version that is named and was forgotten before is told, and no plan is made of it`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    try await shelf.carryOut(shelf.plan(forgetting: versions[0]))
    let content = shelf.road.store.content
    let again = try await shelf.plan(forgetting: versions[0])
    #expect(again.chains.isEmpty && again.refusals.isEmpty && shelf.road.store.content == content)
    #expect(again.forgottenBefore == 1)
    let both = try await shelf.plan(forgetting: versions[0], versions[1])
    #expect(both.chains.map { $0.plan.going.map(\.version.sequence) } == [[2]] && both.forgottenBefore == 1)
    let told = shelf.road.notices.said.withLock { $0 }.filter { $0.contains("was forgotten before") }
    #expect(told.count == 2 && told.allSatisfy { $0.contains(versions[0].id.hex.prefix(12)) })
    #expect(told.allSatisfy { $0.hasSuffix("and waits for a prune") })
    // Of a pin and a tombstone that crossed.
    try await shelf.annotate(versions[0], Annotation.Item(.pin))
    let pinned = try await shelf.plan(forgetting: versions[0])
    #expect(pinned.chains.isEmpty && pinned.refusals.isEmpty)
    #expect(shelf.road.notices.said.withLock { $0 }.last?.hasSuffix("and stays because it is pinned") == true)
  }

  @Test func `what was taken back is not told to be forgotten while the word for it is held back`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(3)
    try await shelf.carryOut(shelf.plan(forgetting: versions[0]))
    #expect(try await shelf.unforget(versions[0]).wasForgotten)
    for name in shelf.road.store.content.keys where name.text.hasPrefix("notes/") {
      shelf.road.store.content[name] = nil
    }
    let plan = try await shelf.plan(forgetting: versions[0])
    #expect(plan.refusals.map(\.code) == ["hole"] && plan.chains.isEmpty && plan.forgottenBefore == 0)
    #expect(!shelf.road.notices.said.withLock { $0 }.contains { $0.contains("was forgotten before") })
  }

  @Test func `what was found damaged takes no place`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    try await shelf.annotate(versions[2], Annotation.Item(.foundDamaged, "pack gone"))
    #expect(try await shelf.plan(RetentionRules(daily: 2)).chains[0].plan.going.map(\.version.sequence) == [1, 3])
    try await shelf.repository.annotate(versions[2], [Annotation.Item(.foundDamaged)], now: 2)
    #expect(try await shelf.plan(RetentionRules(daily: 2)).chains[0].plan.going.map(\.version.sequence) == [1, 2])
  }

  /// A repair or a drill said so, and looked at the database.
  @Test func `what lost companions alone takes no place, and stays where a rule would keep it`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    try await shelf.annotate(versions[2], Annotation.Item(.foundDamaged, CompanionLoss.text("a pack")))
    #expect(try await shelf.plan(RetentionRules(daily: 2)).chains[0].plan.going.map(\.version.sequence) == [1])
    let status = try #require(try await shelf.status().databases.first)
    #expect(status.foundDamaged == 1 && status.losingCompanions == 1 && !status.isSound)
    // Nobody has said that more of it is lost: packs that are gone may be put back.
    for pack in try await shelf.ownPacks(of: versions[2], among: versions) { shelf.road.store.content[pack] = nil }
    let plan = try await shelf.plan(RetentionRules(daily: 2))
    #expect(plan.chains[0].plan.going.map(\.version.sequence) == [1])
    #expect(plan.chains[0].problems.map(\.code) == ["incomplete"])
  }

  @Test func `what is incomplete takes no place, and nothing rests on it`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    let packs = try await shelf.ownPacks(of: versions[2], among: versions)
    let last = try await shelf.ownPacks(of: versions[3], among: versions)
    #expect(!packs.isEmpty && !last.isEmpty)
    // As a prune does it: what it took does not come back.
    try await shelf.condemn(packs.compactMap(Layout.packDigest))
    for pack in packs { shelf.road.store.content[pack] = nil }
    let plan = try await shelf.plan(RetentionRules(daily: 2))
    #expect(plan.chains[0].problems.isEmpty)
    #expect(plan.chains[0].plan.going.map(\.version.sequence) == [1, 3])
    #expect(plan.chains[0].plan.decisions[2].reasons == ["incomplete, does not count"])
    // A pin keeps it, but then somebody has to look.
    _ = try await shelf.say(.pin, of: versions[2])
    let pinned = try await shelf.plan(RetentionRules(daily: 2))
    #expect(pinned.refusals.map(\.code) == ["incomplete"] && pinned.chains.isEmpty)
    #expect(pinned.refusals.first?.hint?.contains("unpin") == true)
    _ = try await shelf.say(.unpin, of: versions[2])
    // The newest is incomplete: nothing goes until a newer one is there.
    for pack in last { shelf.road.store.content[pack] = nil }
    let refused = try await shelf.plan(RetentionRules(last: 1))
    #expect(refused.refusals.map(\.code) == ["incomplete"] && refused.refusals.map(\.kind) == [.verificationFailed])
    #expect(try await shelf.plan(forgetting: versions[1]).refusals.map(\.code) == ["newestVersion"])
    try await shelf.push(77, at: Shelf.monday + 9 * Shelf.day)
    #expect(try await shelf.carryOut(shelf.plan(RetentionRules(last: 1))) == [1, 2, 3, 4])
  }

  /// Somebody moved packs away by mistake, and puts them back when he hears of it.
  @Test func `what a rule would keep stays when packs of it are gone that no prune took, and is told`() async throws {
    let shelf = try await Shelf()
    let first = try await shelf.push(9, at: Shelf.monday - Shelf.day, tags: ["before-upgrade"])
    let versions = try await [first] + shelf.week(3)
    let packs = try await shelf.ownPacks(of: first, among: versions)
    let content = shelf.road.store.content
    for pack in packs { shelf.road.store.content[pack] = nil }
    let rules = RetentionRules(last: 1, tags: ["before-upgrade"])
    let plan = try await shelf.plan(rules)
    let chain = try #require(plan.chains.first)
    #expect(plan.refusals.isEmpty && chain.plan.going.map(\.version.sequence) == [2, 3])
    #expect(chain.plan.decisions[0].reasons == ["tag 'before-upgrade'", "packs are missing"])
    #expect(chain.problems.map(\.code) == ["incomplete"] && chain.problems.map(\.kind) == [.verificationFailed])
    let message = try #require(chain.problems.first?.message)
    #expect(message.contains("\(first.id.hex.prefix(12)) (tag 'before-upgrade')"), "\(message)")
    try await shelf.carryOut(plan)
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    let pruned = try await PruneRepository(shelf.world).run(request, at: shelf.road.target)
    #expect(pruned.problems.map(\.code) == ["incomplete"])

    for pack in packs { shelf.road.store.content[pack] = content[pack] }
    #expect(try await shelf.listed() == [1, 4])
    let path = shelf.road.scratch.file("first")
    _ = try await Pull(shelf.world).run(.id(prefix: first.id.hex), from: shelf.road.target, to: .file(path))
    var random = SeededRandom(9)
    #expect(try fileBytes(path) == random.bytes(80_000))
    #expect(try await shelf.plan(rules).chains.allSatisfy { $0.problems.isEmpty && $0.plan.going.isEmpty })
    // Somebody has looked, and it could not be saved.
    for pack in packs { shelf.road.store.content[pack] = nil }
    try await shelf.annotate(first, Annotation.Item(.foundDamaged, "pack gone"))
    let looked = try await shelf.plan(rules)
    #expect(looked.chains.allSatisfy { $0.problems.isEmpty && $0.plan.going.map(\.version.sequence) == [1] })
  }

  @Test func `what no rule would keep goes when packs of it are gone`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    for version in versions[1...2] {
      for pack in try await shelf.ownPacks(of: version, among: versions) { shelf.road.store.content[pack] = nil }
    }
    // Were both whole, the second would go.
    let plan = try await shelf.plan(RetentionRules(last: 2))
    #expect(plan.chains.map { $0.plan.going.map(\.version.sequence) } == [[2]])
    #expect(plan.chains[0].plan.harmed.map(\.version.sequence) == [3] && plan.chains[0].problems.count == 1)
  }

  /// Packs may stay away for weeks, and a timer forgets each night.
  @Test func `versions that lost packs cost no listing each`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(6)
    var own: [[ObjectName]] = []
    for version in versions { own.append(try await shelf.ownPacks(of: version, among: versions)) }
    let base = shelf.road.store
    let listings = Locked(0)
    var target = shelf.road.target
    target.store = ListingStore(base: base) { (prefix) async throws(StoreError) in
      if prefix.hasPrefix("versions/") { listings.withLock { $0 += 1 } }
      return try await base.list(prefix: prefix)
    }
    var counts: [Int] = []
    // The first finds what this machine keeps of the chain.
    for harmed in [0, 1, 4] {
      for pack in own.prefix(harmed).joined() { base.content[pack] = nil }
      listings.withLock { $0 = 0 }
      let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 6)))
      let plan = try await ForgetVersions(shelf.world).plan(request, at: target)
      #expect(plan.chains.map { $0.plan.harmed.count } == [harmed])
      counts.append(listings.withLock { $0 })
    }
    #expect(counts[2] == counts[1], "\(counts)")
  }

  @Test func `what a repair has written anew meanwhile does not go`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    for version in versions[1...2] {
      for pack in try await shelf.ownPacks(of: version, among: versions) { shelf.road.store.content[pack] = nil }
    }
    // It comes to be there behind the listing that the plan is made of.
    let lost = versions[2].name
    let anew = VersionName(
      chain: lost.chain, sequence: lost.sequence, revision: 1, length: lost.length, digest: .sha256(of: [1]))
    let base = shelf.road.store
    var target = shelf.road.target
    target.store = ListingStore(base: base) { (prefix) async throws(StoreError) in
      let listed = try await base.list(prefix: prefix)
      return prefix == Layout.versions(of: lost.chain)
        ? listed + [ObjectInfo(name: anew.objectName, size: anew.length)] : listed
    }
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 2)))
    let plan = try await ForgetVersions(shelf.world).plan(request, at: target)
    #expect(plan.chains.isEmpty && plan.refusals.map(\.code) == ["conflict"])
    #expect(plan.refusals.first?.message.contains(versions[2].id.hex.prefix(12)) == true)
  }

  @Test func `what only a listing missed does not go`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    let pack = try #require(try await shelf.ownPacks(of: versions[2], among: versions).first)
    var target = shelf.road.target
    target.store = ShortStore(shelf.road.store, hiding: pack)
    let request = ForgetVersions.Request(.rulesForAll(RetentionRules(daily: 2)))
    let plan = try await ForgetVersions(shelf.world).plan(request, at: target)
    #expect(plan.chains.isEmpty && plan.refusals.map(\.code) == ["conflict"])
    #expect(plan.refusals.first?.message.contains(versions[2].id.hex.prefix(12)) == true)
    #expect(try await shelf.plan(RetentionRules(daily: 2)).chains[0].plan.going.map(\.version.sequence) == [1, 2])
  }

  /// Most often a prune that came at the same time as a push: the version is safe, and named in a record for ever.
  @Test(arguments: ["packs", "manifest"])
  func `what a prune has named takes no place, and stays all the same where a rule would keep it`(
    what: String
  ) async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(5)
    let packs = try await shelf.ownPacks(of: versions[2], among: versions).compactMap(Layout.packDigest)
    try await shelf.condemn(what == "packs" ? packs : [versions[2].digest])
    let plan = try await shelf.plan(RetentionRules(daily: 3))
    #expect(plan.chains[0].plan.going.map(\.version.sequence) == [1])
    #expect(plan.chains[0].plan.decisions[2].reasons == ["daily 2026-11-18", "in doubt: a prune named it"])
    #expect(try await shelf.plan(RetentionRules(daily: 2)).chains[0].plan.going.map(\.version.sequence) == [1, 2, 3])
    // Nothing rests on it: what comes before the newest sound version goes, no more.
    try await shelf.condemn([versions[4].digest])
    let newest = try await shelf.plan(RetentionRules(last: 1))
    #expect(newest.chains[0].plan.going.map(\.version.sequence) == [1, 2, 3])
    #expect(newest.chains[0].plan.newestSound?.sequence == 4 && newest.refusals.isEmpty)
  }

  @Test(arguments: ["hole", "unreadable", "rolled back"])
  func `a chain in doubt is left alone, others are not`(what: String) async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    _ = try await shelf.week(2, database: "other")
    switch what {
    case "hole": shelf.road.store.content[versions[1].name.objectName] = nil
    case "unreadable":
      shelf.road.store.content[versions[1].name.objectName]?[200] ^= 1
      // What was kept of it here would still be true.
      try removeFile(shelf.world.stateFolder)
    default: shelf.road.store.content[versions[3].name.objectName] = nil
    }
    let tombstones = { shelf.road.store.content.keys.filter { $0.text.hasPrefix("tomb/") } }
    let plan = try await shelf.plan(RetentionRules(last: 1))
    #expect(plan.refusals.map(\.kind) == [.verificationFailed])
    #expect(plan.chains.map(\.database) == ["other"])
    await #expect(throws: OperationError.self) { try await shelf.carryOut(plan) }
    #expect(tombstones().allSatisfy { $0.text.contains(shelf.chain("other").hex) } && tombstones().count == 1)
  }

  @Test func `only this host's databases, and only those named`() async throws {
    let shelf = try await Shelf()
    for (database, host) in [("app", "host"), ("app", "web-2"), ("mail", "host")] {
      _ = try await shelf.week(2, database: database, host: host)
    }
    func chosen(_ plan: ForgetVersions.Plan) -> [String] { plan.chains.map { "\($0.database) \($0.host)" } }
    let rules = RetentionRules(last: 1)
    #expect(chosen(try await shelf.plan(rules)) == ["app host", "mail host"])
    #expect(chosen(try await shelf.plan(rules, named: ["mail"])) == ["mail host"])
    #expect(
      Set(chosen(try await shelf.plan(rules, allHosts: true, named: ["app"]))) == ["app host", "app web-2"])
    #expect(await refusal { try await shelf.plan(rules, named: ["app", "none"]) }?.kind == .noSuchVersion)
    let each = ForgetVersions.Request(.rules(["mail": rules, "none": rules]))
    #expect(chosen(try await ForgetVersions(shelf.world).plan(each, at: shelf.road.target)) == ["mail host"])
    #expect(await refusal { try await shelf.plan(RetentionRules()) }?.code == "noRules")
    let none = ForgetVersions.Request(.rules(["mail": RetentionRules()]))
    let error = await refusal { try await ForgetVersions(shelf.world).plan(none, at: shelf.road.target) }
    #expect(error?.code == "noRules" && error?.kind == .usage)
  }

  /// What a machine left that is no more: those that go on pushing have databases of that name, too.
  @Test func `only the databases of a host that is named, and that has some`() async throws {
    let shelf = try await Shelf()
    for (database, host) in [("app", "host"), ("app", "web-2"), ("app", "web-3"), ("mail", "web-3")] {
      _ = try await shelf.week(2, database: database, host: host)
    }
    func chosen(_ plan: ForgetVersions.Plan) -> [String] { plan.chains.map { "\($0.database) \($0.host)" } }
    let rules = RetentionRules(last: 1)
    #expect(chosen(try await shelf.plan(rules, host: "web-2", named: ["app"])) == ["app web-2"])
    #expect(chosen(try await shelf.plan(rules, host: "web-3")) == ["app web-3", "mail web-3"])
    var each = ForgetVersions.Request(.rules(["app": rules]))
    each.host = "web-3"
    #expect(chosen(try await ForgetVersions(shelf.world).plan(each, at: shelf.road.target)) == ["app web-3"])
    let absent = await refusal { try await shelf.plan(rules, host: "web-2", named: ["mail"]) }
    #expect(absent?.kind == .noSuchVersion)
    #expect(absent?.message.hasSuffix("host web-2 has no versions of 'mail' there; web-3 has some") == true)
    let strange = await refusal { try await shelf.plan(rules, host: "web-4") }
    #expect(strange?.message.hasSuffix("host web-4 has no versions there; host, web-2, web-3 have some") == true)
    each.host = "web-4"
    let unknown = each
    let unruled = await refusal { try await ForgetVersions(shelf.world).plan(unknown, at: shelf.road.target) }
    #expect(unruled?.message.hasSuffix("of 'app' there; host, web-2, web-3 have some") == true)
  }

  @Test func `rules of a database or a host are none of one whose name only looks alike`() async throws {
    let shelf = try await Shelf()
    let (composed, apart) = ("caf\u{E9}", "cafe\u{301}")
    for name in [composed, apart] {
      _ = try await shelf.week(2, database: name)
      _ = try await shelf.week(2, host: name)
    }
    func chosen(_ plan: ForgetVersions.Plan) -> [[UInt8]] {
      plan.chains.map { Array("\($0.database) \($0.host)".utf8) }
    }
    let rules = RetentionRules(last: 1)
    let request = ForgetVersions.Request(.rules([composed: rules]))
    let plan = try await ForgetVersions(shelf.world).plan(request, at: shelf.road.target)
    #expect(chosen(plan) == [Array("\(composed) host".utf8)])
    #expect(chosen(try await shelf.plan(rules, named: [apart])) == [Array("\(apart) host".utf8)])
    var world = shelf.world
    world.host = apart
    let ofHost = try await ForgetVersions(world).plan(.init(.rulesForAll(rules)), at: shelf.road.target)
    #expect(chosen(ofHost) == [Array("app \(apart)".utf8)])
  }

  @Test func `words of versions: the last one counts, and what says nothing new is not stored`() async throws {
    let shelf = try await Shelf()
    let version = try await shelf.push(1, at: Shelf.monday, tags: ["a", "b"])
    let tagged = try await shelf.say(.tags(add: ["c", "a", "c"], remove: ["b", "x"]), of: version)
    #expect(tagged.changed && tagged.version.tags == ["a", "c"])
    #expect(try await shelf.say(.note("first"), of: version).version.note == "first")
    #expect(try await shelf.say(.pin, of: version).version.pinned)
    let content = shelf.road.store.content
    for word: AnnotateVersions.Word in [.tags(add: ["c"], remove: ["b"]), .note("first"), .pin] {
      #expect(try await !shelf.say(word, of: version).changed)
    }
    #expect(shelf.road.store.content == content)
    #expect(try await shelf.say(.note(""), of: version).changed)
    let listed = try #require(try await ListVersions(shelf.world).run(at: shelf.road.target).versions.first)
    #expect(listed.tags == ["a", "c"] && listed.note == "" && listed.pinned)
    #expect(try await ListVersions(shelf.world).run(at: shelf.road.target, tag: "b").versions.isEmpty)
  }

  @Test func `tags that look alike are two where they are stored, and one to who types them`() async throws {
    let shelf = try await Shelf()
    let (composed, apart) = ("caf\u{E9}", "cafe\u{301}")
    let version = try await shelf.push(1, at: Shelf.monday, tags: [composed])
    let later = try await shelf.push(2, at: Shelf.monday + Shelf.day, tags: [composed])
    func tags(of version: VersionFacts) async throws -> [ExactName] {
      let listed = try await ListVersions(shelf.world).run(at: shelf.road.target).versions
      return listed.filter { $0.id == version.id.hex }.flatMap(\.tags).map { ExactName($0) }
    }
    func removed(of version: VersionFacts) async throws -> [ExactName] {
      let said = try await shelf.repository.annotations(of: version.chain, state: nil).all(of: version)
      return said.filter { $0.item.kind == .removeTag }.map { ExactName($0.item.text) }
    }
    let names = [composed, apart].map { ExactName($0) }
    #expect(try await ListVersions(shelf.world).run(at: shelf.road.target, tag: apart).versions.count == 2)
    let plan = try await shelf.plan(RetentionRules(last: 1, tags: [apart]))
    #expect(plan.chains.count == 1 && plan.chains.first?.plan.going.isEmpty == true)

    #expect(try await !shelf.say(.tags(add: [apart], remove: []), of: later).changed)
    let outcome = try await shelf.say(.tags(add: [], remove: [apart]), of: later)
    #expect(outcome.changed && outcome.version.tags.isEmpty && outcome.absentTags.isEmpty)
    #expect(try await tags(of: later).isEmpty)
    #expect(try await removed(of: later) == [names[0]])

    // Another program may store both.
    try await shelf.repository.annotate(version, [.init(.addTag, apart)], now: 1)
    #expect(try await tags(of: version) == names)
    try await shelf.repository.annotate(version, [.init(.removeTag, composed)], now: 2)
    #expect(try await tags(of: version) == [names[1]])
    try await shelf.repository.annotate(version, [.init(.addTag, composed)], now: 3)
    #expect(try await shelf.say(.tags(add: [], remove: [composed]), of: version).version.tags.isEmpty)
    #expect(try await tags(of: version).isEmpty)
    #expect(try await removed(of: version) == [names[0], names[1], names[0]])
  }

  @Test func `words that a version cannot hold are refused`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    let long = String(repeating: "x", count: 65_536)
    let content = shelf.road.store.content
    let words: [AnnotateVersions.Word] = [
      .tags(add: [long], remove: []), .note(long), .tags(add: [""], remove: []), .tags(add: ["a"], remove: ["a"]),
      .tags(add: (0..<1001).map { "t\($0)" }, remove: []),
    ]
    for word in words { #expect(await refusal { try await shelf.say(word, of: versions[0]) }?.kind == .usage) }
    #expect(shelf.road.store.content == content)
    try await shelf.carryOut(shelf.plan(forgetting: versions[0]))
    #expect(await refusal { try await shelf.say(.pin, of: versions[0]) }?.code == "forgotten")
    #expect(try await shelf.say(.tags(add: ["t"], remove: []), of: versions[0]).changed)
  }

  /// Two machines that tag at once do not see each other.
  @Test func `a version with more tags than may be given loses them one by one, and gains none`() async throws {
    let shelf = try await Shelf()
    let version = try await shelf.push(1, at: Shelf.monday, tags: (0...1000).map { "t\($0)" })
    let content = shelf.road.store.content
    let refused = await refusal { try await shelf.say(.tags(add: ["more"], remove: []), of: version) }
    #expect(refused?.code == "tooManyTags" && shelf.road.store.content == content)
    #expect(try await shelf.say(.pin, of: version).version.pinned)
    #expect(try await shelf.say(.tags(add: ["other"], remove: ["t0"]), of: version).version.tags.count == 1001)
    #expect(try await shelf.say(.tags(add: [], remove: ["t1"]), of: version).version.tags.count == 1000)
    let listed = try #require(try await ListVersions(shelf.world).run(at: shelf.road.target).versions.first)
    #expect(listed.tags.count == 1000 && listed.tags.first == "t2" && listed.tags.last == "other")
  }

  @Test func `a status says what is there, what changed, and what is wrong`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(4)
    _ = try await shelf.week(1, database: "app", host: "web-2")
    try await shelf.carryOut(shelf.plan(forgetting: versions[0], versions[2]))
    let drill = DrillResult(passed: true, time: 77, text: "3 tables")
    try await shelf.repository.annotate(versions[1], [drill.item], now: 77)
    let whole = try await shelf.status()
    let app = try #require(whole.databases.first)
    #expect(whole.databases.count == 1 && whole.problems.isEmpty && app.isSound)
    #expect(app.newest?.id == versions[3].id.hex && app.versions == 2 && app.forgotten == 2 && app.change == .unknown)
    #expect(app.age == 27 * Shelf.day && app.drilled?.sequence == 2 && app.drilled?.drilledAt == 77)

    try await shelf.annotate(versions[1], Annotation.Item(.foundDamaged, "gone"))
    #expect(try await shelf.status().databases.first?.foundDamaged == 1)
    #expect(try await shelf.status().databases.first?.isSound == false)
    try await shelf.carryOut(shelf.plan(forgetting: versions[1]))
    #expect(try await shelf.status().databases.first?.isSound == true)
    try await shelf.repository.annotate(
      versions[3], [DrillResult(passed: false, time: 99, text: "no rows").item], now: 99)
    #expect(try await shelf.status().databases.first?.isSound == false)
    // Neither a clock that ran ahead, nor a rule that lets the version go, takes back that the last drill failed.
    let later = Shelf.monday + 400 * Shelf.day
    try await shelf.repository.annotate(
      versions[1], [DrillResult(passed: true, time: later, text: "3 tables").item], now: later)
    #expect(try await shelf.status().databases.first?.lastDrill?.text == "no rows")
    _ = try await shelf.push(9, at: Shelf.monday + 9 * Shelf.day)
    try await shelf.carryOut(shelf.plan(forgetting: versions[3]))
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    for isPruned in [false, true] {
      if isPruned {
        #expect(try await PruneRepository(shelf.world).run(request, at: shelf.road.target).problems.isEmpty)
      }
      let app = try #require(try await shelf.status().databases.first)
      #expect(!app.isSound && app.lastDrill?.version == versions[3].id.hex && (app.drilled == nil) == isPruned)
    }

    let sources = ["app", "never"].map { DatabaseSource(name: $0, path: "/nonexistent") }
    let configured = try await shelf.status(sources).databases
    #expect(configured.map(\.name) == ["app", "never"] && configured[1].newest == nil && !configured[1].isSound)
    let newest = shelf.road.store.content.keys.filter { $0.text.hasPrefix("versions/\(shelf.chain().hex)/") }.max()
    shelf.road.store.content[try #require(newest)] = nil
    let back = try await shelf.status(sources)
    #expect(back.problems.map(\.code) == ["rolledBack"])
    shelf.road.store.content = shelf.road.store.content.filter { !$0.key.text.contains(shelf.chain().hex) }
    #expect(try await shelf.status(sources).problems.map(\.code) == ["rolledBack"])
  }

  @Test func `a version of a time that has not come has no age`() async throws {
    let shelf = try await Shelf()
    let now = shelf.world.now()
    try await shelf.push(1, at: now + Shelf.day)
    let soon = try await shelf.status()
    #expect(soon.databases.first?.age == 0 && soon.problems.isEmpty)
    try await shelf.push(2, at: now + Shelf.day + 1)
    for databases in [nil, [DatabaseSource(name: "app", path: "/nonexistent")]] as [[DatabaseSource]?] {
      let later = try await shelf.status(databases)
      let app = try #require(later.databases.first)
      #expect(app.age == nil && app.newest != nil && app.isSound)
      #expect(later.problems.map(\.code) == ["clockAhead"] && later.problems.map(\.kind) == [.partlyDone])
    }
    // The clock was set, and something was pushed since.
    try await shelf.push(3, at: now)
    #expect(try await shelf.status().problems.isEmpty)
  }

  @Test func `a head code whose version was forgotten is told as that, not as an older state`() async throws {
    let shelf = try await Shelf()
    let versions = try await shelf.week(6)
    try await shelf.carryOut(shelf.plan(RetentionRules(last: 2)))
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    #expect(try await PruneRepository(shelf.world).run(request, at: shelf.road.target).problems.isEmpty)
    let listing = try await shelf.repository.versionListing(of: shelf.chain())
    let history = try await shelf.repository.history(of: listing)
    func code(_ sequence: Int, _ id: Digest) -> String? {
      do {
        try HeadCode(parsing: "\(sequence)-\(id.hex.prefix(16))").check(history)
        return nil
      } catch {
        return (error as? OperationError)?.code
      }
    }
    for index in [3, 4, 5] { #expect(code(index + 1, versions[index].id) == nil) }
    #expect(code(2, versions[1].id) == "headForgotten")
    // The last of those that were forgotten together is named: it proves that another one stood there.
    #expect(code(4, versions[1].id) == "unexpectedHead")
    #expect(code(6, versions[1].id) == "unexpectedHead" && code(7, versions[1].id) == "unexpectedHead")
  }

  @Test func `whether the database changed since is told by stat alone`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 20)
    let source = DatabaseSource(name: "app", path: path)
    func change() async throws -> StatusOfDatabases.Change? {
      try await StatusOfDatabases(road.world).run([source], at: road.target).databases.first?.change
    }
    #expect(try await road.push(source).failures.isEmpty)
    // A file changed within the last two seconds proves nothing: then nothing is remembered.
    let first = try await change()
    #expect(first == .unknown || first == .unchanged)
    try await Task.sleep(for: .seconds(2.1))
    #expect(try await Push(road.world).run(Push.Request(database: source, targets: [road.target])).failures.isEmpty)
    #expect(try await change() == .unchanged)
    try await road.change(path)
    #expect(try await change() == .changed)
  }
}

/// A store in memory that lets something happen before each put.
private final class CrossedStore: ObjectStore {
  private let base: MemoryStore
  private let beforePut: @Sendable (ObjectName) async -> Void

  init(_ base: MemoryStore, beforePut: @escaping @Sendable (ObjectName) async -> Void) {
    self.base = base
    self.beforePut = beforePut
  }

  var traits: StoreTraits { base.traits }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    await beforePut(name)
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
