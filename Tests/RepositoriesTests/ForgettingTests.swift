import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Versions are forgotten, and the word is taken back: what a chain shows then, whatever a prune has deleted since.
@Suite struct ForgettingTests {
  private struct Chain {
    let home: Home
    let images: [[UInt8]]
    var versions: [StoredManifest]
    var facts: [VersionFacts] { versions.map(\.facts) }

    /// - Parameter pages: from 20 on each version has a pack of its own, below its content rides in the manifest.
    init(of count: Int, pages: Int = 4) async throws {
      home = try await Home()
      images = (0..<count).map { [home] in home.image(pages: pages, seed: UInt64($0)) }
      versions = []
      for image in images { versions.append(try await home.push(image).manifest) }
    }

    /// By number, from 1.
    @discardableResult
    func forget(_ numbers: UInt64...) async throws -> Digest {
      try await home.repository.forget(facts.filter { numbers.contains($0.sequence) }, now: 5)
    }

    func history() async throws -> ChainHistory {
      let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
      return try await home.repository.history(of: listing)
    }

    /// The numbers of the versions that count. Nothing may be wrong with the chain.
    func counting() async throws -> [UInt64] {
      let history = try await history()
      #expect(history.problems.isEmpty, "\(history.problems)")
      return history.versions.filter { !history.isForgotten($0) }.map(\.sequence)
    }

    @discardableResult
    func unforget(_ number: UInt64, at other: (any ObjectStore)? = nil) async throws -> VersionFacts {
      let history = try await history()
      let version = try #require(history.versions.first { $0.sequence == number })
      let repository = Repository(
        store: other ?? home.store, keys: home.repository.keys, random: systemRandom, slot: home.repository.slot)
      return try await repository.unforget(
        version, from: history.forgotten.tombstones(covering: version), now: 6, state: nil)
    }

    func delete(_ numbers: UInt64...) {
      for number in numbers { home.store.content[versions[Int(number) - 1].name.objectName] = nil }
    }

    /// The packs that only this version needs.
    func packs(of number: UInt64) async throws -> [Digest] {
      var packs: [UInt64: Set<Digest>] = [:]
      for fact in facts {
        packs[fact.sequence] = Set(
          try #require(try await home.repository.packs(of: fact, state: nil)).map(\.name))
      }
      let others = packs.filter { $0.key != number }.values.reduce(into: Set<Digest>()) { $0.formUnion($1) }
      return packs[number, default: []].subtracting(others).sorted()
    }
  }

  @Test(
    arguments: [
      ([2, 3, 4], [2...4]), ([1], [1...1]), ([4, 1, 3, 6], [1...1, 3...4, 6...6]), ([1, 2, 3, 4, 5, 6], [1...6]),
    ] as [([UInt64], [ClosedRange<UInt64>])])
  func `a tombstone covers what was named and nothing else`(
    numbers: [UInt64], ranges: [ClosedRange<UInt64>]
  ) async throws {
    let chain = try await Chain(of: 7)
    let covering = Tombstone.Range.covering(numbers.map { chain.facts[Int($0) - 1] })
    #expect(covering.map { $0.first...$0.last } == ranges)
    for range in covering {
      #expect(range.previousOfFirst == chain.facts[Int(range.first) - 1].version?.previous)
      #expect(range.coreHashOfLast == chain.facts[Int(range.last) - 1].id)
    }
    try await chain.home.repository.forget(numbers.map { chain.facts[Int($0) - 1] }, now: 1)
    #expect(try await chain.counting() == (1...7).filter { !numbers.contains($0) })
    // As a prune will do, one after the other: the chain never has a hole.
    for number in numbers.sorted() {
      chain.delete(number)
      #expect(try await chain.counting() == (1...7).filter { !numbers.contains($0) })
    }
    #expect(try await chain.home.push(chain.home.image(pages: 4, seed: 70)).manifest.name.sequence == 8)
    #expect(try await chain.counting().last == 8)
  }

