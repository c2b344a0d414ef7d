import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Whoever restores asks for several things at once: a target that is far away answers each of them late.
@Suite struct RequestsAtOnceTests {
  @Test func `frames of one wave are asked for at once`() async throws {
    let (home, version) = try await made()
    let store = MeetingStore(home.store) { name, range in !version.isDirectory(range, of: name, in: home.chain) }
    #expect(try await home.read(version.manifest, from: store) == version.image)
    #expect(store.most > 1)
  }

  @Test func `waves of one frame each are asked for at once`() async throws {
    let (home, version) = try await made()
    let store = MeetingStore(home.store) { name, range in !version.isDirectory(range, of: name, in: home.chain) }
    let limits = RestoreWave.Limits(sealed: 1, steps: 1)
    #expect(try await home.read(version.manifest, from: store, limits: limits) == version.image)
    #expect(store.most > 1)
  }

  @Test func `directories are asked for at once`() async throws {
    let (home, version) = try await made()
    let store = MeetingStore(home.store) { name, range in version.isDirectory(range, of: name, in: home.chain) }
    let repository = Repository(
      store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let reader = try await VersionReader(version.manifest, repository: repository, state: home.state)
    let destination = MemoryDestination(of: reader)
    try await reader.read(member: 0, into: destination, onProgress: { _ in })
    #expect(destination.content == version.image)
    #expect(store.most > 1)
  }

  /// After many pushes nodes of a map lie in many packs.
  @Test func `directories of the packs that a map lies in are asked for at once`() async throws {
    let maps = try await ScatteredMaps()
    let store = MeetingStore(maps.home.store) { [packs = maps.packs, chain = maps.home.chain] name, range in
      packs.areDirectories(range, of: name, in: chain)
    }
    #expect(try await maps.read(maps.opened(from: store, nil)) == Set(1...6))
    #expect(store.most > 1)
  }

  @Test func `whoever reads a map asks for no directory that is on its way, and no other is asked for twice`()
    async throws
  {
    let maps = try await ScatteredMaps()
    let store = SlowStore(maps.home.store)
    let packs = try await maps.opened(from: store, maps.home.state)
    async let ahead: Void = packs.prefetchDirectories()
    #expect(try await maps.read(packs) == Set(1...6))
    try await ahead
    let directories = store.asked.filter { maps.packs.areDirectories($0.range, of: $0.name, in: maps.home.chain) }
    #expect(directories.count == 6)
  }

  /// Who can write to the target can plant any number of objects of the greatest length.
  @Test func `no more is on its way of objects that are fetched whole than one may have`() async throws {
    let home = try await Home()
    let chain = home.chain
    try await expectOneByOne(home, Layout.annotations(of: chain)) { repository in
      _ = try await repository.annotations(of: chain, state: nil)
    }
    try await expectOneByOne(home, Layout.tombstones(of: chain)) { _ = try await $0.tombstones(of: chain) }
    try await expectOneByOne(home, Layout.tombstones(of: chain)) { _ = try await RecordsLook($0, of: chain) }
    // Whoever writes stops at the first of these.
    try await expectOneByOne(home, Layout.condemned(of: chain)) {
      _ = try? await $0.condemnedRecords(of: chain, state: nil)
    }
    let place = "000000000001-0000-"
    try await expectOneByOne(home, Layout.versions(of: chain) + place) { repository in
      _ = try await repository.newest(of: try await repository.versionListing(of: chain))
    }
    try await expectOneByOne(home, Layout.versions(of: chain) + place) { repository in
      _ = try await repository.history(of: try await repository.versionListing(of: chain))
    }
    try await expectOneByOne(home, Layout.versions(of: chain) + place) { repository in
      let listed = try await repository.store.list(prefix: Layout.versions(of: chain))
      _ = try await ManifestsLook(listed, of: chain, repository, in: try ScratchSpool(in: home.stateFolder))
    }
  }

  /// That of a version of a hundred thousand companions takes 125 MB when it is opened.
  @Test func `long manifests are opened one by one`() async throws {
    let home = try await Home(at: MemoryStore(concurrency: 8))
    var manifests: [StoredManifest] = []
    for seed: UInt64 in 1...4 { manifests.append(try await home.push(home.image(pages: 4, seed: seed)).manifest) }
    let history = try await home.repository.history(of: try await home.repository.versionListing(of: home.chain))
    var versions: [VersionFacts] = []
    for manifest in manifests {
      let long = VersionName(
        chain: home.chain, sequence: manifest.name.sequence, revision: 0, length: Repository.manifestBytesAtOnce,
        digest: manifest.name.digest)
      home.store.content[long.objectName] = home.store.content[manifest.name.objectName]
      let longer = StoredManifest(
        name: long, object: manifest.object, body: manifest.body, core: manifest.core, id: manifest.id)
      versions.append(longer.facts)
    }
    let store = ManifestsStore(home.store)
    let repository = Repository(
      store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let infos = try await home.store.list(prefix: Layout.packs(of: home.chain))
    let listed = Dictionary(infos.compactMap { info in Layout.packDigest(info.name).map { ($0, info) } }) { $1 }
    let live = try await LiveSet(
      versions, .nothing, of: .nothing, .none, condemned: NameSet([]), packs: listed,
      tables: PackTables(repository, state: nil), atOnce: 8)
    #expect(live.manifests.count == 4 && store.most == 1)
    let completeness = try await Completeness(repository, chain: home.chain, state: nil)
    #expect(try await completeness.look(at: versions, in: history) == [.whole, .whole, .whole, .whole])
    #expect(store.most == 1)
  }

  private func expectOneByOne(
    _ home: Home, _ prefix: String, _ read: @Sendable (Repository) async throws -> Void
  ) async throws {
    let store = LongStore(home.store, prefix)
    try await read(
      Repository(store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot))
    #expect(store.most == Limits.object, "\(prefix)")
  }

  @Test func `short objects are fetched at once, in their order, and one that is too long alone`() async throws {
    let flight = Locked((now: 0, most: 0))
    let lengths = [3, 3, 3, 90, 3, 3, 3, 3, 3]
    let found = try await bounded(lengths, atOnce: 8, within: 10, of: { $0 }) { length in
      flight.withLock {
        $0.now += length
        $0.most = max($0.most, length == 90 ? $0.now - 80 : $0.now)
      }
      try await Task.sleep(for: .milliseconds(2))
      flight.withLock { $0.now -= length }
      return length
    }
    #expect(found == lengths)
    #expect(flight.withLock { $0.most } <= 10)
  }

  @Test func `ends of chains are looked at at once, as many as the target takes, and as memory`() async throws {
    let home = try await Home(at: MemoryStore(concurrency: 8))
    #expect(try await mostEnds(of: [4096], at: home, awaiting: 8) == 8)
    #expect(try await mostEnds(of: [Limits.object / 2], at: home, awaiting: 2) == 2)
    // Behind a long one stands a short one that says nothing.
    #expect(try await mostEnds(of: [Limits.object / 2, 100], at: home, awaiting: 2) == 2)
  }

  /// How many ends were looked at together, each with manifests of those lengths.
  /// - Parameter expected: none is done with before so many are, unless no more come in a long time.
  private func mostEnds(of lengths: [Int], at home: Home, awaiting expected: Int) async throws -> Int {
    let listings = try (UInt8(1)...16).map { seed -> ChainListing in
      let chain = try #require(ChainID([UInt8](repeating: seed, count: 16)))
      let objects = lengths.enumerated().map { index, length in
        let name = VersionName(
          chain: chain, sequence: UInt64(index + 1), revision: 0, length: length, digest: .sha256(of: [seed]))
        return ObjectInfo(name: name.objectName, size: length)
      }
      return ChainListing(chain: chain, objects: objects)
    }
    let flight = Locked((now: 0, most: 0, patience: 10_000))
    _ = try await home.repository.atEnds(of: listings) { _ in
      flight.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      while flight.withLock({ $0.most < expected && $0.patience > 0 }) {
        try await Task.sleep(for: .milliseconds(2))
        flight.withLock { $0.patience -= 1 }
      }
      // So that one too many comes in as well.
      try await Task.sleep(for: .milliseconds(20))
      flight.withLock { $0.now -= 1 }
    }
    return flight.withLock { $0.most }
  }

  private func made() async throws -> (Home, LevelledVersion) {
    let home = try await Home()
    return (home, try await LevelledVersion(home, frames: 26))
  }
}

extension LevelledVersion {
  fileprivate func isDirectory(_ range: Range<Int>?, of name: ObjectName, in chain: ChainID) -> Bool {
    packs.areDirectories(range, of: name, in: chain)
  }
}

extension [PackEntry] {
  /// Whether it is the directory of one of them.
  fileprivate func areDirectories(_ range: Range<Int>?, of name: ObjectName, in chain: ChainID) -> Bool {
    contains { Layout.pack($0.name, of: chain) == name && $0.directoryRange == range }
  }
}

/// Six members of one page, whose maps lie in a pack each.
private struct ScatteredMaps {
  let home: Home
  let manifest: StoredManifest
  let packs: [PackEntry]
  let members: [(file: Core.FileContent, root: ManifestBody.MapRoot)]

  init() async throws {
    home = try await Home()
    let made = HandmadeVersion(home)
    let page = home.noise(4096, seed: 1)
    let file = made.content([page], .page, 4096)
    var members: [(file: Core.FileContent, root: ManifestBody.MapRoot)] = []
    for number: UInt32 in 1...6 {
      let leaf = MapLeaf(runs: [MapLeaf.Run(pack: number, frame: 0, firstUnit: 0, count: 1)])
      let pack = try await made.pack([made.raw([leaf.encode()], .node)])
      let location = Location(pack: pack.number, frame: 0, unit: 0)
      members.append((file, ManifestBody.MapRoot(depth: 1, location: location)))
    }
    made.place(pack: 1, frame: 0, count: 1)
    manifest = try await made.manifest(image: page)
    packs = made.packs
    self.members = members
  }

  func opened(from store: any ObjectStore, _ state: StateFolder?) async throws -> OpenPacks {
    let table = try await PackTable(of: manifest, repository: home.repository, state: nil)
    let repository = Repository(
      store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    return try OpenPacks(table, repository: repository, chain: home.chain, state: state)
  }

  /// - Returns: the packs that the maps name.
  func read(_ opened: OpenPacks) async throws -> Set<UInt32> {
    var found: Set<UInt32> = []
    try await MapReader(manifest: manifest, packs: opened).forEachRun(of: members) { _, _, run in
      found.insert(run.pack)
    }
    return found
  }
}

/// Says what was asked of it, and answers a little later.
private final class SlowStore: ObjectStore {
  private let base: MemoryStore
  private let noted = Locked<[(name: ObjectName, range: Range<Int>?)]>([])

  init(_ base: MemoryStore) { self.base = base }

  var asked: [(name: ObjectName, range: Range<Int>?)] { noted.withLock { $0 } }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    noted.withLock { $0.append((name, range)) }
    try? await Task.sleep(for: .milliseconds(20))
    return try await base.get(name, range: range)
  }

  var traits: StoreTraits { base.traits }
  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}

/// Answers no request for packs that counts before two of them are on their way.
private final class MeetingStore: ObjectStore {
  private struct Flight {
    var now = 0
    var most = 0
    /// None came in a long time, and none will.
    var isAlone = false

    var isOver: Bool { most > 1 || isAlone }
  }

  private let base: MemoryStore
  private let counts: @Sendable (ObjectName, Range<Int>?) -> Bool
  private let flight = Locked(Flight())

  /// - Parameter counts: whether a request is one of those.
  init(_ base: MemoryStore, counts: @escaping @Sendable (ObjectName, Range<Int>?) -> Bool) {
    (self.base, self.counts) = (base, counts)
  }

  /// So many were on their way at the same time.
  var most: Int { flight.withLock { $0.most } }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    guard name.text.hasPrefix("packs/"), counts(name, range) else { return try await base.get(name, range: range) }
    flight.withLock {
      $0.now += 1
      $0.most = max($0.most, $0.now)
    }
    defer { flight.withLock { $0.now -= 1 } }
    var patience = 1000
    while patience > 0, flight.withLock({ !$0.isOver }) {
      try? await Task.sleep(for: .milliseconds(5))
      patience -= 1
    }
    if patience == 0 { flight.withLock { $0.isAlone = true } }
    return try await base.get(name, range: range)
  }

  var traits: StoreTraits { base.traits }
  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}

/// Counts the manifests that are on their way.
private final class ManifestsStore: ObjectStore {
  private let base: MemoryStore
  private let flight = Locked((now: 0, most: 0))

