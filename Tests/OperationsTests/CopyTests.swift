import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories
@testable import Sealing
@testable import Snapshots

/// Versions of one repository in another one: with other keys, bit for bit, and no second time.
@Suite struct CopyTests {
  /// A repository with keys of its own, seen from the same machine.
  private func repository(_ road: Road, _ name: String, key: UInt8) async throws -> (TargetAccess, MemoryStore) {
    let store = MemoryStore(location: "memory:\(name)")
    let target = TargetAccess(
      name: name, store: store, unlock: { .keyFile([UInt8](repeating: key, count: 64)) })
    _ = try await Initialize(road.world).run(at: target, ifMissing: false)
    return (target, store)
  }

  /// Versions of a database that changes a little each time.
  private func history(_ road: Road, versions: Int, rows: Int = 300) async throws -> [VersionSummary] {
    let database = DatabaseSource(name: "app", path: try road.database(rows: rows), tags: ["nightly"])
    var pushed: [VersionSummary] = []
    for number in 0..<versions {
      try SQLite.run("update t set body = randomblob(900) where id % 50 = \(number)", on: database.path)
      var request = Push.Request(database: database, targets: [road.target])
      request.note = "number \(number)"
      pushed.append(try #require(try await Push(road.world).run(request).pushed.first).version)
    }
    return pushed
  }

  private func copy(
    _ road: Road, to target: TargetAccess, _ change: (inout CopyVersions.Request) -> Void = { _ in }
  ) async throws -> CopyVersions.Outcome {
    var request = CopyVersions.Request()
    change(&request)
    let outcome = try await CopyVersions(road.world).run(request, from: road.target, to: target)
    #expect(road.files(in: "\(road.world.stateFolder)/spool").filter { $0 != "lock" }.isEmpty)
    return outcome
  }

  /// What a machine does each night at the other target.
  private func forget(_ road: Road, keeping rules: RetentionRules, at target: TargetAccess, prunes: Bool) async throws {
    var wish = ForgetVersions.Request(.rulesForAll(rules))
    wish.allHosts = true
    let plan = try await ForgetVersions(road.world).plan(wish, at: target)
    #expect(plan.refusals.isEmpty)
    for chain in plan.chains { try await ForgetVersions(road.world).carryOut(chain, of: plan) }
    guard prunes else { return }
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    #expect(try await PruneRepository(road.world).run(request, at: target).problems.isEmpty)
  }

  private func bytes(_ road: Road, _ version: VersionSummary, at target: TargetAccess) async throws -> [UInt8] {
    let scratch = try Scratch()
    let path = scratch.file("out.db")
    _ = try await Pull(road.withoutState(scratch)).run(.id(prefix: version.id), from: target, to: .file(path))
    return try fileBytes(path)
  }

  @Test func `versions arrive bit for bit, oldest first, with all that was said of them`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 5)
    let (other, _) = try await repository(road, "other", key: 9)
    let outcome = try await copy(road, to: other)
    #expect(outcome.failures.isEmpty && outcome.copied.map(\.origin.id) == originals.map(\.id))
    let copies = try await ListVersions(road.world).run(at: other)
    #expect(copies.problems.isEmpty && copies.versions.map(\.id) == outcome.copied.map(\.version.id))
    #expect(Set(copies.versions.map(\.id)).isDisjoint(with: originals.map(\.id)))
    for (copy, original) in zip(copies.versions, originals) {
      #expect(copy.sha256 == original.sha256 && copy.time == original.time && copy.host == original.host)
      #expect(copy.database == "app" && copy.method == original.method && copy.sequence == original.sequence)
      #expect(copy.tags == ["nightly"] && copy.note == original.note)
      #expect(try await bytes(road, copy, at: other) == bytes(road, original, at: road.target))
      let detail = try await ListVersions(road.world).show(.id(prefix: copy.id), at: other)
      #expect(detail.copiedFrom == original.id)
    }
    #expect(try await Drill(road.world).run(Drill.Request(), at: other).drilled.first?.hasPassed == true)
    let drilled = try await Drill(road.world).run(Drill.Request(), at: other).drilled.first
    #expect(drilled?.passed.contains("300 rows in 1 table as at push") == true)

