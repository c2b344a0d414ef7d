import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What a later program wrote, met by a check: it is told, and called neither damaged nor whole.
@Suite struct LaterCheckTests {
  /// A page in a pack, and no version yet.
  private struct Place {
    let home: Home
    let made: HandmadeVersion
    let page: [UInt8]
    let pack: PackEntry

    init() async throws {
      let home = try await Home()
      let made = HandmadeVersion(home)
      let page = home.noise(4096, seed: 1)
      pack = try await made.pack([made.raw([page])])
      made.place(pack: 1, frame: 0, count: 1)
      (self.home, self.made, self.page) = (home, made, page)
    }
  }

  private func check(_ home: Home, _ subset: CheckSubset? = nil) async throws -> CheckReport {
    let state = try home.state
    return try await RepositoryCheck(home.repository, state: state, tables: state.path, subset: subset).run()
  }

  private func told(_ report: CheckReport) -> [String] {
    report.allFindings.filter { $0.kind == .later }.map(\.object).sorted()
  }

  /// Nothing is damaged, and of the one version nobody says that it is whole.
  private func expectLater(_ object: ObjectName, neededBy manifest: StoredManifest, _ home: Home) async throws {
    for subset in [nil, CheckSubset.all] {
      let report = try await check(home, subset)
      #expect(report.isSound && !report.isJudged && report.damaged == [])
      #expect(told(report) == [object.text])
      #expect(report.harmed == [] && report.whole == [])
      let chain = try #require(report.chains.first)
      #expect(chain.unjudged.map(\.id) == [manifest.id] && chain.unjudged.map(\.later) == [[object.text]])
      #expect(chain.damagedPacks.isEmpty)
    }
  }

  @Test func `a pack of a later format harms no version, and makes none whole`() async throws {
    let place = try await Place()
    let later = try place.home.makeLater(place.pack)
    let manifest = try await place.made.manifest(image: place.page, table: [later])
    try await expectLater(Layout.pack(later.name, of: place.home.chain), neededBy: manifest, place.home)
  }

  @Test func `nor does one that holds the pack table`() async throws {
    let place = try await Place()
    let made = place.made
    let holder = try await made.pack([made.raw([PackTableLeaf(entries: made.packs).encode()], .node)])
    let later = try place.home.makeLater(holder)
    let manifest = try await made.manifest(image: place.page, tableIn: later)
    try await expectLater(Layout.pack(later.name, of: place.home.chain), neededBy: manifest, place.home)
  }

  @Test func `nor does a pack table that lists a pack of a later format`() async throws {
    let place = try await Place()
    let pack = place.pack
    let later = PackEntry(
      number: pack.number, name: pack.name, length: pack.length, directoryLength: pack.directoryLength, version: 2,
      aead: 1, kem: 0, epoch: pack.epoch, salt: pack.salt)
    let manifest = try await place.made.manifest(image: place.page, table: [later])
    try await expectLater(manifest.name.objectName, neededBy: manifest, place.home)
  }

  @Test func `what is not what its name says is damaged, whatever format it says it is of`() async throws {
    let place = try await Place()
    let home = place.home
    let later = try home.makeLater(place.pack)
    let name = Layout.pack(later.name, of: home.chain)
    let manifest = try await place.made.manifest(image: place.page, table: [later])
    home.store.content[name]?[140] ^= 1
    // Its directory is as it was written: only reading all of it shows.
    #expect(try await check(home).isSound)
    let report = try await check(home, .all)
    #expect(report.damaged == [name.text] && report.harmed == [manifest.id] && report.isJudged)
    #expect(report.chains.first?.damagedPacks == [later.name])
  }