  @Test func `versions forgotten twice, and by tombstones that overlap, leave no hole`() async throws {
    let chain = try await Chain(of: 7)
    try await chain.forget(2, 3)
    try await chain.forget(2, 3)
    try await chain.forget(3, 4, 5)
    try await chain.forget(1)
    #expect(try await chain.counting() == [6, 7])
    for number: UInt64 in [3, 1, 5, 2, 4] {
      chain.delete(number)
      #expect(try await chain.counting() == [6, 7])
    }
  }

  /// A machine that has seen a version which was forgotten and deleted since is not told of a roll-back.
  @Test func `whatever version a machine saw last, it follows the chain over what was forgotten`() async throws {
    let chain = try await Chain(of: 7)
    let home = chain.home
    try await chain.forget(1, 2, 4)
    try await chain.forget(2, 3, 4, 5)
    try await chain.unforget(2)
    chain.delete(1, 3, 4, 5)
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    for seen in chain.facts {
      for isWhole in [true, false] {
        home.forgetState()
        let state = try home.state
        #expect(HighWaterMark(sequence: seen.sequence, id: seen.id).raise(home.chain, in: state))
        let history =
          isWhole
          ? try await home.repository.history(of: listing, state: state)
          : try await home.repository.end(of: listing, state: state) { _ in true }
        try await home.repository.checkFreshness(of: listing, history: history, state: state)
      }
    }
    #expect(try await chain.counting() == [2, 6, 7])
  }

  @Test func `what is taken back counts, also when the old tombstone comes again, until it is forgotten again`()
    async throws
  {
    let chain = try await Chain(of: 4)
    let before = chain.home.store.content
    try await chain.forget(2, 3)
    let tombstone = try #require(chain.home.store.content.first { before[$0.key] == nil })
    #expect(tombstone.key.text.hasPrefix("tomb/"))
    #expect(try await chain.unforget(2) == chain.facts[1])
    #expect(try await chain.counting() == [1, 2, 4])
    // A put that was on its way for long: the same bytes under the same name.
    chain.home.store.content[tombstone.key] = tombstone.value
    #expect(try await chain.counting() == [1, 2, 4])
    // It need not be forgotten to be looked after; then nothing is stored.
    let content = chain.home.store.content
    #expect(try await chain.unforget(2) == chain.facts[1])
    #expect(chain.home.store.content == content)

    try await chain.forget(2)
    #expect(try await chain.counting() == [1, 4])
    try await chain.unforget(2)
    try await chain.unforget(3)
    #expect(try await chain.counting() == [1, 2, 3, 4])
    try await chain.forget(2, 3)
    chain.delete(2)
    #expect(try await chain.counting() == [1, 4])
    chain.delete(3)
    #expect(try await chain.counting() == [1, 4])
  }

  @Test func `what is pushed after the target lost the end of a chain is not forgotten with what was there`()
    async throws
  {
    let chain = try await Chain(of: 5)
    try await chain.forget(3, 4)
    chain.delete(3, 4, 5)
    try FileManager.default.removeItem(atPath: chain.home.state.folder(of: chain.home.chain))
    let pushed = try await chain.home.push(chain.home.image(pages: 4, seed: 77)).manifest
    #expect(pushed.name.sequence == 5 && pushed.core?.previous == chain.versions[3].id)
    #expect(try await chain.counting() == [1, 2, 5])
    // A tombstone says which version its range ends with: another one in that place is not meant.
    let other = Forgotten(
      of: chain.home.chain,
      [
        (.zero, [.init(first: 5, last: 5, previousOfFirst: chain.versions[3].id, coreHashOfLast: chain.versions[4].id)])
      ],
      takenBack: [:])
    #expect(other.contains(chain.facts[4]) && !other.contains(pushed.facts))
  }

