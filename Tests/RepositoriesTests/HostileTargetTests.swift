import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What a target may put in the way of a push: junk, damage, objects of a retired key. None of it may make a push say
/// that it succeeded when it did not.
@Suite struct HostileTargetTests {
  /// Junk whose name and length fit, at a place of the chain.
  private func plant(_ home: Home, sequence: UInt64, revision: UInt32 = 0) {
    let junk = [UInt8](repeating: 9, count: 5000)
    let name = VersionName(
      chain: home.chain, sequence: sequence, revision: revision, length: junk.count, digest: .sha256(of: [1]))
    home.store.content[name.objectName] = junk
  }

  private func manifests(_ home: Home) -> [VersionName] {
    home.store.content.keys.compactMap { VersionName($0) }.sorted { $0.sequence < $1.sequence }
  }

  private func damage(_ home: Home, manifestOf sequence: UInt64) throws {
    let name = try #require(manifests(home).last { $0.sequence == sequence }).objectName
    home.store.content[name]?[200] ^= 1
    // The cache of this machine would hide it.
    try FileManager.default.removeItem(atPath: home.state.path + "/objects")
  }

  private func partial(_ home: Home, sequence: UInt64, revision: UInt32) async throws {
    let body = ManifestBody(
      state: .partial, chain: home.chain, sequence: sequence, revision: revision, core: [], bytesDecoded: 0,
      bytesFetched: 0, newBytes: 0, nextPackNumber: 1, tags: [], note: "", packTable: [], maps: [])
    let builder = ObjectBuilder(kind: .manifest, keys: home.repository.keys, random: home.repository.random)
    let sealed = try builder.finish(meta: body.encode())
    let name = VersionName(
      chain: home.chain, sequence: sequence, revision: revision, length: sealed.bytes.count, digest: sealed.name)
    home.store.content[name.objectName] = sealed.bytes
  }