  @Test func `a version byte that flipped is damage, and one that was written is not`() async throws {
    let place = try await Place()
    let home = place.home
    let manifest = try await place.made.manifest(image: place.page)
    let content = home.store.content
    let prefixes = ["keys/1-", "config/1-", "versions/", "packs/"]
    let names = content.keys.filter { name in prefixes.contains { name.text.hasPrefix($0) } }
    #expect(names.count == prefixes.count)
    for name in names {
      home.store.content = content
      home.store.content[name]?[8] ^= 2
      let report = try await check(home, .all)
      #expect(report.damaged == [name.text] && report.isJudged, "\(name)")
    }
    home.store.content = content
    var bytes = try #require(content[manifest.name.objectName])
    bytes[8] ^= 2
    let later = home.plant(bytes, at: 2)
    let report = try await check(home, .all)
    #expect(report.isSound && !report.isJudged && told(report) == [later.objectName.text])
    #expect(report.whole == [manifest.id] && report.chains.first?.unjudged.map(\.sequence) == [2])
  }

  @Test func `a version whose manifest is of a later format is neither missing nor harmed`() async throws {
    let home = try await Home()
    var versions: [StoredManifest] = []
    for seed in 1...3 { versions.append(try await home.push(home.image(pages: 60, seed: UInt64(seed))).manifest) }
    home.store.content[versions[1].name.objectName] = nil
    let later = try home.makeLater(versions[1])
    let report = try await check(home)
    #expect(report.isSound && !report.isJudged && told(report) == [later.objectName.text])
    #expect(report.whole == [versions[0].id, versions[2].id] && report.harmed == [])
    let unjudged = try #require(report.chains.first).unjudged
    #expect(unjudged.map(\.id) == [versions[1].id] && unjudged.map(\.later) == [[later.objectName.text]])
    home.store.content[later.objectName]?[300] ^= 1
    let spoilt = try await check(home)
    #expect(spoilt.damaged == [later.objectName.text] && spoilt.harmed == [versions[1].id] && spoilt.isJudged)
  }

  @Test func `what a revision has lost harms no version that a later program has written anew`() async throws {
    let place = try await Place()
    let manifest = try await place.made.manifest(image: place.page)
    let later = try place.home.makeLater(manifest, revision: 1)
    let lost = Layout.pack(place.pack.name, of: place.home.chain)
    place.home.store.content[lost] = nil
    let report = try await check(place.home)
    #expect(report.damaged == [lost.text] && report.harmed == [] && report.whole == [])
    let unjudged = try #require(report.chains.first).unjudged
    #expect(unjudged.map(\.id) == [manifest.id] && unjudged.map(\.later) == [[later.objectName.text]])
  }

  /// Kind, a byte of its body, and what stands there.
  @Test(arguments: [(.condemned, 29, 2), (.tombstone, 0, 1), (.annotation, 67, 99)] as [(ObjectKind, Int, UInt8)])
  func `a record that says what nobody knows here is told`(kind: ObjectKind, place: Int, byte: UInt8) async throws {
    let home = try await Home()
    let version = try await home.push(home.image(pages: 60, seed: 1)).manifest
    let (known, prefix) = record(kind, version)
    var meta = known
    meta[place] = byte
    let digest = try await home.repository.putRecord(kind, meta, below: prefix)
    let report = try await check(home)
    #expect(report.isSound && report.damaged == [] && report.whole == [version.id])
    #expect(told(report).count == 1 && told(report).allSatisfy { $0.hasPrefix(prefix) && $0.hasSuffix(digest.hex) })
    // What an annotation says is passed over on purpose; nobody pushes or forgets over the others.
    #expect(report.isJudged == (kind == .annotation))
  }

  @Test(arguments: [ObjectKind.condemned, .tombstone, .annotation])
  func `a record that is sealed in a way that nobody knows here leaves doubt`(kind: ObjectKind) async throws {
    let home = try await Home()
    let version = try await home.push(home.image(pages: 60, seed: 1)).manifest
    let (meta, prefix) = record(kind, version)
    let builder = ObjectBuilder(kind: kind, keys: home.repository.keys, random: systemRandom)
    var bytes = try builder.finish(meta: meta).bytes
    bytes[8] += 1
    let name = Layout.known("\(prefix)\(bytes.count)-\(Digest.sha256(of: bytes).hex)")
    home.store.content[name] = bytes
    let report = try await check(home)
    #expect(report.isSound && !report.isJudged && told(report) == [name.text])
  }