  @Test func `a manifest that a prune is about to delete is written anew, with all that is in it`() async throws {
    let chain = try await Chain(of: 3)
    try await chain.forget(2)
    let old = chain.versions[1]
    #expect(!old.object.directory.frames.isEmpty)
    try await chain.home.condemn([old.name.digest])
    let safe = try await chain.unforget(2)
    #expect(safe.id == old.id && safe.revision == 1 && safe.digest != old.name.digest)
    chain.delete(2)
    #expect(try await chain.counting() == [1, 2, 3])
    let again = try await chain.home.repository.readManifest(safe.name)
    #expect(again.body.tags == ["t"] && again.body.note == "n" && again.core == old.core)
    // A whole new object: no salt, so no key, is used twice.
    #expect(again.object.directory.frames.map(\.frameID) == old.object.directory.frames.map(\.frameID))
    #expect(try await chain.home.read(again) == chain.images[1])
    #expect(try await chain.home.push(chain.images[0]).manifest.name.sequence == 4)
  }

  @Test func `another revision keeps every byte of the body but its number`() async throws {
    let chain = try await Chain(of: 1)
    let manifest = chain.versions[0]
    // An extension that nobody knows yet (Docs/Format.md §6.3): type 7, two bytes.
    let body = Array(manifest.object.directory.meta.dropLast(2)) + [0, 1, 0, 7, 0, 0, 0, 2, 0xAB, 0xCD]
    let other = ManifestBody.encoded(body, asRevision: 0x0102_0304)
    #expect(try ManifestBody(decoding: other).revision == 0x0102_0304)
    #expect(other.count == body.count && zip(other, body).filter { $0 != $1 }.count == 4)
    #expect(Array(other.suffix(10)) == Array(body.suffix(10)))
  }

  @Test func `a prune that comes between the look and the word is noticed: manifest`() async throws {
    let chain = try await Chain(of: 3)
    try await chain.forget(2)
    let hooked = HookedStore(
      chain.home.store,
      beforePut: { [chain] name async throws(StoreError) in
        guard name.text.hasPrefix("notes/") else { return }
        try? await chain.home.condemn([chain.versions[1].name.digest])
        chain.delete(2)
      })
    let safe = try await chain.unforget(2, at: hooked)
    #expect(safe.revision == 1)
    #expect(try await chain.counting() == [1, 2, 3])
    #expect(try await chain.home.read(chain.home.repository.readManifest(safe.name)) == chain.images[1])
  }

  @Test func `a prune that condemns each new manifest as well is outrun, or told`() async throws {
    let chain = try await Chain(of: 3)
    try await chain.forget(2)
    try await chain.home.condemn([chain.versions[1].name.digest])
    let left = Locked(2)
    let hooked = HookedStore(
      chain.home.store,
      beforePut: { [chain] name async throws(StoreError) in
        guard let version = VersionName(name) else { return }
        let goesOn = left.withLock { left in
          left -= 1
          return left >= 0
        }
        if goesOn { try? await chain.home.condemn([version.digest]) }
      })
    #expect(try await chain.unforget(2, at: hooked).revision == 3)
    #expect(try await chain.counting() == [1, 2, 3])
    left.withLock { $0 = 100 }
    try await chain.forget(2)
    let last = try #require(try await chain.history().versions.first { $0.sequence == 2 })
    try await chain.home.condemn([last.digest])
    let error = await #expect(throws: RepositoryError.self) { try await chain.unforget(2, at: hooked) }
    #expect(error?.code == .conflict)
  }