  @Test func `junk at the last place there is cannot make a version that nobody can list`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 10, seed: 1))
    plant(home, sequence: 999_999_999_999)
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 11, seed: 2)) }
    #expect(error?.code == .conflict)
    #expect(manifests(home).count == 2)
  }

  @Test func `a sequence whose revisions are used up is refused`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 10, seed: 1))
    try await partial(home, sequence: 2, revision: 9999)
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 11, seed: 2)) }
    #expect(error?.code == .conflict)
  }

  @Test func `content equal to an older version is pushed when the newest cannot be read`() async throws {
    let home = try await Home()
    let old = home.image(pages: 10, seed: 1)
    _ = try await home.push(old)
    _ = try await home.push(home.image(pages: 11, seed: 2))
    try damage(home, manifestOf: 2)
    let result = try await home.push(old)
    #expect(!result.unchanged)
    #expect(try await home.read(result.manifest) == old)
    #expect(try HighWaterMark.read(home.chain, in: home.state)?.sequence == 3)
  }

  private func takeAway(_ sequences: UInt64..., from home: Home) {
    for name in manifests(home) where sequences.contains(name.sequence) { home.store.content[name.objectName] = nil }
  }

  /// Whoever may write there, and has no key, puts it there; under the right name it would be damage, in any other place too.
  @Test(arguments: ["under another name", "as a later revision", "under its name"])
  func `what cannot be read in the place of the newest version hides no way back`(how: String) async throws {
    let home = try await Home()
    for seed in 1...3 { _ = try await home.push(home.image(pages: 10, seed: UInt64(seed))) }
    switch how {
    case "under its name":
      try damage(home, manifestOf: 3)
      takeAway(2, from: home)
    case "as a later revision":
      takeAway(2, 3, from: home)
      plant(home, sequence: 3, revision: 1)
    default:
      takeAway(3, from: home)
      plant(home, sequence: 3)
    }
    let before = home.store.content
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 11, seed: 9)) }
    #expect(error?.code == .rolledBack)
    #expect(home.store.content == before)
  }

  @Test(arguments: ["repaired elsewhere", "forgotten before it"])
  func `damage of the newest version stops no push where nothing else is missed`(how: String) async throws {
    let home = try await Home()
    var versions: [StoredManifest] = []
    for seed in 1...3 { versions.append(try await home.push(home.image(pages: 10, seed: UInt64(seed))).manifest) }
    if how == "repaired elsewhere" {
      _ = try await home.repository.republish(versions[2], revision: 1, state: nil)
      home.store.content[versions[2].name.objectName] = nil
    } else {
      try await home.repository.forget([versions[1].facts], now: 1)
      takeAway(2, from: home)
    }
    try damage(home, manifestOf: 3)
    let image = home.image(pages: 11, seed: 9)
    let pushed = try await home.push(image).manifest
    #expect(pushed.name.sequence == 4)
    #expect(try await home.read(pushed) == image)
  }

  @Test func `content in a damaged pack is stored anew, not called unchanged`() async throws {
    let home = try await Home()
    let image = home.image(pages: 200, seed: 1)
    _ = try await home.push(image)
    let pack = Layout.pack(try #require(home.packs().first), of: home.chain)
    let length = try #require(home.store.content[pack]).count
    home.store.content[pack]?[length - 300] ^= 1
    try FileManager.default.removeItem(atPath: home.state.path + "/objects")
    let result = try await home.push(image)
    #expect(!result.unchanged)
    #expect(try await home.read(result.manifest) == image)
  }

  @Test func `a lost pack that held the pack table does not stop pushes`() async throws {
    let home = try await Home()
    let image = home.image(pages: 10, seed: 1)
    let hand = HandmadeVersion(home)
    let pages = stride(from: 0, to: image.count, by: 4096).map { Array(image[$0..<$0 + 4096]) }
    try await hand.pack([hand.raw(pages)])
    hand.place(pack: 1, frame: 0, count: 10)
    let holder = try await hand.pack([hand.raw([PackTableLeaf(entries: hand.packs).encode()], .node)])
    let first = try await hand.manifest(image: image, tableIn: holder)
    #expect(try await home.read(first) == image)
    try await home.store.delete(Layout.pack(holder.name, of: home.chain))
    try FileManager.default.removeItem(atPath: home.state.path + "/objects")
    let result = try await home.push(image)
    #expect(result.manifest.name.sequence == 2)
    #expect(try await home.read(result.manifest) == image)
  }

  @Test func `an object larger than any may be is nobody's`() throws {
    let chain = String(repeating: "a", count: 32)
    let digest = String(repeating: "b", count: 64)
    for length in ["67108865", "99999999999"] {
      let version = try #require(ObjectName("versions/\(chain)/000000000001-0000-\(length)-\(digest)"))
      #expect(VersionName(version) == nil)
      let record = try #require(ObjectName("gone/\(chain)/\(length)-\(digest)"))
      #expect(RecordName(record, prefix: "gone/\(chain)/") == nil)
      let slot = try #require(ObjectName("keys/1-\(length)-\(digest)"))
      #expect(NumberedName(slot, prefix: "keys/") == nil)
      let file = try #require(ObjectName("repo/\(chain)-\(length)-\(digest)"))
      #expect(RepositoryFileName(file) == nil)
    }
  }

  /// Readers would ask for it by the name that it should have, and not find it.
  @Test func `a number with zeros in front makes a name nobody's`() throws {
    let chain = String(repeating: "a", count: 32)
    let digest = String(repeating: "b", count: 64)
    for (number, length, isOurs) in [("1", "4096", true), ("1", "04096", false), ("01", "4096", false)] {
      let slot = try #require(ObjectName("keys/\(number)-\(length)-\(digest)"))
      #expect((NumberedName(slot, prefix: "keys/") != nil) == isOurs)
      guard number == "1" else { continue }
      let version = try #require(ObjectName("versions/\(chain)/000000000001-0000-\(length)-\(digest)"))
      #expect((VersionName(version) != nil) == isOurs)
      let record = try #require(ObjectName("gone/\(chain)/\(length)-\(digest)"))
      #expect((RecordName(record, prefix: "gone/\(chain)/") != nil) == isOurs)
      let file = try #require(ObjectName("repo/\(chain)-\(length)-\(digest)"))
      #expect((RepositoryFileName(file) != nil) == isOurs)
      #expect(RepositoryFileName(try #require(ObjectName("repo/below/\(file.lastComponent)"))) == nil)
    }
  }

  @Test func `a retired key seals nothing beyond its cut, partial manifests included`() async throws {
    let home = try await Home()
    let first = try await home.push(home.image(pages: 10, seed: 1)).manifest
    try await partial(home, sequence: 2, revision: 0)
    let old = home.repository.keys.keyring
    func rotated(_ hash: Digest) throws -> Repository {
      let keyring = Keyring(
        currentEpoch: 2, roots: old.roots.merging([2: SecretKey(try systemRandom(32))]) { $1 },
        chainKey: old.chainKey, fingerprintKey: old.fingerprintKey, hedgeKey: old.hedgeKey,
        cuts: [Keyring.Cut(epoch: 1, chain: home.chain, sequence: 1, coreHash: hash)])
      return Repository(
        store: home.store, keys: SealingKeys(repository: home.repository.id, keyring: keyring),
        random: home.repository.random, slot: home.repository.slot)
    }
    let partialName = try #require(manifests(home).last)
    await #expect(throws: RepositoryError.self) { try await rotated(first.id).readManifest(partialName) }
    #expect(try await rotated(first.id).readManifest(first.name).id == first.id)
    // Another version in the place of the last genuine one was made by whoever kept the key.
    await #expect(throws: RepositoryError.self) { try await rotated(.sha256(of: [1])).readManifest(first.name) }
  }

  @Test func `a store that answers with fewer bytes is an error, not a crash`() async throws {
    let home = try await Home()
    let image = home.image(pages: 300, seed: 1)
    let manifest = try await home.push(image).manifest
    let short = ShortStore(home.store)
    let repository = Repository(
      store: short, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let reader = try await VersionReader(manifest, repository: repository, state: home.state)
    await #expect(throws: (any Error).self) {
      try await reader.read(member: 0, into: MemoryDestination(of: reader), onProgress: { _ in })
    }
  }

  /// Cuts every ranged answer.
  private struct ShortStore: ObjectStore {
    let base: MemoryStore
    var traits: StoreTraits { base.traits }
    init(_ base: MemoryStore) { self.base = base }
    func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
      try await base.put(body, at: name, ifAbsent: ifAbsent)
    }
    func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
      let bytes = try await base.get(name, range: range)
      return range == nil ? bytes : Array(bytes.dropLast(20))
    }
    func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
    func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
    func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
  }
}