    let again = try await copy(road, to: other)
    #expect(again.copied.allSatisfy(\.wasThere) && again.copied.count == 5)
    #expect(try await ListVersions(road.world).run(at: other).versions.count == 5)
  }

  @Test func `successive copies are deltas as the originals were`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 5, rows: 4000)
    let (other, _) = try await repository(road, "other", key: 9)
    let copied = try await copy(road, to: other).copied
    for (copy, original) in zip(copied, originals) {
      #expect(copy.version.bytesNew < original.bytesNew * 5 / 4 + 8192)
    }
    #expect(copied.dropFirst().allSatisfy { $0.version.bytesNew < copied[0].version.bytesNew / 4 })
  }

  @Test(arguments: 1...5, [true, false])
  func `a copy that was cut is gone on with`(puts: Int, remembers: Bool) async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 5)
    let (other, store) = try await repository(road, "other", key: 9)
    let cut = TargetAccess(name: "other", store: DyingStore(store, puts: puts), unlock: other.unlock)
    let first = try await copy(road, to: cut)
    #expect(!first.failures.isEmpty && first.copied.count < 5)
    // Also on another machine, which remembers nothing of the first try.
    let scratch = try Scratch()
    let second =
      if remembers { try await copy(road, to: other) } else {
        try await CopyVersions(road.withoutState(scratch)).run(CopyVersions.Request(), from: road.target, to: other)
      }
    #expect(second.failures.isEmpty && second.copied.count == 5)
    #expect(second.copied.filter(\.wasThere).count >= first.copied.count)
    let fresh = try Scratch()
    let copies = try await ListVersions(road.withoutState(fresh)).run(at: other)
    #expect(copies.problems.isEmpty && copies.versions.map(\.sha256) == originals.map(\.sha256))
    for (copy, original) in zip(copies.versions, originals) {
      #expect(try await bytes(road, copy, at: other) == bytes(road, original, at: road.target))
    }
  }

  @Test(arguments: [(1, 0), (3, 2)])
  func `a copy that is interrupted tells what arrived`(cut: Int, arrived: Int) async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let (other, store) = try await repository(road, "other", key: 9)
    let hooked = HookedStore(
      store,
      beforePut: { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), name.text.contains("/00000000000\(cut)-") else { return }
        throw StoreError(.cancelled, "interrupted")
      })
    let target = TargetAccess(name: "other", store: hooked, unlock: other.unlock)
    guard arrived > 0 else {
      let error = await #expect(throws: OperationError.self) { try await copy(road, to: target) }
      #expect(error?.kind == .cancelled)
      return
    }
    let outcome = try await copy(road, to: target)
    #expect(outcome.interruption?.kind == .cancelled && outcome.failures.isEmpty)
    #expect(outcome.copied.map(\.origin.id) == originals.prefix(arrived).map(\.id))
  }

  /// The bytes come along, and so does what they are.
  @Test func `a copy of what is no sound database takes no other's place`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 2)
    let lookup = try await VersionLookup(at: road.target, road.world)
    let newest = try #require(try await lookup.histories().first?.versions.last)
    func say(_ text: String) async throws {
      let said = try await lookup.repository.annotations(of: newest.chain, state: lookup.state)
      try await lookup.repository.annotate(
        newest, [.init(.foundDamaged, text)], now: said.time(for: newest, now: road.world.now()), state: lookup.state
      )
    }
    try await say("what was restored is no sound database: integrity_check: NULL value in t.body")
    let (other, store) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).failures.isEmpty)
    func damaged() async throws -> [Bool] {
      try await ListVersions(road.world).run(at: other).versions.map { $0.foundDamaged != nil }
    }
    #expect(try await damaged() == [false, true])
    var request = ForgetVersions.Request(.rulesForAll(RetentionRules(last: 1)))
    request.allHosts = true
    let plan = try await ForgetVersions(road.world).plan(request, at: other)
    #expect(plan.refusals.isEmpty && plan.chains.allSatisfy(\.plan.going.isEmpty))
    // It is there: another run adds nothing.
    let before = store.content
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.copied.map(\.wasThere) == [true, true] && store.content == before)
    // What was damaged at the origin is whole here.
    try await say("damaged or missing: packs/x")
    let (third, _) = try await repository(road, "third", key: 8)
    #expect(try await copy(road, to: third).copied.map(\.origin.id) == originals.map(\.id))
    #expect(try await ListVersions(road.world).run(at: third).versions.allSatisfy { $0.foundDamaged == nil })
  }

  @Test func `a forgotten version that is named is not passed over in silence`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let forget = ForgetVersions(road.world)
    let plan = try await forget.plan(.init(.versions([.id(prefix: originals[0].id)])), at: road.target)
    try await forget.carryOut(plan.chains[0], of: plan)
    let (other, _) = try await repository(road, "other", key: 9)
    let outcome = try await copy(road, to: other) {
      $0.choice = .versions(originals.prefix(2).map { .id(prefix: $0.id) })
    }
    #expect(outcome.copied.map(\.origin.id) == [originals[1].id])
    #expect(outcome.failures.map(\.version) == [originals[0].id])
    #expect(outcome.failures.first?.error.code == "forgotten" && outcome.failures.first?.error.kind == .noSuchVersion)
  }

  /// It may be a tag, which nobody misses until a rule lets the version go.
  @Test func `a word that cannot be read is told, and the rest is copied`() async throws {
    let road = try await Road()
    _ = try await history(road, versions: 2)
    _ = try await AnnotateVersions(road.world).run(
      .tags(add: ["release"], remove: []), of: .latest(database: "app"), at: road.target)
    let word = try #require(road.store.content.keys.first { $0.text.hasPrefix("notes/") })
    road.store.content[word]?[300] ^= 1
    let scratch = try Scratch()
    let (other, _) = try await repository(road, "other", key: 9)
    for _ in 1...2 {
      let outcome = try await CopyVersions(road.withoutState(scratch))
        .run(CopyVersions.Request(), from: road.target, to: other)
      #expect(outcome.copied.count == 2)
      #expect(outcome.failures.map(\.database) == ["app"])
      #expect(outcome.failures.first?.error.message.contains(word.text) == true)
    }
  }

  @Test func `tags and notes that were given since come along, unless something was said there later`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 2)
    let (other, store) = try await repository(road, "other", key: 9)
    let copies = try await copy(road, to: other).copied.map(\.version)
    // One word is later than the other.
    let clock = Locked<UInt64>(road.world.now())
    var world = road.world
    world.now = {
      clock.withLock { time -> UInt64 in
        time += 1000
        return time
      }
    }
    func say(_ word: AnnotateVersions.Word, _ version: VersionSummary, _ target: TargetAccess) async throws {
      _ = try await AnnotateVersions(world).run(word, of: .id(prefix: version.id), at: target)
    }
    func copied() async throws -> [VersionSummary] {
      let outcome = try await CopyVersions(world).run(CopyVersions.Request(), from: road.target, to: other)
      #expect(outcome.failures.isEmpty && outcome.copied.map(\.wasThere) == [true, true])
      let there = try await ListVersions(world).run(at: other).versions
      #expect(there.map(\.tags) == outcome.copied.map(\.version.tags))
      #expect(there.map(\.note) == outcome.copied.map(\.version.note))
      return there
    }
    try await say(.tags(add: ["release"], remove: ["nightly"]), originals[0], road.target)
    try await say(.note("kept"), originals[0], road.target)
    let second = try await copied()
    #expect(second.map(\.tags) == [["release"], ["nightly"]] && second.map(\.note) == ["kept", "number 1"])
    let told = road.notices.said.withLock { $0 }.filter { $0.contains("1 version has the tags and the note there now") }
    #expect(told.count == 1)

    try await say(.tags(add: [], remove: ["release"]), copies[0], other)
    try await say(.note("ours"), copies[0], other)
    let before = store.content
    let third = try await copied()
    #expect(third.map(\.tags) == [[], ["nightly"]] && third[0].note == "ours" && store.content == before)

    try await say(.note("theirs"), originals[0], road.target)
    let fourth = try await copied()
    #expect(fourth[0].tags.isEmpty && fourth[0].note == "theirs")

    // A clock that ran ahead has the last word once, and not for ever.
    let lookup = try await VersionLookup(at: road.target, world)
    let newest = try await lookup.find(.id(prefix: originals[1].id)).facts
    try await lookup.repository.annotate(newest, [.init(.addTag, "ahead")], now: world.now() + 1_000_000_000)
    #expect(try await copied()[1].tags == ["nightly", "ahead"])
    try await say(.tags(add: [], remove: ["ahead"]), copies[1], other)
    #expect(try await copied()[1].tags == ["nightly"])
  }

  @Test func `of two tags that look alike each comes along, and goes, alone`() async throws {
    let road = try await Road()
    let original = try #require(try await history(road, versions: 1).first)
    let (other, _) = try await repository(road, "other", key: 9)
    _ = try await copy(road, to: other)
    let lookup = try await VersionLookup(at: road.target, road.world)
    let facts = try await lookup.find(.id(prefix: original.id)).facts
    let names = ["caf\u{E9}", "cafe\u{301}"].map { ExactName($0) }
    let steps: [(item: Annotation.Item, expected: [ExactName])] = [
      (.init(.addTag, names[0].text), [names[0]]), (.init(.addTag, names[1].text), names),
      (.init(.removeTag, names[0].text), [names[1]]),
    ]
    for (number, step) in steps.enumerated() {
      try await lookup.repository.annotate(
        facts, [step.item], now: road.world.now() + UInt64(number + 1) * 1_000_000)
      let copied = try await copy(road, to: other).copied.map(\.version)
      let listed = try await ListVersions(road.world).run(at: other).versions
      for tags in [copied.map(\.tags), listed.map(\.tags)] {
        let expected = [[ExactName("nightly")] + step.expected]
        #expect(tags.map { $0.map { ExactName($0) } } == expected, "\(number)")
      }
    }
  }

  /// An annotation is as long as an object may be.
  @Test func `words that a manifest does not hold are told, and the rest is copied`() async throws {
    let road = try await Road()
    _ = try await history(road, versions: 1)
    let lookup = try await VersionLookup(at: road.target, road.world)
    let newest = try #require(try await lookup.histories().first?.versions.last)
    let long = String(repeating: "l", count: 65_536)
    try await lookup.repository.annotate(
      newest, [.init(.addTag, long), .init(.addTag, "kept"), .init(.note, long)], now: road.world.now(),
      state: lookup.state)
    let (other, _) = try await repository(road, "other", key: 9)
    let outcome = try await copy(road, to: other)
    let copied = try #require(outcome.copied.first)
    #expect(outcome.failures.isEmpty && copied.version.tags == ["nightly", "kept"] && copied.version.note.isEmpty)
    #expect(road.notices.said.withLock { $0 }.filter { $0.contains("left out of its copy") }.count == 2)
  }

  @Test func `a newest copy whose packs are gone does not count as there`() async throws {
    let road = try await Road()
    _ = try await history(road, versions: 2, rows: 2000)
    let (other, store) = try await repository(road, "other", key: 9)
    let before = try await copy(road, to: other) { $0.choice = .newest }
    #expect(before.copied.count == 1)
    for pack in store.content.keys.filter({ $0.text.hasPrefix("packs/") }) { store.content[pack] = nil }
    let again = try await copy(road, to: other) { $0.choice = .newest }
    let copy = try #require(again.copied.first)
    #expect(!copy.wasThere)
    #expect(try await bytes(road, copy.version, at: other) == bytes(road, copy.origin, at: road.target))
  }

  @Test func `a copy that is forgotten and named, found damaged or lost a pack does not count as there`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    for round in 0..<4 {
      if round > 0 { try SQLite.run("update t set body = randomblob(900)", on: database.path) }
      #expect(try await road.push(database).failures.isEmpty)
    }
    let (other, store) = try await repository(road, "other", key: 9)
    // Without deltas, so that each has a pack that no other needs.
    let copies = try await copy(road, to: other) { $0.compressionLevels["app"] = 0 }.copied.map(\.version)
    let lookup = try await VersionLookup(at: other, road.world)
    var found: [VersionLookup.Found] = []
    for copy in copies { found.append(try await lookup.find(.id(prefix: copy.id))) }
    let forget = try await ForgetVersions(road.world).plan(
      .init(.versions([.id(prefix: copies[0].id)])), at: other)
    try await ForgetVersions(road.world).carryOut(forget.chains[0], of: forget)
    try await lookup.repository.annotate(
      found[2].facts, [.init(.foundDamaged, "a pack is damaged")], now: road.world.now())
    func packs(_ index: Int) async throws -> Set<Digest> {
      Set(try #require(try await lookup.repository.packs(of: found[index].facts, state: nil)).map(\.name))
    }
    let lost = try await packs(1).subtracting(packs(0)).subtracting(packs(2)).subtracting(packs(3))
    #expect(!lost.isEmpty)
    for pack in lost {
      store.content[Layout.pack(pack, of: found[1].facts.chain)] = nil
    }

    let originals = try await ListVersions(road.world).run(at: road.target).versions
    let again = try await copy(road, to: other) { $0.choice = .versions(originals.map { .id(prefix: $0.id) }) }
    #expect(again.failures.isEmpty && again.forgotten.isEmpty)
    #expect(again.copied.map(\.wasThere) == [false, false, false, true])
    for one in again.copied {
      #expect(try await bytes(road, one.version, at: other) == bytes(road, one.origin, at: road.target))
    }
    #expect(try await copy(road, to: other).copied.allSatisfy(\.wasThere))
    try await demandSound(again.copied, of: other, store, road)

    // What was copied again lies in a lane beside the chain: its newest version is not the newest of the database.
    #expect(try await VersionLookup(at: other, road.world).histories().count > 1)
    let (third, _) = try await repository(road, "third", key: 11)
    var newest = CopyVersions.Request()
    newest.choice = .newest
    let onward = try await CopyVersions(road.world).run(newest, from: other, to: third)
    #expect(onward.failures.isEmpty && onward.copied.map(\.origin.id) == [again.copied[3].version.id])
  }

  /// By its time, too, a version is the copy that was stored last, not the one that lost a pack or was found damaged.
  private func demandSound(
    _ copied: [CopyVersions.Copied], of other: TargetAccess, _ store: MemoryStore, _ road: Road
  ) async throws {
    let chains = try await VersionLookup(at: other, road.world).histories()
    let made = Set(copied.map(\.version.id))
    // Whatever is stored is later than its snapshot.
    let now = Int(road.world.now() / 1000)
    func found(_ version: VersionSummary, madeAt time: Int) async throws -> String {
      let times = chains.flatMap(\.versions).map { facts in
        (facts.name.objectName, now + (made.contains(facts.id.hex) ? time : 1000))
      }
      var telling = other
      telling.store = ListingStore.telling(Dictionary(times) { first, _ in first }, of: store)
      return try await VersionLookup(at: telling, road.world)
        .find(.notLater(database: "app", time: version.time)).facts.id.hex
    }
    // Of the first one nothing but the copy counts: it was forgotten.
    for one in copied.dropFirst() where !one.wasThere {
      #expect(try await found(one.version, madeAt: 2000) == one.version.id)
      #expect(try await found(one.version, madeAt: 500) != one.version.id, "The order of what was stored decides.")
    }
  }

  @Test(arguments: [false, true])
  func `what was forgotten there is not copied again, pruned or not, unless it is named`(prunes: Bool) async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 10)
    let (other, store) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.count == 10)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: prunes)
    #expect(store.content.keys.filter { $0.text.hasPrefix("versions/") }.count == (prunes ? 1 : 10))
    let before = store.content
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.copied.map(\.wasThere) == [true])
    #expect(again.forgotten.map(\.id) == originals.prefix(9).map(\.id) && store.content == before)
    let said = road.notices.said.withLock { $0 }.filter { $0.contains("9 versions were forgotten there") }
    #expect(said.count == 1 && said[0].contains("--versions"))
    // The first of them are named.
    let named = originals.map { said[0].contains($0.id.prefix(12)) }
    #expect(named == [Bool](repeating: true, count: 8) + [false, false] && said[0].contains(" and 1 more;"))
    if !prunes {
      // As long as they stand, also by a machine that remembers nothing.
      let scratch = try Scratch()
      let elsewhere = try await CopyVersions(road.withoutState(scratch))
        .run(CopyVersions.Request(), from: road.target, to: other)
      #expect(elsewhere.forgotten.count == 9 && store.content == before)
    }
    let meant = try await copy(road, to: other) { $0.choice = .versions([.id(prefix: originals[3].id)]) }
    #expect(meant.failures.isEmpty && meant.copied.map(\.wasThere) == [false] && meant.forgotten.isEmpty)
    #expect(try await ListVersions(road.world).run(at: other).versions.count == 2)
    let last = try await copy(road, to: other)
    #expect(last.copied.map(\.origin.id) == [originals[3].id, originals[9].id] && last.forgotten.count == 8)
    #expect(last.copied.map(\.wasThere) == [true, true])
  }

  /// It costs a second copy, once.
  @Test(arguments: ["the state folder is lost", "the file is spoilt", "something is in its way"])
  func `where nothing is remembered, what a prune took is copied again, and nothing is lost`(
    mishap: String
  ) async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 10)
    let (other, _) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.count == 10)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
    let lookup = try await VersionLookup(at: other, road.world)
    let chain = try #require(try await lookup.histories().first).chain
    let memory = "\(lookup.state.path)/\(chain.hex)/copies"
    switch mishap {
    case "the state folder is lost": try removeFile(road.world.stateFolder)
    case "something is in its way":
      try removeFile(memory)
      try StateFiles.makeFolder(memory)
    default:
      // Each at the place behind its own, which was forgotten, too.
      let lines = String(decoding: try fileBytes(memory), as: UTF8.self).split(separator: "\n")
      #expect(lines.count == 10)
      let spoilt = lines.map { line in
        let words = line.split(separator: " ", maxSplits: 1)
        return "\((Int(words[0]) ?? 0) + 1) \(words[1])\n"
      }
      try writeFile(memory, Array(spoilt.joined().utf8))
    }
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.forgotten.isEmpty)
    #expect(again.copied.map(\.wasThere) == [Bool](repeating: false, count: 9) + [true])
    let there = try await ListVersions(road.world).run(at: other)
    #expect(there.problems.isEmpty && Set(there.versions.map(\.sha256)) == Set(originals.map(\.sha256)))
    let said = road.notices.said.withLock { $0 }.filter { $0.contains("cannot remember which copies") }
    #expect(said.count == (mishap == "something is in its way" ? 1 : 0))
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
    let last = try await copy(road, to: other)
    #expect(last.copied.map(\.wasThere) == [true, true] && last.forgotten.count == 8)
  }

  /// A host pushed to one target for years, and to both since, by the same rules.
  @Test func `what was never there is copied, however much was forgotten there`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 100))
    let (other, _) = try await repository(road, "other", key: 9)
    for number in 1...12 {
      try SQLite.run("update t set body = randomblob(900) where id = \(number)", on: database.path)
      let targets = number <= 4 ? [road.target] : [road.target, other]
      var request = Push.Request(database: database, targets: targets)
      request.tags = number <= 4 ? ["monthly"] : []
      #expect(try await Push(road.world).run(request).pushed.count == targets.count)
    }
    for target in [road.target, other] {
      try await forget(road, keeping: RetentionRules(last: 2, tags: ["monthly"]), at: target, prunes: true)
    }
    let outcome = try await copy(road, to: other)
    #expect(outcome.failures.isEmpty && outcome.forgotten.isEmpty)
    #expect(outcome.copied.map(\.wasThere) == [false, false, false, false, true, true])
  }

  @Test func `what was not copied yet is copied once, and each chain there keeps to its rules`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 12)
    let (other, _) = try await repository(road, "other", key: 9)
    let chosen = (originals[..<5] + originals[9...]).map { VersionSelector.id(prefix: $0.id) }
    let first = try await copy(road, to: other) { $0.choice = .versions(chosen) }
    #expect(first.failures.isEmpty && first.copied.count == 8)
    _ = try await AnnotateVersions(road.world).run(.pin, of: .id(prefix: first.copied[4].version.id), at: other)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
    let rest = try await copy(road, to: other)
    let ids = originals.map(\.id)
    #expect(rest.failures.isEmpty && rest.forgotten.map(\.id) == Array(ids[..<4] + ids[9..<11]))
    #expect(rest.copied.map(\.origin.id) == Array(ids[4..<9] + ids[11...]))
    #expect(rest.copied.map(\.wasThere) == [true, false, false, false, false, true])
    for _ in 0..<2 {
      try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
      let again = try await copy(road, to: other)
      #expect(again.failures.isEmpty && again.copied.map(\.wasThere) == [true, true, true])
      #expect(again.forgotten.count == 9)
    }
    #expect(try await VersionLookup(at: other, road.world).histories().count == 2)
  }

  /// No rule let go of it.
  @Test func `what the target lost is copied again, though it was forgotten at another place there`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 5)
    let (other, store) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.count == 5)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
    let three = originals.prefix(3).map { VersionSelector.id(prefix: $0.id) }
    let named = try await copy(road, to: other) { $0.choice = .versions(three) }
    #expect(named.failures.isEmpty && named.copied.map(\.wasThere) == [false, false, false])
    for one in named.copied.prefix(2) {
      let lost = try await VersionLookup(at: other, road.world).find(.id(prefix: one.version.id)).facts
      store.content[lost.name.objectName] = nil
    }
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.forgotten.map(\.id) == [originals[3].id])
    #expect(again.copied.map(\.wasThere) == [false, false, true, true])

    // What becomes of the new copy decides from now on.
    let wish = ForgetVersions.Request(.versions([.id(prefix: again.copied[0].version.id)]))
    let plan = try await ForgetVersions(road.world).plan(wish, at: other)
    for chain in plan.chains { try await ForgetVersions(road.world).carryOut(chain, of: plan) }
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    _ = try await PruneRepository(road.world).run(request, at: other)
    let last = try await copy(road, to: other)
    #expect(last.failures.isEmpty && last.forgotten.map(\.id) == [originals[0].id, originals[3].id])
    #expect(last.copied.map(\.wasThere) == [true, true, true])
  }

  /// A prune takes manifests before their packs.
  @Test func `what lacks packs there is copied again, though it is forgotten`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let (other, store) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.count == 3)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: false)
    let packs = store.content.keys.filter { $0.text.hasPrefix("packs/") }
    #expect(!packs.isEmpty)
    for pack in packs { store.content[pack] = nil }
    let again = try await copy(road, to: other)
    #expect(again.forgotten.isEmpty && again.failures.isEmpty, "\(again.failures)")
    #expect(again.copied.map(\.origin.id) == originals.map(\.id))
    #expect(again.copied.map(\.wasThere) == [false, false, false])
  }

  /// Another machine made up for what was lost. Once a rule lets go of that, nothing is left of the loss.
  @Test func `what another machine has copied again settles what was lost`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 4)
    let (other, store) = try await repository(road, "other", key: 9)
    let first = try await copy(road, to: other)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
    let three = originals.prefix(3).map { VersionSelector.id(prefix: $0.id) }
    let named = try await copy(road, to: other) { $0.choice = .versions(three) }
    #expect(first.copied.count == 4 && named.copied.map(\.wasThere) == [false, false, false])
    for one in named.copied.prefix(2) {
      let lost = try await VersionLookup(at: other, road.world).find(.id(prefix: one.version.id)).facts
      store.content[lost.name.objectName] = nil
    }
    var world = road.world
    world.stateFolder = road.scratch.file("another")
    var wish = CopyVersions.Request()
    wish.choice = .versions(Array(three.prefix(2)))
    let made = try await CopyVersions(world).run(wish, from: road.target, to: other)
    #expect(made.copied.map(\.wasThere) == [false, false], "\(made.failures)")
    let seen = try await copy(road, to: other)
    #expect(seen.copied.filter { $0.origin.id == originals[0].id }.map(\.wasThere) == [true])
    // It is let go, and taken.
    let request = ForgetVersions.Request(.versions([.id(prefix: made.copied[0].version.id)]))
    let plan = try await ForgetVersions(road.world).plan(request, at: other)
    for chain in plan.chains { try await ForgetVersions(road.world).carryOut(chain, of: plan) }
    let last = try await copy(road, to: other)
    #expect(last.forgotten.map(\.id).contains(originals[0].id), "\(last.copied.map(\.wasThere)) \(plan.refusals)")
  }

  /// What still stands there as forgotten speaks for itself alone, and not for a copy that somebody asked for since.
  @Test func `a lost copy is made again, though another one was forgotten and waits for a prune`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 5)
    let (other, store) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.count == 5)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: false)
    let three = originals.prefix(3).map { VersionSelector.id(prefix: $0.id) }
    let named = try await copy(road, to: other) { $0.choice = .versions(three) }
    #expect(named.copied.map(\.wasThere) == [false, false, false])
    for one in named.copied.prefix(2) {
      let lost = try await VersionLookup(at: other, road.world).find(.id(prefix: one.version.id)).facts
      store.content[lost.name.objectName] = nil
    }
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.forgotten.map(\.id) == [originals[3].id])
    #expect(again.copied.map(\.wasThere).prefix(2) == [false, false])
  }

  /// No rule empties a chain. That one is gone is told by whoever would go on with it.
  @Test func `what stood in a chain of which nothing is left is not passed over`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 4)
    let (other, store) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.count == 4)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
    let named = try await copy(road, to: other) { $0.choice = .versions([.id(prefix: originals[0].id)]) }
    #expect(named.copied.map(\.wasThere) == [false])
    let lost = try await VersionLookup(at: other, road.world).find(.id(prefix: named.copied[0].version.id)).facts
    store.content[lost.name.objectName] = nil
    let again = try await copy(road, to: other)
    #expect(again.forgotten.map(\.id) == [originals[1].id, originals[2].id])
    #expect(again.failures.map(\.error.code) == ["rolledBack"])
  }

  /// A tombstone is a tombstone.
  @Test func `what was given up there passes for forgotten, and can be named`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 4)
    let (other, store) = try await repository(road, "other", key: 9)
    let copies = try await copy(road, to: other).copied.map(\.version)
    let lost = try await VersionLookup(at: other, road.world).find(.id(prefix: copies[1].id)).facts
    store.content[lost.name.objectName] = nil
    let givenUp = try await ForgetLost(road.world).run(ForgetLost.Request(), at: other)
    #expect(givenUp.chains.map(\.lost) == [[2...2]])
    let again = try await copy(road, to: other)
    #expect(again.forgotten.map(\.id) == [originals[1].id] && again.copied.allSatisfy(\.wasThere))
    let named = try await copy(road, to: other) { $0.choice = .versions([.id(prefix: originals[1].id)]) }
    #expect(named.failures.isEmpty && named.copied.map(\.wasThere) == [false])
  }

  @Test func `a copy that was cut remembers what it has copied until then`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let (other, store) = try await repository(road, "other", key: 9)
    let hooked = HookedStore(
      store,
      beforePut: { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), name.text.contains("/000000000003-") else { return }
        throw StoreError(.cancelled, "interrupted")
      })
    let cut = try await copy(road, to: TargetAccess(name: "other", store: hooked, unlock: other.unlock))
    #expect(cut.interruption?.kind == .cancelled && cut.copied.count == 2)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.forgotten.map(\.id) == [originals[0].id])
    #expect(again.copied.map(\.wasThere) == [true, false])
  }

  /// Night after night rules there are tighter than those at the origin.
  @Test func `tighter rules at the other target take hold, and its chain stays one`() async throws {
    let road = try await Road()
    _ = try await history(road, versions: 3)
    let (other, _) = try await repository(road, "other", key: 9)
    let database = DatabaseSource(name: "app", path: road.scratch.file("app.db"))
    for night in 0..<4 {
      try SQLite.run("update t set body = randomblob(900) where id % 40 = \(night)", on: database.path)
      #expect(try await road.push(database).failures.isEmpty)
      let outcome = try await copy(road, to: other)
      #expect(outcome.failures.isEmpty && outcome.copied.filter { !$0.wasThere }.count == (night == 0 ? 4 : 1))
      try await forget(road, keeping: RetentionRules(last: 2), at: other, prunes: night % 2 == 0)
      #expect(try await ListVersions(road.world).run(at: other).versions.count == 2)
    }
    #expect(try await VersionLookup(at: other, road.world).histories().count == 1)
    #expect(try await ListVersions(road.world).run(at: road.target).versions.count == 7)
  }

  /// No rule has let go of what it was.
  @Test(arguments: [false, true])
  func `what was damaged there before it was forgotten is copied again, pruned or not`(prunes: Bool) async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let (other, _) = try await repository(road, "other", key: 9)
    let copies = try await copy(road, to: other).copied.map(\.version)
    let lookup = try await VersionLookup(at: other, road.world)
    let found = try await lookup.find(.id(prefix: copies[1].id))
    try await lookup.repository.annotate(
      found.facts, [.init(.foundDamaged, "a pack is damaged")], now: road.world.now())
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: prunes)
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.forgotten.map(\.id) == [originals[0].id])
    #expect(again.copied.map(\.origin.id) == originals.dropFirst().map(\.id))
    #expect(again.copied.map(\.wasThere) == [false, true])
  }

  @Test func `what stands there damaged is copied again, though its second copy was forgotten`() async throws {
    let road = try await Road()
    _ = try await history(road, versions: 4)
    let (other, _) = try await repository(road, "other", key: 9)
    let copies = try await copy(road, to: other).copied.map(\.version)
    let lookup = try await VersionLookup(at: other, road.world)
    for version in copies[1...2] {
      let found = try await lookup.find(.id(prefix: version.id))
      try await lookup.repository.annotate(
        found.facts, [.init(.foundDamaged, "a pack is damaged")], now: road.world.now())
    }
    let second = try await copy(road, to: other)
    #expect(second.failures.isEmpty && second.copied.map(\.wasThere) == [true, false, false, true])
    let wish = ForgetVersions.Request(.versions([.id(prefix: second.copied[1].version.id)]))
    let plan = try await ForgetVersions(road.world).plan(wish, at: other)
    for chain in plan.chains { try await ForgetVersions(road.world).carryOut(chain, of: plan) }
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    #expect(try await PruneRepository(road.world).run(request, at: other).problems.isEmpty)
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.forgotten.isEmpty)
    #expect(again.copied.map(\.wasThere) == [true, false, true, true])
  }

  /// Nor does a rule let go of what was not there to be kept.
  @Test func `what was not whole when it was seen last is copied again, though it was forgotten since`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    for round in 0..<3 {
      if round > 0 { try SQLite.run("update t set body = randomblob(900)", on: database.path) }
      #expect(try await road.push(database).failures.isEmpty)
    }
    let originals = try await ListVersions(road.world).run(at: road.target).versions
    let (other, store) = try await repository(road, "other", key: 9)
    // Without deltas, so that each has a pack that no other needs.
    let copies = try await copy(road, to: other) { $0.compressionLevels["app"] = 0 }.copied.map(\.version)
    let lookup = try await VersionLookup(at: other, road.world)
    func packs(_ index: Int) async throws -> Set<ObjectName> {
      let facts = try await lookup.find(.id(prefix: copies[index].id)).facts
      let packs = try #require(try await lookup.repository.packs(of: facts, state: nil))
      return Set(packs.map { Layout.pack($0.name, of: facts.chain) })
    }
    let lost = try await packs(1).subtracting(packs(0)).subtracting(packs(2))
    #expect(!lost.isEmpty)
    for pack in lost { store.content[pack] = nil }
    // A copy that finds it so, and can store nothing.
    var full = other
    full.store = HookedStore(
      store, beforePut: { _ async throws(StoreError) in throw StoreError(.full, "there is no room") })
    #expect(try await !copy(road, to: full).failures.isEmpty)
    try await forget(road, keeping: RetentionRules(last: 1), at: other, prunes: true)
    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.forgotten.map(\.id) == [originals[0].id])
    #expect(again.copied.map(\.wasThere) == [false, true])
  }

  @Test func `a newest copy that was found damaged is followed by a sound one, which is the latest`() async throws {
    let road = try await Road()
    _ = try await history(road, versions: 2)
    let (other, _) = try await repository(road, "other", key: 9)
    let damaged = try #require(try await copy(road, to: other).copied.last?.version)
    let lookup = try await VersionLookup(at: other, road.world)
    let found = try await lookup.find(.id(prefix: damaged.id))
    try await lookup.repository.annotate(
      found.facts, [.init(.foundDamaged, "a pack is damaged")], now: road.world.now())

    let again = try await copy(road, to: other)
    #expect(again.failures.isEmpty && again.copied.map(\.wasThere) == [true, false])
    let sound = try #require(again.copied.last?.version)
    for selector in [VersionSelector.latest(database: "app"), .notLater(database: "app", time: damaged.time)] {
      let latest = try await VersionLookup(at: other, road.world).find(selector)
      #expect(latest.facts.id.hex == sound.id)
      #expect(latest.facts.chain == found.facts.chain && latest.facts.sequence == found.facts.sequence + 1)
    }
    #expect(try await copy(road, to: other).copied.allSatisfy(\.wasThere))
  }

  @Test func `an older version never comes after a younger one`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let (other, _) = try await repository(road, "other", key: 9)
    _ = try await copy(road, to: other) { $0.choice = .versions([.id(prefix: originals[1].id)]) }
    let rest = try await copy(road, to: other)
    #expect(rest.copied.map(\.wasThere) == [false, true, false])
    let latest = try await ListVersions(road.world).show(.latest(database: "app"), at: other).summary
    #expect(latest.sha256 == originals[2].sha256)
    for original in originals {
      let then = try await ListVersions(road.world).show(.notLater(database: "app", time: original.time), at: other)
      #expect(then.summary.time == original.time)
    }
    // The host that pushed them goes on where the copies end.
    let database = DatabaseSource(name: "app", path: road.scratch.file("app.db"))
    try SQLite.run("delete from t where id > 200", on: database.path)
    let next = try await Push(road.world).run(Push.Request(database: database, targets: [other])).pushed[0].version
    #expect(next.sequence == 3)
  }

  /// - Returns: what was fetched at the source, too.
  private func watchedCopy(
    _ road: Road, to target: TargetAccess
  ) async throws -> (outcome: CopyVersions.Outcome, fetched: [String]) {
    let fetched = Locked<[String]>([])
    var source = road.target
    source.store = HookedStore(
      road.store, beforeGet: { name async throws(StoreError) in fetched.withLock { $0.append(name.text) } })
    let outcome = try await CopyVersions(road.world).run(CopyVersions.Request(), from: source, to: target)
    return (outcome, fetched.withLock { $0 })
  }

  @Test(arguments: [1, 3])
  func `nothing is fetched for a chain there that went back, which is told once`(lost: Int) async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 5)
    let chain = try #require(try await VersionLookup(at: road.target, road.world).histories().first).chain
    let (other, store) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.count == 5)
    let left = 5 - lost
    let there = try #require(try await VersionLookup(at: other, road.world).histories().first)
    for version in there.versions.dropFirst(left) { store.content[version.name.objectName] = nil }
    #expect(try await road.push(DatabaseSource(name: "second", path: try road.orders(rows: 300))).failures.isEmpty)

    let (outcome, fetched) = try await watchedCopy(road, to: other)
    #expect(outcome.failures.map(\.error.code) == ["rolledBack"] && outcome.failures.map(\.database) == ["app"])
    #expect(outcome.failures.first?.version == nil)
    #expect(outcome.copied.filter(\.wasThere).map(\.origin.id) == originals.prefix(left).map(\.id))
    #expect(outcome.copied.filter { !$0.wasThere }.map(\.origin.database) == ["second"])
    #expect(fetched.filter { $0.hasPrefix(Layout.packs(of: chain)) }.isEmpty)
    // Also to who asks for nothing that is gone.
    let old = try await copy(road, to: other) { $0.choice = .versions([.id(prefix: originals[0].id)]) }
    #expect(old.copied.map(\.wasThere) == [true] && old.failures.map(\.error.code) == ["rolledBack"])
    // Accepted as the hint says, what is gone is brought once more.
    let hint = try #require(old.failures.first?.error.hint)
    let state = try await VersionLookup(at: other, road.world).state
    let mark = "\(state.path)/\(there.chain.hex)/mark.json"
    #expect(hint.hasSuffix("rm '\(mark)'") && hint.contains("What only `copy` brings there"))
    try removeFile(mark)
    let again = try await copy(road, to: other) { $0.databases = ["app"] }
    #expect(again.failures.isEmpty && again.copied.map(\.origin.id) == originals.map(\.id))
    #expect(again.copied.count(where: \.wasThere) == left)
  }

  @Test func `a lane there that went back keeps no other version away`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let (other, store) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other) { $0.choice = .versions([.id(prefix: originals[2].id)]) }.failures.isEmpty)
    // The two before it lie in a lane.
    let rest = try await copy(road, to: other).copied
    #expect(rest.map(\.wasThere) == [false, false, true])
    let lost = try await VersionLookup(at: other, road.world).find(.id(prefix: rest[1].version.id)).facts
    store.content[lost.name.objectName] = nil
    let database = DatabaseSource(name: "app", path: road.scratch.file("app.db"))
    try SQLite.run("update t set body = randomblob(900) where id % 40 = 3", on: database.path)
    let new = try #require(try await road.push(database).pushed.first).version
    let outcome = try await copy(road, to: other)
    #expect(outcome.failures.map(\.error.code) == ["rolledBack"])
    #expect(outcome.copied.map(\.origin.id) == [originals[0].id, originals[2].id, new.id])
    #expect(outcome.copied.map(\.wasThere) == [true, true, false])
  }

  @Test func `what cannot be read of what was seen of a chain there keeps no other database away`() async throws {
    let road = try await Road()
    let first = try #require(try await history(road, versions: 1).first)
    let (other, _) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.count == 1)
    let lookup = try await VersionLookup(at: other, road.world)
    let there = try #require(try await lookup.histories().first)
    let mark = "\(lookup.state.path)/\(there.chain.hex)/mark.json"
    try removeFile(mark)
    // Nobody reads a folder as a file, not even the super-user.
    try FileManager.default.createDirectory(atPath: mark, withIntermediateDirectories: false)
    // Also to who has nothing for it.
    #expect(try await copy(road, to: other).failures.map(\.error.code) == ["stateFolder"])
    let database = DatabaseSource(name: "app", path: road.scratch.file("app.db"))
    for number in 0..<2 {
      try SQLite.run("update t set body = randomblob(900) where id % 40 = \(number)", on: database.path)
      #expect(try await road.push(database).failures.isEmpty)
    }
    #expect(try await road.push(DatabaseSource(name: "second", path: try road.orders(rows: 300))).failures.isEmpty)

    let outcome = try await copy(road, to: other)
    #expect(outcome.failures.map(\.error.code) == ["stateFolder"] && outcome.failures.map(\.database) == ["app"])
    #expect(outcome.failures.first?.error.hint?.contains("mv '\(mark)'") == true)
    #expect(outcome.copied.filter(\.wasThere).map(\.origin.id) == [first.id])
    #expect(outcome.copied.filter { !$0.wasThere }.map(\.origin.database) == ["second"])
  }

  @Test func `a listing there that is late refuses no version`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let (other, store) = try await repository(road, "other", key: 9)
    let two = originals.prefix(2).map { VersionSelector.id(prefix: $0.id) }
    #expect(try await copy(road, to: other) { $0.choice = .versions(two) }.failures.isEmpty)
    let early = try await store.list(prefix: Layout.versions)
    #expect(try await copy(road, to: other).failures.isEmpty)
    var late = other
    late.store = ListingStore.after(early, of: store)
    let outcome = try await copy(road, to: late)
    #expect(outcome.failures.isEmpty && outcome.copied.map(\.origin.id) == originals.map(\.id))
    #expect(try await ListVersions(road.world).run(at: other).versions.count == 3)
  }

  @Test func `the same repository is refused, by whatever way it is reached`() async throws {
    let road = try await Road()
    _ = try await history(road, versions: 1)
    let before = road.store.content
    let again = TargetAccess(name: "again", store: MemoryStore(location: "memory:again"), unlock: road.target.unlock)
    (again.store as? MemoryStore)?.content = before
    for target in [road.target, again] {
      let error = await #expect(throws: OperationError.self) { try await copy(road, to: target) }
      #expect(error?.code == "sameRepository" && error?.kind == .usage)
    }
    #expect(road.store.content == before)
  }

  @Test func `a version that is damaged is named, and the others are copied`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    // What only the first version's manifest holds: its riders, its map.
    let name = try #require(
      road.store.content.keys.first { $0.text.contains("/000000000002-") && $0.text.hasPrefix("versions/") })
    road.store.content[name]?[200] ^= 1
    let (other, _) = try await repository(road, "other", key: 9)
    let scratch = try Scratch()
    let outcome = try await CopyVersions(road.withoutState(scratch)).run(
      CopyVersions.Request(), from: road.target, to: other)
    #expect(outcome.copied.map(\.origin.id) == [originals[0].id, originals[2].id])
    #expect(outcome.failures.contains { $0.error.kind == .verificationFailed })
  }

  @Test func `a copy of a copy says where it began, and names choose`() async throws {
    let road = try await Road()
    let original = try #require(try await history(road, versions: 1).first)
    let (other, _) = try await repository(road, "other", key: 9)
    let (third, _) = try await repository(road, "third", key: 10)
    #expect(
      try await copy(road, to: other) { $0.databases = ["nothing"] }.failures.map(\.error.kind) == [.noSuchVersion])
    _ = try await copy(road, to: other) { $0.databases = ["app"] }
    let outcome = try await CopyVersions(road.world).run(CopyVersions.Request(), from: other, to: third)
    let copy = try #require(outcome.copied.first).version
    #expect(try await ListVersions(road.world).show(.id(prefix: copy.id), at: third).copiedFrom == original.id)
    // Back to where it came from: it is there.
    let back = try await CopyVersions(road.world).run(CopyVersions.Request(), from: third, to: road.target)
    #expect(back.copied.map(\.wasThere) == [true] && back.copied[0].version.id == original.id)
  }

  @Test func `both branches of a fork are copied, and once the machines have parted it is no failure`() async throws {
    let shelf = try await Shelf()
    let road = shelf.road
    let shared = try await shelf.week(2)
    let before = road.store.content
    let mine = try await shelf.push(40, at: Shelf.monday + 2 * Shelf.day)
    let ours = road.store.content
    road.store.content = before
    var clone = shelf
    clone.useOtherState()
    let theirs = try await clone.push(50, at: Shelf.monday + 2 * Shelf.day + 1)
    road.store.content.merge(ours) { first, _ in first }
    #expect(mine.sequence == 3 && theirs.sequence == 3)
    let ids = Set((shared + [mine, theirs]).map(\.id.hex))

    let (other, _) = try await repository(road, "other", key: 9)
    let open = try await copy(road, to: other)
    #expect(open.failures.map(\.error.code) == ["forked"] && open.copied.count == 4)
    #expect(Set(open.copied.map(\.origin.id)) == ids)
    // Which one is the newest nobody knows.
    let newest = try await copy(road, to: other) { $0.choice = .newest }
    #expect(newest.copied.isEmpty && newest.failures.map(\.error.code) == ["forked"])
    let (third, _) = try await repository(road, "third", key: 11)
    for id in ids.sorted() {
      let named = try await copy(road, to: third) { $0.choice = .versions([.id(prefix: id)]) }
      #expect(named.failures.isEmpty && named.copied.map(\.origin.id) == [id])
    }

    let parted = try await shelf.push(60, at: Shelf.monday + 3 * Shelf.day, fork: 1)
    for target in [other, third] {
      let all = try await copy(road, to: target)
      #expect(all.failures.isEmpty && all.copied.count == 5 && all.copied.count(where: \.wasThere) == 4)
      let last = try await copy(road, to: target) { $0.choice = .newest }
      #expect(last.failures.isEmpty && last.copied.map(\.origin.id) == [parted.id.hex])
    }
    let told = road.notices.said.withLock { $0 }.filter { $0.contains("stands in another chain since") }
    #expect(told.count == 4)
    // One machine alone has gone on elsewhere, for all that is known.
    #expect(told.allSatisfy { $0.contains("a machine that goes on pushing to this one") && !$0.contains("both have") })
  }

  @Test func `what a source that went back still shows is copied`() async throws {
    let road = try await Road()
    let originals = try await history(road, versions: 3)
    let lost = try #require(
      road.store.content.keys.first { $0.text.contains("/000000000003-") && $0.text.hasPrefix("versions/") })
    road.store.content[lost] = nil
    let (other, _) = try await repository(road, "other", key: 9)
    let named = try await copy(road, to: other) { $0.choice = .versions([.id(prefix: originals[0].id)]) }
    #expect(named.failures.isEmpty && named.copied.map(\.origin.id) == [originals[0].id])
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("the version was asked for by its id") })
    let newest = try await copy(road, to: other) { $0.choice = .newest }
    #expect(newest.copied.isEmpty && newest.failures.map(\.error.code) == ["rolledBack"])
    let all = try await copy(road, to: other)
    #expect(all.copied.map(\.origin.id) == originals.prefix(2).map(\.id))
    #expect(all.failures.map(\.error.code) == ["rolledBack"] && all.failures.map(\.database) == ["app"])
  }

  @Test func `what is missing elsewhere in a chain is no failure of a copy of versions, and is told`() async throws {
    let shelf = try await Shelf()
    let road = shelf.road
    let versions = try await shelf.week(4)
    road.store.content[versions[1].name.objectName] = nil
    let (other, _) = try await repository(road, "other", key: 9)
    func told() -> Int {
      road.notices.said.withLock { $0.count { $0.contains("are missing") && $0.contains("is copied all the same") } }
    }
    for (count, version) in [versions[0], versions[2], versions[3]].enumerated() {
      let named = try await copy(road, to: other) { $0.choice = .versions([.id(prefix: version.id.hex)]) }
      #expect(named.failures.isEmpty && named.copied.map(\.origin.id) == [version.id.hex])
      #expect(told() == count + 1)
    }
    let all = try await copy(road, to: other)
    #expect(all.failures.map(\.error.code) == ["hole"] && all.copied.map(\.wasThere) == [true, true, true])
    #expect(told() == 3)
  }

  @Test func `a chain that is gone is no failure of a copy of versions in another one, and is told`() async throws {
    let shelf = try await Shelf()
    let road = shelf.road
    let version = try await shelf.push(1, at: Shelf.monday)
    let gone = try await shelf.push(2, at: Shelf.monday + Shelf.day, fork: 1)
    road.store.content = road.store.content.filter { name, _ in !name.text.contains(gone.chain.hex) }
    let (other, _) = try await repository(road, "other", key: 9)
    func told() -> Int {
      road.notices.said.withLock { said in
        said.count { $0.contains("shows nothing of chain") && $0.contains("is copied all the same") }
      }
    }
    let named = try await copy(road, to: other) { $0.choice = .versions([.id(prefix: version.id.hex)]) }
    #expect(named.failures.isEmpty && named.copied.map(\.origin.id) == [version.id.hex])
    #expect(told() == 1)
    // What is gone may be the newest.
    let newest = await #expect(throws: OperationError.self) {
      try await copy(road, to: other) { $0.choice = .versions([.latest(database: "app")]) }
    }
    #expect(newest?.code == "rolledBack")
    let all = try await copy(road, to: other)
    #expect(all.failures.map(\.error.code) == ["rolledBack"] && all.copied.map(\.wasThere) == [true])
    #expect(told() == 1)
  }

  @Test(arguments: [true, false])
  func `what is wrong with another database is no matter of a copy of one`(isByName: Bool) async throws {
    let shelf = try await Shelf()
    let road = shelf.road
    let version = try await shelf.push(1, at: Shelf.monday)
    let gone = try await shelf.push(2, at: Shelf.monday, database: "gone")
    let holed = try await shelf.week(3, database: "holed")
    road.store.content = road.store.content.filter { name, _ in
      !name.text.contains(gone.chain.hex) && name != holed[1].name.objectName
    }
    let (other, _) = try await repository(road, "other", key: 9)
    let one = try await copy(road, to: other) {
      if isByName { $0.databases = ["app"] } else { $0.choice = .versions([.id(prefix: version.id.hex)]) }
    }
    #expect(one.failures.isEmpty && one.copied.map(\.origin.id) == [version.id.hex])
    let said = road.notices.said.withLock { $0 }
    #expect(!said.contains { $0.contains("shows nothing of chain") })
    // Who copies all of them hears it.
    let all = try await copy(road, to: other)
    #expect(Set(all.failures.map(\.error.code)) == ["rolledBack", "hole"])
    let named = try await copy(road, to: other) { $0.databases = ["gone"] }
    #expect(named.failures.contains { $0.error.code == "rolledBack" })
  }

  @Test func `a restored file is demanded to have its SHA-256`() throws {
    let scratch = try Scratch()
    let file = try RestoredFile(for: scratch.file("a"))
    defer { file.discard() }
    let bytes = Array("what was pushed".utf8)
    try file.setLength(bytes.count)
    try file.write(bytes[...], at: 0)
    func content(_ sha256: Digest) -> Core.FileContent {
      Core.FileContent(
        unitType: .block, unitSize: 65_536, unitCount: 1, length: UInt64(bytes.count), imageDigest: .zero,
        sha256: sha256)
    }
    try file.demand(content(.sha256(of: bytes)))
    #expect(throws: RepositoryError.self) { try file.demand(content(.sha256(of: []))) }
  }

  /// The host pushes there, too, while older versions are on their way.
  @Test func `an older version does not come after one that was pushed meanwhile`() async throws {
    let road = try await Road()
    _ = try await history(road, versions: 4)
    let (other, store) = try await repository(road, "other", key: 9)
    let database = DatabaseSource(name: "app", path: road.scratch.file("app.db"))
    let elsewhere = try Scratch()
    var hooked = other
    let pushed = Locked<[VersionSummary]>([])
    let manifests = Counter()
    hooked.store = HookedStore(
      store,
      afterPut: { [world = road.withoutState(elsewhere)] name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), manifests.add(1) == 2 else { return }
        let outcome = try? await Push(world).run(Push.Request(database: database, targets: [other]))
        pushed.withLock { $0 += outcome?.pushed.map(\.version) ?? [] }
      })
    let outcome = try await copy(road, to: hooked)
    #expect(outcome.failures.isEmpty && outcome.copied.count == 4)
    let now = try #require(pushed.withLock { $0 }.first)
    let scratch = try Scratch()
    let latest = try await ListVersions(road.withoutState(scratch)).show(.latest(database: "app"), at: other)
    #expect(latest.summary.id == now.id)
    let all = try await ListVersions(road.world).run(at: other)
    #expect(all.problems.isEmpty && all.versions.count == 5)
  }

  @Test func `after a clock that ran ahead, the newest copy is that of the newest version`() async throws {
    let shelf = try await Shelf()
    let road = shelf.road
    var originals: [VersionFacts] = []
    for (round, hours) in [0, 100, 1, 2, 101].enumerated() {
      originals.append(try await shelf.push(UInt64(round), at: Shelf.monday + UInt64(hours) * 3_600_000))
    }
    let (other, _) = try await repository(road, "other", key: 9)
    func latest(_ world: World) async throws -> VersionSummary {
      try await ListVersions(world).show(.latest(database: "app"), at: other).summary
    }
    // Four of them, and then the fifth, by a machine that remembers nothing.
    let four = originals.prefix(4).map { VersionSelector.id(prefix: $0.id.hex) }
    #expect(try await copy(road, to: other) { $0.choice = .versions(four) }.failures.isEmpty)
    #expect(try await latest(road.world).sha256 == originals[3].version?.file.sha256.hex)
    let fresh = try Scratch()
    let elsewhere = road.withoutState(fresh)
    let rest = try await CopyVersions(elsewhere).run(CopyVersions.Request(), from: road.target, to: other)
    #expect(rest.failures.isEmpty && rest.copied.map(\.wasThere) == [true, true, true, true, false])
    let copies = try await ListVersions(elsewhere).run(at: other).versions
    #expect(copies.map(\.sequence).sorted() == [1, 2, 3, 4, 5])
    #expect(try await latest(elsewhere).sha256 == originals[4].version?.file.sha256.hex)
  }

  /// The source does not tell any more what came after it.
  @Test func `a version of a clock that ran ahead and was pruned at the source sends none to a lane`() async throws {
    let shelf = try await Shelf()
    let road = shelf.road
    let now = road.world.now()
    try await shelf.push(1, at: now - 9 * Shelf.day)
    let ahead = try await shelf.push(2, at: now + 365 * Shelf.day)
    let (other, _) = try await repository(road, "other", key: 9)
    #expect(try await copy(road, to: other).copied.map(\.version.sequence) == [1, 2])
    let last = try await shelf.push(3, at: now - 8 * Shelf.day)
    let plan = try await ForgetVersions(road.world).plan(
      .init(.versions([.id(prefix: ahead.id.hex)])), at: road.target)
    for chain in plan.chains { try await ForgetVersions(road.world).carryOut(chain, of: plan) }
    var request = PruneRepository.Request()
    (request.runs, request.minAge) = (.one, 0)
    #expect(try await PruneRepository(road.world).run(request, at: road.target).problems.isEmpty)
    #expect(road.store.content[ahead.name.objectName] == nil)
    let outcome = try await copy(road, to: other)
    #expect(outcome.failures.isEmpty && outcome.copied.map(\.wasThere) == [true, false])
    #expect(outcome.copied.last?.origin.id == last.id.hex && outcome.copied.last?.version.sequence == 3)
    #expect(try await VersionLookup(at: other, road.world).histories().count == 1)
  }

  @Test func `a time that has not been yet keeps no version from its chain`() throws {
    let keyring = try Keyring.make(random: systemRandom)
    var lanes = CopyLanes(keyring, now: 100 * Shelf.day)
    func place(_ day: UInt64) throws -> UInt32 {
      let (chain, fork) = try lanes.place(host: "h", database: "d", fork: 0, time: day * Shelf.day)
      lanes.add(chain, time: day * Shelf.day)
      return fork
    }
    let step: UInt32 = 1 << 20
    let placed = try [150, 50, 40, 150, 160, 101, 90].map { try place($0) }
    #expect(placed == [0, 0, step, step, 0, 0, step])
  }

  /// Each chain there, and each lane, ends with something younger.
  @Test func `where no lane is left for an old version, it is named, and the newest arrives`() async throws {
    let shelf = try await Shelf()
    let road = shelf.road
    let old = try await shelf.push(1, at: Shelf.monday)
    let (other, store) = try await repository(road, "other", key: 9)
    let there = try await Shelf(road, at: store, key: 9)
    for lane in 0..<64 {
      try await there.push(UInt64(100 + lane), at: Shelf.monday + Shelf.day, fork: UInt32(lane) << 20)
    }
    let new = try await shelf.push(2, at: Shelf.monday + 2 * Shelf.day)
    let outcome = try await copy(road, to: other)
    #expect(outcome.failures.map(\.version) == [old.id.hex])
    #expect(outcome.failures.map(\.error.code) == ["noLane"] && outcome.failures.map(\.error.kind) == [.failed])
    #expect(outcome.copied.map(\.origin.id) == [new.id.hex] && outcome.interruption == nil)
    // In the chain of its database, which the host that pushes there next goes on with.
    let copied = try #require(outcome.copied.first).version
    #expect(copied.sequence == 2 && copied.sha256 == new.version?.file.sha256.hex)
  }

  @Test func `a lane begins beside a chain, and has its own number`() throws {
    let keyring = try Keyring.make(random: systemRandom)
    var lanes = CopyLanes(keyring)
    func place(_ time: UInt64) throws -> UInt32 {
      let (chain, fork) = try lanes.place(host: "h", database: "d", fork: 3, time: time)
      #expect(CopyLanes.fork(of: chain, host: "h", database: "d", keyring) == 3)
      lanes.add(chain, time: time)
      return fork
    }
    let step: UInt32 = 1 << 20
    let times: [UInt64] = [10, 20, 15, 16, 30, 5, 16]
    let forks: [UInt32] = [3, 3, 3 + step, 3 + step, 3, 3 + step + step, 3 + step + step]
    let placed = try times.map { try place($0) }
    #expect(placed == forks)
    #expect(throws: RepositoryError.self) { for _ in 0..<100 { _ = try place(1) } }
    let unknown = keyring.chainID(host: "h", database: "d", fork: 999_999)
    #expect(CopyLanes.fork(of: unknown, host: "h", database: "d", keyring) == 0)
  }
}

/// A store that takes so many puts, and answers nothing after the last of them.
private final class DyingStore: ObjectStore {
  private let base: MemoryStore
  private let left: Locked<Int>
  let traits: StoreTraits

  init(_ base: MemoryStore, puts: Int) {
    self.base = base
    left = Locked(puts)
    traits = base.traits
  }

  private func demandLife() throws(StoreError) {
    if left.withLock({ $0 <= 0 }) { throw StoreError(.unavailable, "the store died") }
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try demandLife()
    try await base.put(body, at: name, ifAbsent: ifAbsent)
    left.withLock { $0 -= 1 }
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try demandLife()
    return try await base.get(name, range: range)
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    try demandLife()
    return try await base.head(name)
  }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try demandLife()
    return try await base.list(prefix: prefix)
  }

  func delete(_ name: ObjectName) async throws(StoreError) {
    try demandLife()
    try await base.delete(name)
  }
}