  @Test(arguments: [true, false])
  func `a prune that takes a pack between the look and the word is told, and only a person forgets it again`(
    deletes: Bool
  ) async throws {
    let chain = try await Chain(of: 3, pages: 40)
    let packs = try await chain.packs(of: 2)
    #expect(!packs.isEmpty)
    try await chain.forget(2)
    let hooked = HookedStore(
      chain.home.store,
      beforePut: { [chain] name async throws(StoreError) in
        guard name.text.hasPrefix("notes/") else { return }
        try? await chain.home.condemn(packs)
        if deletes { for pack in packs { chain.home.store.content[Layout.pack(pack, of: chain.home.chain)] = nil } }
      })
    let error = await #expect(throws: RepositoryError.self) { try await chain.unforget(2, at: hooked) }
    #expect(error?.code == .incomplete)
    #expect(error?.hint?.contains("sealift pull") == !deletes)
    #expect(error?.hint?.contains("sealift forget") == true)
    // Another machine may have taken it back and been told so: a tombstone of ours would break that promise.
    #expect(try await chain.counting() == [1, 2, 3])
    #expect(chain.home.store.content.keys.filter { $0.text.hasPrefix("tomb/") }.count == 1)
  }

  @Test(arguments: ["condemned", "missing", "short"])
  func `what a prune has taken before is not promised, and nothing is written`(how: String) async throws {
    let chain = try await Chain(of: 3, pages: 40)
    let pack = try #require(try await chain.packs(of: 2).first)
    try await chain.forget(2)
    switch how {
    case "condemned": try await chain.home.condemn([pack])
    case "missing": chain.home.store.content[Layout.pack(pack, of: chain.home.chain)] = nil
    default: chain.home.store.content[Layout.pack(pack, of: chain.home.chain)]?.removeLast()
    }
    let content = chain.home.store.content
    let error = await #expect(throws: RepositoryError.self) { try await chain.unforget(2) }
    #expect(error?.code == .incomplete)
    #expect(chain.home.store.content == content)
    // A prune notes what it takes: whatever else is missing, somebody may put back.
    #expect(error?.message.contains("no prune took it") == (how != "condemned"))
    #expect(error?.hint?.contains("Put back") == (how != "condemned"))
    #expect(error?.hint?.contains(Layout.pack(pack, of: chain.home.chain).text) == (how != "condemned"))
    try await chain.home.condemn([pack])
    chain.home.store.content[Layout.pack(pack, of: chain.home.chain)] = nil
    let deleted = await #expect(throws: RepositoryError.self) { try await chain.unforget(2) }
    #expect(deleted?.message.contains("a prune has deleted a part of it") == true)
  }

  @Test func `completeness is what listings show of packs and manifest`() async throws {
    let chain = try await Chain(of: 2, pages: 40)
    let pack = try #require(try await chain.packs(of: 1).first)
    func look() async throws -> [Completeness.Finding] {
      let completeness = try await Completeness(chain.home.repository, chain: chain.home.chain, state: nil)
      return [try await completeness.look(at: chain.facts[0]), try await completeness.look(at: chain.facts[1])]
    }
    #expect(try await look() == [.whole, .whole])
    try await chain.home.condemn([chain.facts[1].digest])
    #expect(try await look() == [.whole, .condemned])
    try await chain.home.condemn([pack])
    #expect(try await look() == [.condemned, .condemned])
    chain.home.store.content[Layout.pack(pack, of: chain.home.chain)] = nil
    #expect(try await look() == [.incomplete, .condemned])
    chain.delete(2)
    #expect(try await look() == [.incomplete, .incomplete])
  }

  @Test func `a manifest that a prune deletes between the listing and the reading is no damage`() async throws {
    let chain = try await Chain(of: 3)
    try await chain.forget(1, 2)
    let store = chain.home.store
    let names = chain.versions.prefix(2).map(\.name.objectName)
    let hooked = HookedStore(
      store,
      beforeGet: { name async throws(StoreError) in
        // It goes in the moment in which it is asked for.
        if names.contains(name) { store.content[name] = nil }
      })
    let repository = Repository(
      store: hooked, keys: chain.home.repository.keys, random: chain.home.repository.random,
      slot: chain.home.repository.slot)
    let contents = store.content
    let listing = ChainListing(chain: chain.home.chain, objects: try await store.list(prefix: Layout.versions))
    let history = try await repository.history(of: listing)
    #expect(history.problems.isEmpty && history.versions.map(\.sequence) == [3], "\(history.problems)")
    store.content = contents
    let end = try await repository.end(of: listing) { _ in false }
    #expect(end.problems.isEmpty && end.unreadable.isEmpty, "\(end.problems)")
    // Listed and not there is damage, as before.
    store.content = contents
    let broken = HookedStore(
      store,
      beforeGet: { name async throws(StoreError) in
        if names.contains(name) { throw StoreError(.notFound, "it is not there") }
      })
    let other = Repository(
      store: broken, keys: chain.home.repository.keys, random: chain.home.repository.random,
      slot: chain.home.repository.slot)
    #expect(try await other.history(of: listing).problems.map(\.code) == [.damaged, .damaged])
  }

