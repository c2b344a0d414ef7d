import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories
@testable import Sealing

/// A repair by this program where a later one wrote the newest version: its manifest can be read here, its pack cannot.
@Suite struct LaterRepairTests {
  private struct Mixed {
    let road: Road
    let database: DatabaseSource
    let repository: Repository
    let first: VersionSummary
    let later: StoredManifest
    let pack: ObjectName

    init() async throws {
      let road = try await Road()
      database = DatabaseSource(name: "app", path: try road.database(rows: 400))
      let first = try #require(try await road.push(database).pushed.first?.version)
      let repository = try await road.target.open(road.world)
      let version = try LaterVersion(behind: first, repository.keys)
      for (name, bytes) in version.objects { road.store.content[name] = bytes }
      later = try await repository.readManifest(version.name)
      pack = version.pack
      (self.road, self.repository, self.first) = (road, repository, first)
    }

    func repair() async throws -> RepairRepository.Outcome {
      try await RepairRepository(road.world).run(.init(databases: [database]), at: road.target)
    }
  }

  @Test(arguments: [false, true])
  func `it is told, and left alone with all that is said of it`(isFlagged: Bool) async throws {
    let mixed = try await Mixed()
    if isFlagged {
      let item = Annotation.Item(.foundDamaged, "by a later program")
      _ = try await mixed.repository.annotate(mixed.later.facts, [item], now: 1)
    }
    let before = mixed.road.store.content
    let outcome = try await mixed.repair()
    #expect(mixed.road.store.content == before)
    #expect(outcome.isWhole && outcome.saved.isEmpty && outcome.pushed.isEmpty && outcome.copies.isEmpty)
    #expect(outcome.check.isSound && !outcome.check.isJudged && outcome.check.harmed.isEmpty)
    #expect(outcome.check.whole.map(\.id) == [mixed.first.id])
    #expect(outcome.check.unjudged.map(\.id) == [mixed.later.id.hex])
    #expect(outcome.check.unjudged.map(\.objects) == [[mixed.pack.text]])
    let told = outcome.check.findings.filter(\.leavesDoubt)
    #expect(told.map(\.object) == [mixed.pack.text] && told.map(\.kind) == ["later"])
    #expect(told.first?.hint?.contains("newer sealift") == true)
    let state = try StateFolder(mixed.road.world.stateFolder, repository: mixed.repository.id)
    #expect(try DamagedPacks(of: mixed.later.name.chain, in: state).names.isEmpty)
  }

  @Test func `what is damaged beside it is repaired as ever`() async throws {
    let mixed = try await Mixed()
    let packs = mixed.road.store.content.filter { $0.key.text.hasPrefix("packs/") && $0.key != mixed.pack }
    let lost = try #require(packs.max { $0.value.count < $1.value.count }?.key)
    mixed.road.store.content[lost] = nil
    let outcome = try await mixed.repair()
    #expect(outcome.saved.map(\.id) == [mixed.first.id] && outcome.pushed.isEmpty && outcome.lost.isEmpty)
    let found = try await CheckRepository(mixed.road.world).run(at: mixed.road.target, databases: [], .all)
    #expect(found.isSound && !found.isJudged)
    #expect(found.whole.map(\.id) == [mixed.first.id] && found.unjudged.map(\.id) == [mixed.later.id.hex])
    let list = try await ListVersions(mixed.road.world).run(at: mixed.road.target).versions
    #expect(list.count == 2 && list.allSatisfy { $0.foundDamaged == nil })
  }
}

/// A version of one page in one pack, all of it authentic: nobody knows the codec of that page here.
private struct LaterVersion {
  let name: VersionName
  let pack: ObjectName
  let objects: [ObjectName: [UInt8]]

  init(behind first: VersionSummary, _ keys: SealingKeys) throws {
    let chain = keys.keyring.chainID(host: "host", database: "app", fork: 0)
    var random = SeededRandom(9)
    let page = random.bytes(4096)
    func frame(_ unit: [UInt8], _ type: UnitType) -> EncodedFrame {
      let fingerprint = unit.withUnsafeBytes { Fingerprinter(keys).fingerprint(type, $0) }
      return EncodedFrame(
        codec: .raw, type: type, unitLengths: UnitLengths([unit.count]), fingerprints: [fingerprint],
        payload: unit)
    }
    let content = frame(page, .page)
    let (entry, packBytes) = try Self.pack(content, keys)

    let leaf = MapLeaf(runs: [MapLeaf.Run(pack: entry.number, frame: 0, firstUnit: 0, count: 1)])
    let digest = RunningDigest()
    for fingerprint in content.fingerprints { digest.update(fingerprint.bytes) }
    let file = Core.FileContent(
      unitType: .page, unitSize: 4096, unitCount: 1, length: 4096, imageDigest: digest.finish(),
      sha256: .sha256(of: page))
    let core = Core(
      chain: chain, sequence: 2, previous: try #require(Layout.digest(first.id)), time: 1_700_000_000_000,
      host: "host", database: "app", method: .pages, flags: [],
      members: [Core.Member(path: "app.db", mode: 0o600, modified: 0, content: .database(file))])
    let body = ManifestBody(
      state: .complete, chain: chain, sequence: 2, revision: 0, core: core.encode(), bytesDecoded: 4096,
      bytesFetched: 4112, newBytes: 0, nextPackNumber: entry.number + 1, tags: [], note: "",
      packTable: [.here(frame: 0, unit: 0)],
      maps: [ManifestBody.MapRoot(depth: 1, location: Location(pack: 0, frame: 1, unit: 0))])
    var builder = ObjectBuilder(kind: .manifest, keys: keys, random: systemRandom)
    builder.add(frame(PackTableLeaf(entries: [entry]).encode(), .node))
    builder.add(frame(leaf.encode(), .node))
    let manifest = try builder.finish(meta: body.encode()).bytes

    name = VersionName(
      chain: chain, sequence: 2, revision: 0, length: manifest.count, digest: .sha256(of: manifest))
    pack = Layout.pack(entry.name, of: chain)
    objects = [name.objectName: manifest, pack: packBytes]
  }

  /// Seals the frame honestly, and then its directory anew with another codec: the first one is behind the version, two
  /// counts and a length.
  private static func pack(_ frame: EncodedFrame, _ keys: SealingKeys) throws -> (entry: PackEntry, bytes: [UInt8]) {
    var builder = ObjectBuilder(kind: .pack, keys: keys, random: systemRandom)
    builder.add(frame)
    let honest = try builder.finish()
    // No push of these tests gives that number.
    let entry = honest.packEntry(number: 900)
    let range = entry.directoryRange
    let objectKeys = try PackReader(entry: entry, keys: keys).objectKeys
    let nonce = objectKeys.nonce(ObjectKeys.directoryIndex, final: true)
    let additional = ObjectKeys.directoryAdditionalData(
      plaintextLength: range.count - AuthenticatedCipher.tagLength)
    let opened = try objectKeys.cipher().open(honest.bytes[range], nonce: nonce, additional: additional)
    var directory = try #require(opened)
    directory[11] = 5
    var sealed: [UInt8] = []
    try objectKeys.cipher().seal(directory, nonce: nonce, additional: additional, into: &sealed)
    var bytes = honest.bytes
    bytes.replaceSubrange(range, with: sealed)
    let later = PackEntry(
      number: entry.number, name: .sha256(of: bytes), length: entry.length, directoryLength: entry.directoryLength,
      version: entry.version, aead: entry.aead, kem: entry.kem, epoch: entry.epoch, salt: entry.salt)
    return (later, bytes)
  }
}
