import Storage
import TestKit

@testable import Repositories
@testable import Sealing

/// Versions put together by hand: what later writers will write and this reader must already read.
final class HandmadeVersion {
  let home: Home
  private(set) var packs: [PackEntry] = []
  private var runs: [UnitRun] = []
  private let fingerprinter: Fingerprinter

  init(_ home: Home) {
    self.home = home
    fingerprinter = Fingerprinter(home.repository.keys)
  }

  func fingerprints(_ pages: [[UInt8]], _ type: UnitType = .page) -> [Fingerprint] {
    pages.map { page in page.withUnsafeBytes { fingerprinter.fingerprint(type, $0) } }
  }

  func raw(_ pages: [[UInt8]], _ type: UnitType = .page) -> EncodedFrame {
    EncodedFrame(
      codec: .raw, type: type, unitLengths: UnitLengths(pages.map(\.count)), fingerprints: fingerprints(pages, type),
      payload: pages.flatMap { $0 })
  }

  /// A frame with prefix; `bases` say where the prefix lies, `prefix` what it is.
  func delta(
    _ pages: [[UInt8]], on bases: [BaseRun], prefix: [UInt8], _ type: UnitType = .page
  ) -> EncodedFrame {
    EncodedFrame(
      codec: .zstdWithPrefix, type: type, unitLengths: UnitLengths(pages.map(\.count)),
      fingerprints: fingerprints(pages, type), bases: bases, payload: compress(pages.flatMap { $0 }, withPrefix: prefix)
    )
  }

  /// Seals a pack, stores it and gives it the next number.
  /// - Parameter name: that it is stored under and known by, in place of its hash.
  @discardableResult
  func pack(_ frames: [EncodedFrame], basePacks: [Digest] = [], as name: Digest? = nil) async throws -> PackEntry {
    var builder = ObjectBuilder(
      kind: .pack, keys: home.repository.keys, basePacks: basePacks, random: home.repository.random)
    for frame in frames { builder.add(frame) }
    let own = try builder.finish()
    let sealed = SealedObject(
      bytes: own.bytes, name: name ?? own.name, header: own.header, directoryLength: own.directoryLength)
    try await home.store.put(ObjectBody(sealed.bytes), at: Layout.pack(sealed.name, of: home.chain), ifAbsent: false)
    packs.append(sealed.packEntry(number: UInt32(packs.count + 1)))
    return packs[packs.count - 1]
  }

  /// Says that the next pages of the image are these units.
  func place(pack: UInt32, frame: UInt32, unit: UInt16 = 0, count: Int) {
    runs.append(UnitRun(location: UnitLocation(pack: pack, frame: frame, unit: unit), count: UInt16(count)))
  }

  private func list(_ runs: [UnitRun]) throws -> RunList {
    let list = try RunList(in: home.state.path)
    for run in runs {
      for unit in 0..<run.count {
        try list.append(
          UnitLocation(pack: run.location.pack, frame: run.location.frame, unit: run.location.unit + unit))
      }
    }
    return list
  }

  /// The map of what was placed, which is one leaf.
  func map() throws -> [UInt8] {
    let leaves = Array(MapLeaves(of: try list(runs), placed: []))
    precondition(leaves.count == 1)
    return leaves[0]
  }

  /// Seals the manifest of a version whose database has that content, and further members.
  /// - Parameters:
  ///   - mapHolder: a pack whose first frame is the map.
  ///   - leaves: the parts that the pack table is named in, one after the other.
  ///   - tableType: of the frame that holds the pack table.
  ///   - riders: frames of pages in the manifest itself, from index 0 on; their base packs in `riderBases`.
  ///   - decoded: what it says that restoring it decodes, in bytes, and what it fetches.
  ///   - coreExtensions: what the core ends with, counted; `bodyExtensions` the same of the body.
  func manifest(
    image: [UInt8], companions: [(member: Core.Member, blocks: [[UInt8]])] = [], sequence: UInt64 = 1,
    previous: Digest = .zero, tableIn holder: PackEntry? = nil, mapIn mapHolder: PackEntry? = nil,
    table packs: [PackEntry]? = nil, inLeaves leaves: [[PackEntry]]? = nil, tableAs tableType: UnitType = .node,
    riders: [EncodedFrame] = [], riderBases: [Digest] = [], decoded: UInt64 = 0, fetched: UInt64 = 0,
    coreExtensions: [UInt8] = [0, 0], bodyExtensions: [UInt8] = [0, 0]
  ) async throws -> StoredManifest {
    var builder = ObjectBuilder(
      kind: .manifest, keys: home.repository.keys, basePacks: riderBases, random: home.repository.random)
    for rider in riders { builder.add(rider) }
    var frame = UInt32(riders.count)
    func ride(_ units: [[UInt8]], _ type: UnitType) -> UInt32 {
      builder.add(raw(units, type))
      frame += 1
      return frame - 1
    }
    let parts = leaves ?? [packs ?? self.packs]
    let table = ride(parts.map { PackTableLeaf(entries: $0).encode() }, tableType)
    let leafFrame = ride([try map()], .node)
    let leaf = Location(pack: mapHolder?.number ?? 0, frame: mapHolder == nil ? leafFrame : 0, unit: 0)
    var maps = [ManifestBody.MapRoot(depth: 1, location: leaf)]
    for (_, blocks) in companions where !blocks.isEmpty {
      let content = ride(blocks, .block)
      let run = UnitRun(location: UnitLocation(pack: 0, frame: content, unit: 0), count: UInt16(blocks.count))
      let map = ride(Array(MapLeaves(of: try list([run]), placed: [])), .node)
      maps.append(ManifestBody.MapRoot(depth: 1, location: Location(pack: 0, frame: map, unit: 0)))
    }
    let pages = stride(from: 0, to: image.count, by: 4096).map { Array(image[$0..<$0 + 4096]) }
    let core = Core(
      chain: home.chain, sequence: sequence, previous: previous, time: 1_700_000_000_000, host: "host", database: "app",
      method: .pages, flags: [],
      members: [
        Core.Member(
          path: "app.db", mode: 0o600, modified: 0, content: .database(content(pages, .page, 4096)))
      ] + companions.map(\.member))
    let body = ManifestBody(
      state: .complete, chain: home.chain, sequence: sequence, revision: 0,
      core: Array(core.encode().dropLast(2)) + coreExtensions, bytesDecoded: decoded, bytesFetched: fetched,
      newBytes: 0, nextPackNumber: UInt32(self.packs.count + 1), tags: [], note: "",
      packTable: parts.indices.map { part in
        holder.map { .inPack($0, frame: 0, unit: 0) } ?? .here(frame: table, unit: UInt16(part))
      }, maps: maps)
    let sealed = try builder.finish(meta: Array(body.encode().dropLast(2)) + bodyExtensions)
    let name = VersionName(
      chain: home.chain, sequence: sequence, revision: 0, length: sealed.bytes.count, digest: sealed.name)
    try await home.store.put(ObjectBody(sealed.bytes), at: name.objectName, ifAbsent: false)
    return try await home.repository.readManifest(name)
  }

  func content(_ units: [[UInt8]], _ type: UnitType, _ size: UInt32) -> Core.FileContent {
    let digest = RunningDigest()
    for fingerprint in fingerprints(units, type) { digest.update(fingerprint.bytes) }
    let bytes = units.flatMap { $0 }
    return Core.FileContent(
      unitType: type, unitSize: size, unitCount: UInt64(units.count), length: UInt64(bytes.count),
      imageDigest: digest.finish(), sha256: .sha256(of: bytes))
  }
}