  /// Only who holds a retired key would do so: to speak, from before the cut, of a version behind it.
  @Test func `what names another place for a version says nothing of it`() async throws {
    let chain = try await Chain(of: 3)
    let (repository, version) = (chain.home.repository, chain.facts[1])
    let tombstone = try await chain.forget(2)
    func say(at sequence: UInt64) async throws -> (words: [String?], isPinned: Bool, isForgotten: Bool) {
      let items: [Annotation.Item] = [
        .init(.addTag, "tag"), .init(.note, "note"), .init(.pin), .init(.foundDamaged, "a page"),
        DrillResult(passed: true, time: 1, text: "drill").item, .init(unforget: [tombstone]),
      ]
      let word = Annotation(chain: version.chain, sequence: sequence, coreHash: version.id, time: 1, items: items)
      try await repository.putRecord(.annotation, word.encode(), below: Layout.annotations(of: version.chain))
      let said = try await repository.annotations(of: version.chain, state: nil)
      let forgotten = try await repository.forgotten(of: version.chain, state: nil)
      let words: [String?] = [
        said.tags(of: version, pushedWith: []).first, said.note(of: version, pushedWith: ""), said.damage(of: version),
        said.drill(of: version)?.text, said.lastDrill(among: chain.facts, now: 2)?.result.text,
      ]
      return (words, said.isPinned(version), forgotten.contains(version))
    }
    let other = try await say(at: 1)
    #expect(other.words == [nil, "", nil, nil, nil] && !other.isPinned && other.isForgotten)
    let own = try await say(at: 2)
    #expect(own.words == ["tag", "note", "a page", "drill", "drill"] && own.isPinned && !own.isForgotten)
  }

  @Test func `a drill's word that is no result leaves the one before it`() async throws {
    let chain = try await Chain(of: 1)
    let (repository, version) = (chain.home.repository, chain.facts[0])
    let odd: [Annotation.Item] = [.init(kind: .drill, bytes: [2]), .init(kind: .drill, bytes: [])]
    func drill(after items: [Annotation.Item], at time: UInt64) async throws -> DrillResult? {
      try await repository.annotate(version, items, now: time)
      let said = try await repository.annotations(of: version.chain, state: nil)
      #expect(said.lastDrill(among: chain.facts, now: time)?.result == said.drill(of: version))
      return said.drill(of: version)
    }
    let failed = DrillResult(passed: false, time: 2, text: "no rows")
    #expect(try await drill(after: odd, at: 1) == nil)
    #expect(try await drill(after: [failed.item], at: 2) == failed)
    #expect(try await drill(after: odd, at: 3) == failed)
  }

  @Test func `a clock that went back does not unsay a later word`() async throws {
    let chain = try await Chain(of: 1)
    let (repository, version) = (chain.home.repository, chain.facts[0])
    func annotations() async throws -> Annotations {
      try await repository.annotations(of: chain.home.chain, state: nil)
    }
    let words: [Annotation.Kind] = [.pin, .unpin, .pin, .unpin, .pin]
    for (index, word) in words.enumerated() {
      let time = try await annotations().time(for: version, now: 1_000_000 - UInt64(index) * 1000)
      try await repository.annotate(version, [Annotation.Item(word)], now: time)
      #expect(try await annotations().isPinned(version) == (word == .pin))
    }
  }
}