  private func record(_ kind: ObjectKind, _ version: StoredManifest) -> (meta: [UInt8], prefix: String) {
    let chain = version.name.chain
    switch kind {
    case .condemned:
      return (CondemnedRecord(chain: chain, time: 1, packs: [.zero]).encode(), Layout.condemned(of: chain))
    case .tombstone:
      return (Tombstone(chain: chain, time: 1, ranges: []).encode(), Layout.tombstones(of: chain))
    default:
      let pin = Annotation(
        chain: chain, sequence: 1, coreHash: version.id, time: 1, items: [.init(kind: .pin, bytes: [])])
      return (pin.encode(), Layout.annotations(of: chain))
    }
  }

  @Test func `nothing older is stored above a configuration of a later format`() async throws {
    let home = try await Home()
    func plant(_ prefix: String) throws -> ObjectName {
      let first = try #require(home.store.content.first { $0.key.text.hasPrefix("\(prefix)1-") })
      var bytes = first.value
      bytes[8] += 1
      let name = NumberedName(prefix: prefix, number: 3, length: bytes.count, digest: .sha256(of: bytes))
      home.store.content[name.objectName] = bytes
      return name.objectName
    }
    let later = try [plant(Layout.slots), plant(Layout.configurations)].map(\.text).sorted()
    let report = try await check(home)
    #expect(report.isSound && !report.isJudged && told(report) == later)
    // Nor where a copy of the one that counts here is lost.
    let lost = try #require(home.store.content.keys.first { $0.text.hasPrefix("\(Layout.configurations)1-") })
    home.store.content[lost] = nil
    #expect(try await check(home).damaged == [lost.text])
    let before = home.store.content
    let opened = try await Repository.open(at: home.store, with: Home.secret)
    #expect(try await opened.repairOpening().isEmpty)
    #expect(home.store.content == before)
  }
}

extension Home {
  /// Stores a pack as a later program might have sealed it, all of it authentic: nobody here knows the codec of its
  /// first frame. It must rest on no other pack.
  func makeLater(_ entry: PackEntry) throws -> PackEntry {
    let keys = try PackReader(entry: entry, keys: repository.keys).objectKeys
    let range = entry.directoryRange
    let nonce = keys.nonce(ObjectKeys.directoryIndex, final: true)
    let additional = ObjectKeys.directoryAdditionalData(
      plaintextLength: range.count - AuthenticatedCipher.tagLength)
    var bytes = try #require(store.content[Layout.pack(entry.name, of: chain)])
    let opened = try keys.cipher().open(bytes[range], nonce: nonce, additional: additional)
    var directory = try #require(opened)
    // Behind the version, two counts and the length of the frame.
    directory[11] = 5
    var sealed: [UInt8] = []
    try keys.cipher().seal(directory, nonce: nonce, additional: additional, into: &sealed)
    bytes.replaceSubrange(range, with: sealed)
    let name = Digest.sha256(of: bytes)
    store.content[Layout.pack(name, of: chain)] = bytes
    return PackEntry(
      number: entry.number, name: name, length: entry.length, directoryLength: entry.directoryLength,
      version: entry.version, aead: entry.aead, kem: entry.kem, epoch: entry.epoch, salt: entry.salt)
  }

  /// Stores the manifest of a version as a later program might have: authentic, and in a state that nobody knows here.
  func makeLater(_ version: StoredManifest, revision: UInt32 = 0) throws -> VersionName {
    var meta = version.body.encode()
    meta[1] = 9
    let builder = ObjectBuilder(kind: .manifest, keys: repository.keys, random: systemRandom)
    return plant(try builder.finish(meta: meta).bytes, at: version.name.sequence, revision: revision)
  }

  /// Stores any bytes as a manifest.
  func plant(_ bytes: [UInt8], at sequence: UInt64, revision: UInt32 = 0) -> VersionName {
    let name = VersionName(
      chain: chain, sequence: sequence, revision: revision, length: bytes.count, digest: .sha256(of: bytes))
    store.content[name.objectName] = bytes
    return name
  }
}
