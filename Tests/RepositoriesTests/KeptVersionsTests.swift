import Glibc
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// The one file that says what the manifests of a chain said: never believed against a listing, never when somebody
/// touched it, and no version is missed when it is old.
@Suite struct KeptVersionsTests {
  private func chain(of count: Int, _ home: Home? = nil) async throws -> (Home, [StoredManifest]) {
    let made = try await Home()
    let home = home ?? made
    var versions: [StoredManifest] = []
    for seed in 0..<count { versions.append(try await home.push(home.image(pages: 4, seed: UInt64(seed))).manifest) }
    return (home, versions)
  }

  private func listing(_ home: Home) async throws -> ChainListing {
    ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
  }

  /// Lists the chain; gives the history and the manifests that were fetched for it.
  private func list(
    _ home: Home, state: StateFolder? = nil, keys: SealingKeys? = nil
  ) async throws -> (history: ChainHistory, fetched: Int) {
    let fetched = Locked(0)
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix("versions/") { fetched.withLock { $0 += 1 } }
      })
    let repository = Repository(
      store: store, keys: keys ?? home.repository.keys, random: systemRandom, slot: home.repository.slot)
    let history = try await repository.history(of: listing(home), state: state ?? home.state)
    return (history, fetched.withLock { $0 })
  }

  private func path(_ home: Home) throws -> String { "\(try home.state.path)/\(home.chain.hex)/versions" }

  @Test func `what was listed once is not fetched again, and says the same`() async throws {
    let (home, versions) = try await chain(of: 6)
    home.forgetState()
    let cold = try await list(home)
    #expect(cold.fetched == 6)
    let warm = try await list(home)
    #expect(warm.fetched == 0)
    #expect(warm.history.versions == cold.history.versions)
    #expect(warm.history.versions == versions.map(\.facts))
    #expect(warm.history.problems.isEmpty)
    let more = try await home.push(home.image(pages: 4, seed: 77)).manifest
    #expect(try await list(home).history.versions == (versions + [more]).map(\.facts))
  }

  @Test func `a list that an earlier release kept does not say whether companions are lacking`() async throws {
    let facts = try await chain(of: 1).1.map(\.facts)
    let now = VersionFacts.encode(facts)
    let then: [UInt8] = [0] + now.dropFirst().dropLast()
    #expect(facts[0].version?.lacksCompanions == false)
    #expect(try VersionFacts.decode(now, of: facts[0].chain) == facts)
    let earlier = try VersionFacts.decode(then, of: facts[0].chain)
    #expect(earlier.map(\.name) == facts.map(\.name))
    #expect(earlier[0].isComplete && earlier[0].version?.lacksCompanions == nil)
    #expect(throws: SealError.self) { try VersionFacts.decode([2] + now.dropFirst(), of: facts[0].chain) }
  }

  @Test func `a version that is gone is gone, whatever was kept`() async throws {
    let (home, versions) = try await chain(of: 4)
    _ = try await list(home)
    home.store.content[versions[1].name.objectName] = nil
    let holed = try await list(home).history
    #expect(holed.versions.map(\.sequence) == [1, 3, 4])
    #expect(holed.problems.map(\.code) == [.hole])
    home.store.content[versions[3].name.objectName] = nil
    let listing = try await listing(home)
    let cut = try await home.repository.history(of: listing, state: home.state)
    #expect(cut.newest?.sequence == 3)
    let error = await #expect(throws: RepositoryError.self) {
      try await home.repository.checkFreshness(of: listing, history: cut, state: home.state)
    }
    #expect(error?.code == .rolledBack)
  }

  /// Of a long one partial manifests were there already.
  @Test(arguments: [false, true])
  func `a push of this machine that ended behind the listing is no way back`(isLong: Bool) async throws {
    let (home, _) = try await chain(of: 2)
    let image = home.image(pages: 60, seed: 77)
    let later = try await home.push(image, packsPerPartial: isLong ? 1 : 64).manifest
    let objects = try await home.store.list(prefix: Layout.versions).filter { $0.name != later.name.objectName }
    let listing = ChainListing(chain: home.chain, objects: objects)
    #expect(listing.sequences.contains(3) == isLong)
    let history = try await home.repository.history(of: listing, state: home.state)
    func refusal() async -> RepositoryError? {
      await #expect(throws: RepositoryError.self) {
        try await home.repository.checkFreshness(of: listing, history: history, state: home.state)
      }
    }
    let conflict = await refusal()
    #expect(conflict?.code == .conflict && conflict?.message.contains("while the target was listed") == true)
    home.store.content[later.name.objectName] = nil
    #expect(await refusal()?.code == .rolledBack)
  }

  @Test func `an object of another name is another object`() async throws {
    let (home, versions) = try await chain(of: 3)
    _ = try await list(home)
    let bytes = try #require(home.store.content[versions[1].name.objectName])
    home.store.content[versions[1].name.objectName] = nil
    let moved = VersionName(
      chain: home.chain, sequence: 2, revision: 1, length: bytes.count, digest: versions[1].name.digest)
    home.store.content[moved.objectName] = bytes
    let found = try await list(home)
    #expect(found.fetched == 1)
    #expect(found.history.unreadable == [moved])
  }

  @Test(arguments: ["flipped", "cut", "longer", "empty", "zeros", "folder"])
  func `a kept file that somebody touched is not believed`(how: String) async throws {
    let (home, versions) = try await chain(of: 5)
    home.forgetState()
    _ = try await list(home)
    let path = try path(home)
    let whole = try #require(try StateFiles.read(path))
    for place in how == "flipped" ? [0, 31, 32, 40, whole.count / 2, whole.count - 17, whole.count - 1] : [0] {
      var bytes = whole
      switch how {
      case "flipped": bytes[place] ^= 1
      case "cut": bytes.removeLast(100)
      case "longer": bytes.append(0)
      case "empty": bytes = []
      case "zeros": bytes = [UInt8](repeating: 0, count: whole.count)
      default: break
      }
      StateFiles.remove(path)
      if how == "folder" { mkdir(path, 0o700) } else { try StateFiles.write(bytes, to: path) }
      StateFiles.remove(try home.state.objects.path + "/" + versions[4].name.digest.hex)
      let found = try await list(home)
      #expect(found.fetched == 5)
      #expect(found.history.versions == versions.map(\.facts))
    }
    #expect(try await list(home).fetched == (how == "folder" ? 4 + 1 : 0))
  }

  @Test func `the file of another chain or repository is not believed`() async throws {
    let (home, versions) = try await chain(of: 3)
    home.forgetState()
    _ = try await list(home)
    let bytes = try #require(try StateFiles.read(path(home)))
    let (other, others) = try await chain(of: 3)
    other.forgetState()
    try StateFiles.makeFolder("\(other.state.path)/\(other.chain.hex)")
    try StateFiles.write(bytes, to: path(other))
    let found = try await list(other)
    #expect(found.fetched == 3)
    #expect(found.history.versions == others.map(\.facts))
    let purposes = ["versions of \(home.chain.hex)", "versions of \(other.chain.hex)", "versions"]
    let opened = purposes.map { LocalSeal.open(bytes, purpose: $0, keys: home.repository.keys) != nil }
    #expect(opened == [true, false, false])
    #expect(try await list(home).history.versions == versions.map(\.facts))
  }

  @Test func `a rotation retires what was kept before it`() async throws {
    let (home, versions) = try await chain(of: 3)
    _ = try await list(home)
    let old = home.repository.keys.keyring
    let rotated = Keyring(
      currentEpoch: 2, roots: [1: try #require(old.roots[1]), 2: SecretKey([UInt8](repeating: 9, count: 32))],
      chainKey: old.chainKey, fingerprintKey: old.fingerprintKey, hedgeKey: old.hedgeKey,
      cuts: [.init(epoch: 1, chain: home.chain, sequence: 2, coreHash: versions[1].id)])
    let keys = SealingKeys(repository: home.repository.id, keyring: rotated)
    for _ in 1...2 {
      let found = try await list(home, keys: keys).history
      #expect(found.versions.map(\.sequence) == [1, 2])
      #expect(found.unreadable == [versions[2].name])
    }
    // Kept under the same epoch, but retired by a cut since.
    let kept = KeptVersions(home.chain, in: try home.state, keys: keys)
    kept.replace(by: versions.map(\.facts), random: systemRandom)
    #expect(try await list(home, keys: keys).history.unreadable == [versions[2].name])
  }

  @Test func `long notes are read each time, and a kept list never outgrows its limit`() async throws {
    let (home, versions) = try await chain(of: 2)
    let state = try home.state
    let kept = KeptVersions(home.chain, in: state, keys: home.repository.keys)
    let body = versions[1].body
    let long = VersionFacts(
      digest: .sha256(of: [1]), length: 5000, epoch: 1, formatVersion: 0,
      body: ManifestBody(
        state: .complete, chain: home.chain, sequence: 2, revision: 1, core: body.core, bytesDecoded: 0,
        bytesFetched: 0, newBytes: 0, nextPackNumber: 1, tags: [], note: String(repeating: "n", count: 60_000),
        packTable: [], maps: []), core: versions[1].core, id: versions[1].id)
    #expect(kept.replace(by: versions.map(\.facts) + [long], random: systemRandom))
    #expect(
      Set(KeptVersions(home.chain, in: state, keys: home.repository.keys).facts.values.map(\.digest))
        == Set(versions.map(\.name.digest)))
  }

  @Test func `of more versions than fit the newest are kept, as many as fit`() async throws {
    let (home, versions) = try await chain(of: 6)
    let all = versions.map(\.facts)
    for (room, expected) in [(0, 5), (1, 4), (-1, 5)] {
      let state = try home.state
      StateFiles.remove(try path(home))
      // To the byte what five of them take; a byte less; a byte more.
      let largest = VersionFacts.encode(Array(all.suffix(5))).count - room
      let kept = KeptVersions(home.chain, in: state, keys: home.repository.keys, largest: largest)
      #expect(kept.replace(by: all, random: systemRandom))
      let found = KeptVersions(home.chain, in: state, keys: home.repository.keys, largest: largest)
      #expect(Set(found.facts.keys) == Set(all.suffix(expected).map(\.name)))
      // The next reading brings the same again: that is no other list.
      let file = try #require(try StateFiles.read(path(home)))
      #expect(found.replace(by: all, random: systemRandom))
      #expect(try StateFiles.read(path(home)) == file)
    }
  }

  /// So many manifests can be fetched, then the line is cut.
  private func source(_ home: Home, gets: Int, batch: Int) throws -> FactsSource {
    let fetched = Locked(0)
    let store = HookedStore(
      home.store,
      beforeGet: { _ async throws(StoreError) in
        let count = fetched.withLock { count in
          count += 1
          return count
        }
        if count > gets { throw StoreError(.unavailable, "the line was cut") }
      })
    let repository = Repository(
      store: store, keys: home.repository.keys, random: systemRandom, slot: home.repository.slot)
    return FactsSource(repository, home.chain, try home.state, batch: batch)
  }

  private func kept(_ home: Home) throws -> Set<VersionName> {
    Set(KeptVersions(home.chain, in: try home.state, keys: home.repository.keys).facts.keys)
  }

  @Test func `a reading that was cut was not in vain`() async throws {
    let (home, versions) = try await chain(of: 30)
    let names = versions.map(\.name)
    home.forgetState()
    let cut = try source(home, gets: 20, batch: 8)
    await #expect(throws: StoreError.self) { _ = try await cut.read(names, keep: false) }
    #expect(try kept(home) == Set(names.suffix(16)))
    let found = try await list(home)
    #expect(found.fetched == 14)
    #expect(found.history.versions == versions.map(\.facts) && found.history.problems.isEmpty)
    #expect(try kept(home) == Set(names))
  }

  @Test func `what was read before the line was cut does not hide what came last`() async throws {
    let (home, versions) = try await chain(of: 34)
    let names = versions.map(\.name)
    home.forgetState()
    // As who looks for one version reads: from the end, more and more.
    let cut = try source(home, gets: 26, batch: 8)
    let first = try await cut.read(Array(names.suffix(16)), keep: false)
    #expect(first.map(\.name) == Array(names.suffix(16)))
    await #expect(throws: StoreError.self) { _ = try await cut.read(Array(names.dropLast(16)), keep: false) }
    cut.remember(first)
    #expect(try kept(home) == Set(names.suffix(24)))
  }
}