  init(_ base: MemoryStore) { self.base = base }

  /// So many were on their way at the same time.
  var most: Int { flight.withLock { $0.most } }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    guard name.text.hasPrefix(Layout.versions) else { return try await base.get(name, range: range) }
    flight.withLock {
      $0.now += 1
      $0.most = max($0.most, $0.now)
    }
    defer { flight.withLock { $0.now -= 1 } }
    try? await Task.sleep(for: .milliseconds(5))
    return try await base.get(name, range: range)
  }

  var traits: StoreTraits { base.traits }
  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}

/// Shows four objects of the greatest length besides, which say nothing, and counts how much of them is on its way.
private final class LongStore: ObjectStore {
  private let base: MemoryStore
  private let planted: [ObjectInfo]
  private let flight = Locked((now: 0, most: 0))

  /// - Parameter prefix: what their names begin with, up to the length.
  init(_ base: MemoryStore, _ prefix: String) {
    self.base = base
    planted = (UInt8(0)..<4).map { seed in
      let name = Layout.known("\(prefix)\(Limits.object)-\(Digest.sha256(of: [seed]).hex)")
      return ObjectInfo(name: name, size: Limits.object)
    }
  }

  /// So many bytes were on their way at the same time.
  var most: Int { flight.withLock { $0.most } }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    guard planted.contains(where: { $0.name == name }) else { return try await base.get(name, range: range) }
    flight.withLock {
      $0.now += Limits.object
      $0.most = max($0.most, $0.now)
    }
    defer { flight.withLock { $0.now -= Limits.object } }
    try? await Task.sleep(for: .milliseconds(5))
    return []
  }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await base.list(prefix: prefix) + planted.filter { $0.name.text.hasPrefix(prefix) }
  }

  var traits: StoreTraits { base.traits }
  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
