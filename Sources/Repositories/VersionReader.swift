package import Sealing
import Storage

/// Fetches the content of a version: each pack's frames by as few ranged requests as they need, opened, decoded and put
/// in their place. What the caller gets is authentic unit by unit; it still checks the whole against the digests.
package struct VersionReader: Sendable {
  /// Frames that lie this close are fetched together.
  private static let gap = 128 << 10
  private static let requestLimit = 8 << 20

  package let manifest: StoredManifest
  package let core: Core
  private let table: PackTable
  private let repository: Repository
  private let state: StateFolder?
  private let bases: BaseFrames

  /// - Throws: `.incomplete` for a partial manifest; `.damaged`; `SealError`; `StoreError`.
  package init(_ manifest: StoredManifest, repository: Repository, state: StateFolder?) async throws {
    guard let core = manifest.core else {
      throw RepositoryError(.incomplete, "\(manifest.name.objectName) is a partial manifest and no version")
    }
    self.manifest = manifest
    self.core = core
    self.repository = repository
    self.state = state
    table = try await PackTable(of: manifest, repository: repository, state: state)
    bases = BaseFrames(table: table, repository: repository, chain: manifest.name.chain, state: state)
  }

  /// How many packs the version needs.
  package var packCount: Int { table.all.count }

  /// Reads one member.
  /// - Parameters:
  ///   - write: puts bytes at an offset of the member; called from several tasks, for disjoint parts. Zeros are not
  ///     written: the destination begins as zeros of the member's length.
  ///   - onProgress: bytes put in place since the last call.
  package func read(
    member index: Int, write: @escaping @Sendable (Int, ArraySlice<UInt8>) throws -> Void,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    let files = core.members.indices.filter { core.members[$0].file != nil }
    guard let file = core.members[index].file, let map = files.firstIndex(of: index), map < manifest.body.maps.count
    else {
      throw RepositoryError(.damaged, "member \(index) of the version has no content")
    }
    let maps = MapReader(manifest: manifest, table: table, repository: repository, state: state)
    let runs = try await maps.runs(of: file, root: manifest.body.maps[map])
    let plan = RestorePlan(runs, of: file)
    let own = plan.frames[UnitLocation.thisObject] ?? [:]
    for (frame, demands) in own.sorted(by: { $0.key < $1.key }) {
      let decoder = FrameDecoder(keys: repository.keys)
      guard manifest.object.directory.frames.indices.contains(Int(frame)) else {
        throw RepositoryError(.damaged, "a map points outside the manifest")
      }
      let plain = try manifest.object.decodeFrame(Int(frame), with: decoder)
      try place(plain, manifest.object.directory.frames[Int(frame)], demands, file, write, onProgress)
    }
    let packs = plan.frames.keys.filter { $0 != UnitLocation.thisObject }.sorted()
    _ = try await bounded(packs, atOnce: min(4, repository.store.traits.concurrency)) { number in
      try await readPack(number, plan.frames[number] ?? [:], file, write, onProgress)
    }
  }

  private func readPack(
    _ number: UInt32, _ wanted: [UInt32: [RestorePlan.Demand]], _ file: Core.FileContent,
    _ write: @Sendable (Int, ArraySlice<UInt8>) throws -> Void, _ onProgress: @Sendable (Int) -> Void
  ) async throws {
    guard let entry = table[number] else {
      throw RepositoryError(.damaged, "a map names pack \(number), which is not in the pack table")
    }
    let pack = PackFrames(entry, repository: repository, chain: manifest.name.chain, state: state)
    let directory = try await pack.directory()
    let keys = try PackReader(entry: entry, keys: repository.keys).objectKeys
    let decoder = FrameDecoder(keys: repository.keys)
    for group in try Self.requests(for: wanted.keys.sorted(), in: directory, entry) {
      try Task.checkCancellation()
      let first = directory.frames[group[0]]
      let sealed = try await pack.sealed(first, through: directory.frames[group[group.count - 1]])
      for index in group {
        let record = directory.frames[index]
        let start = record.offset - first.offset
        let prefix = try await bases.prefix(of: record, in: directory, entry)
        let plain = try PackFrames.naming(entry) {
          try decoder.decode(
            sealed[start..<start + Int(record.sealedLength)], record: record, index: index, objectKeys: keys,
            prefix: prefix)
        }
        try place(plain, record, wanted[UInt32(index)] ?? [], file, write, onProgress)
      }
    }
  }

  /// Frames joined to requests: neighbours together, none far beyond the limit.
  private static func requests(for frames: [UInt32], in directory: Directory, _ entry: PackEntry) throws -> [[Int]] {
    var groups: [[Int]] = []
    var end = 0
    var length = 0
    for frame in frames.map(Int.init) {
      guard directory.frames.indices.contains(frame) else { throw PackFrames.missing(frame, entry) }
      let record = directory.frames[frame]
      if groups.isEmpty || record.offset - end > gap || length > requestLimit {
        groups.append([])
        length = 0
      }
      groups[groups.count - 1].append(frame)
      end = record.offset + Int(record.sealedLength)
      length += Int(record.sealedLength)
    }
    return groups
  }

  /// Puts the units that were asked for where they belong.
  private func place(
    _ plain: [UInt8], _ record: FrameRecord, _ demands: [RestorePlan.Demand], _ file: Core.FileContent,
    _ write: (Int, ArraySlice<UInt8>) throws -> Void, _ onProgress: (Int) -> Void
  ) throws {
    guard record.type == file.unitType else { throw RepositoryError(.damaged, "a map points at units of another type") }
    for demand in demands {
      guard demand.firstUnit + demand.count <= record.unitLengths.count else {
        throw RepositoryError(.damaged, "a map points beyond the end of a frame")
      }
      for step in 0..<demand.count {
        let target = (demand.memberUnit + step) * Int(file.unitSize)
        let expected = min(Int(file.unitSize), Int(file.length) - target)
        guard record.unitLengths[demand.firstUnit + step] == expected else {
          throw RepositoryError(.damaged, "a map points at a unit of another length")
        }
      }
      let start = record.unitOffset(demand.firstUnit)
      let last = demand.firstUnit + demand.count - 1
      let slice = plain[start..<record.unitOffset(last) + record.unitLengths[last]]
      try write(demand.memberUnit * Int(file.unitSize), slice)
      onProgress(slice.count)
    }
  }
}

/// Which units of which frames go where.
struct RestorePlan: Sendable {
  struct Demand: Sendable {
    let firstUnit: Int
    let count: Int
    let memberUnit: Int
  }

  /// By pack number, then by frame.
  private(set) var frames: [UInt32: [UInt32: [Demand]]] = [:]

  init(_ runs: [MapLeaf.Run], of file: Core.FileContent) {
    var unit = 0
    for run in runs {
      if run.pack != UnitLocation.zeros {
        frames[run.pack, default: [:]][run.frame, default: []].append(
          Demand(firstUnit: Int(run.firstUnit), count: Int(run.count), memberUnit: unit))
      }
      unit += Int(run.count)
    }
  }
}
