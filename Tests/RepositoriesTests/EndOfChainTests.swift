import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Reading a chain from its end: as little as possible, and still what two machines, a prune or a thief did is noticed.
@Suite struct EndOfChainTests {
  private func chain(of count: Int) async throws -> (Home, [StoredManifest]) {
    let home = try await Home()
    var versions: [StoredManifest] = []
    for seed in 0..<count { versions.append(try await home.push(home.image(pages: 3, seed: UInt64(seed))).manifest) }
    return (home, versions)
  }

  private struct Reading {
    let history: ChainHistory
    let listing: ChainListing
    let fetched: [UInt64]
  }

  private func end(
    _ home: Home, _ state: StateFolder? = nil, isEnough: @escaping (VersionFacts) -> Bool = { _ in true }
  ) async throws -> Reading {
    let fetched = Locked<[UInt64]>([])
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if let name = VersionName(name) { fetched.withLock { $0.append(name.sequence) } }
      })
    let repository = Repository(
      store: store, keys: home.repository.keys, random: systemRandom, slot: home.repository.slot)
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let history = try await repository.end(of: listing, state: state, isEnough: isEnough)
    if let state { try await repository.checkFreshness(of: listing, history: history, state: state) }
    return Reading(history: history, listing: listing, fetched: fetched.withLock { $0.sorted() })
  }

  @Test func `the latest is one manifest, an older one as many as lie between`() async throws {
    let (home, versions) = try await chain(of: 30)
    #expect(try await end(home).fetched == [30])
    let older = try await end(home) { $0.sequence <= 28 }
    #expect(older.fetched == [26, 27, 28, 29, 30])
    #expect(older.history.versions == versions.suffix(5).map(\.facts))
    #expect(try await end(home) { _ in false }.fetched.count == 30)
    // What was much is not fetched a second time.
    home.forgetState()
    #expect(try await end(home, home.state) { $0.sequence == 2 }.fetched.count == 30)
    let again = try await end(home, home.state) { $0.sequence == 2 }
    #expect(again.fetched == [])
    #expect(again.history.versions == versions.map(\.facts))
  }

  /// The push says that the chain is full.
  @Test func `behind the last number there is no place`() async throws {
    let home = try await Home()
    let end = ChainEnd(
      listing: ChainListing(chain: home.chain, objects: []),
      history: ChainHead(newest: nil, partials: [], unreadable: [], problems: []),
      mark: HighWaterMark(sequence: .max, id: .sha256(of: [1])), forgotten: [])
    #expect(end.next.sequence == .max && end.next.previous == .sha256(of: [1]))
  }

  @Test func `where nothing of a chain can be read, a push goes on behind it all the same`() async throws {
    let (home, versions) = try await chain(of: 1)
    home.store.content[versions[0].name.objectName]?[300] ^= 1
    home.forgetState()
    let image = home.image(pages: 3, seed: 7)
    let pushed = try await home.push(image).manifest
    #expect(pushed.name.sequence == 2)
    #expect(try await home.read(pushed) == image)
    #expect(try await home.push(home.image(pages: 3, seed: 8)).manifest.name.sequence == 3)
    // What is lost can be given up, and then nothing stands in the way of a prune.
    let lost = try await home.repository.lostVersions(of: home.chain, state: home.state)
    #expect(lost.map(\.first) == [1] && lost.map(\.last) == [1])
    try await home.repository.putTombstone(over: lost, of: home.chain, now: 1)
    let policy = PrunePolicy(twoRuns: false, now: { 1_800_000_000_000 })
    _ = try await home.repository.prune(home.chain, policy, state: home.state)?.whole()
  }

  /// Whoever brings back what could not be read must not be told that two machines push as one.
  @Test(arguments: [1, 5]) func `what could not be read fits when it is back`(count: Int) async throws {
    let (home, versions) = try await chain(of: count)
    let last = versions[count - 1].name.objectName
    let bytes = try #require(home.store.content[last])
    home.store.content[last]?[300] ^= 1
    let seen = home.store.content
    home.forgetState()
    let pushed = try await home.push(home.image(pages: 3, seed: 70)).manifest
    #expect(pushed.name.sequence == UInt64(count) + 1)
    #expect(pushed.core?.previous == home.chain.unknown(at: UInt64(count)))
    #expect(home.store.content[last] == seen[last])
    home.store.content[last] = bytes
    let policy = PrunePolicy(twoRuns: false, now: { 1_800_000_000_000 })
    for isForgotten in [false, true] {
      if isForgotten {
        try await home.repository.forget([versions[count - 1].facts], now: 1)
      }
      home.forgetState()
      let listing = try await home.repository.versionListing(of: home.chain)
      let history = try await home.repository.history(of: listing, state: home.state)
      #expect(history.problems.isEmpty && history.versions.count == count + 1)
      _ = try await home.repository.prune(home.chain, policy, state: home.state)?.whole()
    }
    let listing = try await home.repository.versionListing(of: home.chain)
    #expect(listing.versions.count == count)
    #expect(try await home.repository.history(of: listing, state: home.state).problems.isEmpty)
  }

  /// Whoever has read the version knows what it was called; whoever gives it up need not. What one of both then does must
  /// not stand in the other's way.
  @Test(arguments: [false, true], [false, true])
  func `what was given up by one who never read it is given up for all`(isTakenBack: Bool, knows: Bool) async throws {
    let (home, versions) = try await chain(of: 8)
    let last = versions[7]
    let policy = PrunePolicy(twoRuns: false, now: { 1_800_000_000_000 })
    let folder = try Scratch()
    let knowing = try StateFolder("\(folder.path)/knowing", repository: home.repository.id)
    let later = try StateFolder("\(folder.path)/later", repository: home.repository.id)
    home.forgetState()
    let ignorant = try home.state
    if isTakenBack {
      // Taken back as long as it was not the newest.
      let listing = try await home.repository.versionListing(of: home.chain)
      let tombstone = try await home.repository.forget([last.facts], now: 1)
      #expect(listing.versions.count == 8)
      _ = try await home.repository.unforget(last.facts, from: [tombstone], now: 2, state: knowing)
    }
    _ = try await home.repository.prune(home.chain, policy, state: knowing)?.whole()
    #expect(HighWaterMark(sequence: 8, id: last.id).raise(home.chain, in: knowing))
    home.store.content[last.name.objectName]?[300] ^= 1
    let pushed = try await home.push(home.image(pages: 3, seed: 70)).manifest
    #expect(pushed.name.sequence == 9 && pushed.core?.previous == home.chain.unknown(at: 8))

    let giver = knows ? knowing : ignorant
    let lost = try await home.repository.lostVersions(of: home.chain, state: giver)
    #expect(lost.map(\.first) == [8] && lost.map(\.last) == [8])
    #expect(try await home.repository.giveUp(lost, of: home.chain, now: 3, state: giver).isEmpty)
    for state in [knowing, ignorant, later] {
      let listing = try await home.repository.versionListing(of: home.chain)
      let history = try await home.repository.history(of: listing, state: state)
      #expect(history.problems.isEmpty && history.lost.isEmpty && history.goneThoughTakenBack.isEmpty)
      #expect(!history.versions.contains { $0.sequence == 8 && !history.isForgotten($0) })
      _ = try await home.repository.prune(home.chain, policy, state: state)?.whole()
    }
    #expect(home.store.content[last.name.objectName] == nil)
    #expect(try await home.push(home.image(pages: 3, seed: 71)).manifest.name.sequence == 10)
  }

  @Test func `a tombstone over all there can ever be leaves no place for a push`() async throws {
    let (home, versions) = try await chain(of: 2)
    let range = Tombstone.Range(first: 1, last: .max, previousOfFirst: .zero, coreHashOfLast: versions[1].id)
    try await home.repository.putTombstone(over: [range], of: home.chain, now: 1)
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 3, seed: 9)) }
    #expect(error?.code == .conflict)
    #expect(MissingVersions.gaps(upTo: 5, between: [1...UInt64.max]).isEmpty)
    #expect(MissingVersions.gaps(upTo: 5, between: [3...4]) == [1...2, 5...5])
  }

  @Test func `a push reads the newest manifest only, also without state`() async throws {
    let (home, _) = try await chain(of: 9)
    home.forgetState()
    let fetched = Locked<[UInt64]>([])
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if let name = VersionName(name) { fetched.withLock { $0.append(name.sequence) } }
      })
    #expect(try await home.push(home.image(pages: 3, seed: 99), at: store).manifest.name.sequence == 10)
    #expect(fetched.withLock { $0 } == [9])
  }

  @Test func `a manifest that cannot be read, or was forgotten, is not the end`() async throws {
    let (home, versions) = try await chain(of: 8)
    home.store.content[versions[7].name.objectName]?[200] ^= 1
    let range = Tombstone.Range(
      first: 6, last: 7, previousOfFirst: versions[4].id, coreHashOfLast: versions[6].id)
    let builder = ObjectBuilder(kind: .tombstone, keys: home.repository.keys, random: systemRandom)
    let sealed = try builder.finish(meta: Tombstone(chain: home.chain, time: 1, ranges: [range]).encode())
    home.store.content[Layout.known("tomb/\(home.chain.hex)/\(sealed.bytes.count)-\(sealed.name.hex)")] = sealed.bytes
    let history = try await end(home).history
    #expect(history.unreadable == [versions[7].name])
    #expect(history.versions.last { !history.isForgotten($0) } == versions[4].facts)
  }

  @Test func `two machines at one place are noticed far behind the end`() async throws {
    let (home, _) = try await chain(of: 3)
    let shared = home.store.content
    _ = try await home.push(home.image(pages: 3, seed: 50))
    let clone = try await Home(sharing: home, content: shared)
    _ = try await clone.push(clone.image(pages: 3, seed: 51))
    for seed in 0..<5 { _ = try await clone.push(clone.image(pages: 3, seed: 60 + UInt64(seed))) }
    home.store.content.merge(clone.store.content) { first, _ in first }
    home.forgetState()
    let found = try await end(home)
    #expect(found.fetched == [4, 4, 9])
    #expect(found.history.problems.map(\.code) == [.forked])
    Fault.wentBack.met("fork")
  }

  /// The mark is at 4 of 12; what the target shows beyond it must continue it.
  @Test func `another newest version in the place of the one that was seen is told`() async throws {
    let (home, _) = try await chain(of: 3)
    home.forgetState()
    let state = try home.state
    #expect(HighWaterMark(sequence: 3, id: .sha256(of: [3])).raise(home.chain, in: state))
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let history = try await home.repository.history(of: listing, state: state)
    let error = await #expect(throws: RepositoryError.self) {
      try await home.repository.checkFreshness(of: listing, history: history, state: state)
    }
    #expect(error?.code == .forked)
    Fault.wentBack.met("fork")
  }

  @Test func `a version that does not continue the one before it is told`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 5, seed: 1))
    let twin = try await Home(sharing: home, content: home.store.content)
    _ = try await home.push(home.image(pages: 5, seed: 2))
    let hidden = try await twin.push(twin.image(pages: 5, seed: 3)).manifest.name.objectName
    _ = try await twin.push(twin.image(pages: 5, seed: 4))
    // The third version of one machine upon the second of the other.
    home.store.content.merge(twin.store.content) { first, _ in first }
    home.store.content[hidden] = nil
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let history = try await home.repository.history(of: listing, state: nil)
    #expect(history.versions.map(\.sequence) == [1, 2, 3])
    #expect(!history.problems.isEmpty)
    Fault.wentBack.met("fork")
  }

  @Test(arguments: ["whole", "hole", "replaced", "seen is gone", "older is gone"])
  func `from what this machine has seen, every link is followed`(what: String) async throws {
    let (home, versions) = try await chain(of: 12)
    home.forgetState()
    let state = try home.state
    #expect(HighWaterMark(sequence: 4, id: versions[3].id).raise(home.chain, in: state))
    switch what {
    case "hole": home.store.content[versions[7].name.objectName] = nil
    case "seen is gone": home.store.content[versions[3].name.objectName] = nil
    case "older is gone": home.store.content[versions[1].name.objectName] = nil
    case "replaced":
      home.forgetState()
      #expect(HighWaterMark(sequence: 4, id: .sha256(of: [4])).raise(home.chain, in: try home.state))
    default: break
    }
    let current = try home.state
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let whole = try await home.repository.history(of: listing, state: current)
    var code: RepositoryError.Code?
    do {
      try await home.repository.checkFreshness(of: listing, history: whole, state: current)
    } catch let error as RepositoryError {
      code = error.code
    }
    // A list, which has read all of it, comes to the same.
    #expect(code == ["hole": .hole, "replaced": .forked][what])
    switch what {
    case "hole":
      let error = await #expect(throws: RepositoryError.self) { try await end(home, current) }
      #expect(error?.code == .hole)
    case "replaced":
      let error = await #expect(throws: RepositoryError.self) { try await end(home, current) }
      #expect(error?.code == .forked)
    case "seen is gone":
      // The next one names it as what came before: nothing of the past can be another one.
      #expect(try await end(home, current).history.newest == versions[11].facts)
    default:
      #expect(try await end(home, current).fetched.filter { $0 < 4 }.isEmpty)
    }
    Fault.wentBack.met("chain, \(what)")
  }
}
