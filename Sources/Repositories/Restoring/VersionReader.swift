package import Sealing
import Storage

/// Fetches the content of a version, wave by wave: the frames that are wanted next and those they rest on by a few
/// parallel ranged requests, decoded on all cores while the next wave is fetched, each unit put straight to its place.
///
/// Memory is bounded, whatever the version's size: what grows with it lives in nameless files.
package struct VersionReader: Sendable {
  package let manifest: StoredManifest
  package let core: Core
  private let table: PackTable
  private let repository: Repository
  private let state: StateFolder?
  private let tableFolder: String

  /// - Parameter tables: the folder for nameless files of what grows with a member; by default the state folder.
  /// - Throws: `.incomplete` for a partial manifest; `.damaged`; `SealError`; `StoreError`.
  package init(
    _ manifest: StoredManifest, repository: Repository, state: StateFolder?, tables: String? = nil
  ) async throws {
    guard let core = manifest.core else {
      throw RepositoryError(.incomplete, "\(manifest.name.objectName) is a partial manifest and no version")
    }
    self.manifest = manifest
    self.core = core
    self.repository = repository
    self.state = state
    tableFolder = tables ?? state?.path ?? "/tmp"
    table = try await PackTable(of: manifest, repository: repository, state: state)
  }

  /// How many packs the version needs.
  package var packCount: Int { table.all.count }

  /// Reads one member. Every unit is proved by its fingerprint, and all of them by the image digest; the caller still
  /// proves what was written, by the member's SHA-256.
  /// - Parameters:
  ///   - write: puts bytes at an offset of the member; called from several tasks, for disjoint parts. Zeros are not
  ///     written: the destination begins as zeros of the member's length.
  ///   - onProgress: bytes put in place since the last call.
  /// - Throws: `.damaged`, also when the units are not those of the version; `SealError`; `StoreError`; what `write` throws.
  package func read(
    member index: Int, write: @escaping @Sendable (Int, ArraySlice<UInt8>) throws -> Void,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    try await read(member: index, limits: RestoreWave.Limits(), write: write, onProgress: onProgress)
  }

  func read(
    member index: Int, limits: RestoreWave.Limits,
    write: @escaping @Sendable (Int, ArraySlice<UInt8>) throws -> Void,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    let (file, root) = try content(of: index)
    let packs = OpenPacks(table, repository: repository, chain: manifest.name.chain, state: state)
    let frames = VersionFrames(manifest: manifest, packs: packs)
    let proofs = try UnitProofs(of: file, in: tableFolder)
    async let directories: Void = packs.prefetchDirectories()
    let plan = try await plan(file, MapReader(manifest: manifest, packs: packs), root, proofs)
    try await directories

    let planner = WavePlanner(plan, of: frames, limits: limits)
    try await planner.findBases()
    let decoder = WaveDecoder(frames, bases: try BaseFile(in: tableFolder), workers: Self.workers)
    var upcoming = try await planner.next()
    while let wave = upcoming {
      async let following = planner.next()
      try await decoder.decode(wave) { frame, demands in
        try frame.place(demands, in: file, proofs, write, onProgress)
      }
      upcoming = try await following
    }
    guard proofs.digest == file.imageDigest else {
      throw RepositoryError(
        .damaged, "what was fetched is not what was pushed: the digests differ",
        hint: "Nothing was written. `sealift list` shows other versions.")
    }
  }

  /// As many as there are cores, but no more: what each holds is memory.
  private static let workers = max(1, min(4, Cores.available))

  private func content(of index: Int) throws -> (Core.FileContent, ManifestBody.MapRoot) {
    let files = core.members.indices.filter { core.members[$0].file != nil }
    guard let file = core.members[index].file, let map = files.firstIndex(of: index), map < manifest.body.maps.count
    else { throw RepositoryError(.damaged, "member \(index) of the version has no content") }
    return (file, manifest.body.maps[map])
  }

  /// Reads the member's map. What is zeros needs no frame and is proved at once.
  private func plan(
    _ file: Core.FileContent, _ map: MapReader, _ root: ManifestBody.MapRoot, _ proofs: UnitProofs
  ) async throws -> RestorePlan {
    let demands = try FileTable<RestorePlan.Demand>(capacity: Int(file.unitCount), in: tableFolder)
    let whole = proofOfZeros(file, count: Int(file.unitSize))
    var unit = 0
    try await map.forEachRun(of: file, root: root) { run in
      if run.pack == UnitLocation.zeros {
        for zero in unit..<unit + Int(run.count) {
          // The last block of a file may be shorter.
          let rest = Int(file.length) - zero * Int(file.unitSize)
          proofs.note(rest < Int(file.unitSize) ? proofOfZeros(file, count: rest)[...] : whole[...], from: zero)
        }
      } else {
        demands.append(
          RestorePlan.Demand(
            pack: run.pack, frame: run.frame, firstUnit: run.firstUnit, count: run.count, memberUnit: UInt32(unit)))
      }
      unit += Int(run.count)
    }
    return try RestorePlan(demands, of: file, in: tableFolder)
  }

  private func proofOfZeros(_ file: Core.FileContent, count: Int) -> [UInt8] {
    let zeros = [UInt8](repeating: 0, count: count)
    return zeros.withUnsafeBytes { Fingerprinter(repository.keys).fingerprint(file.unitType, $0).bytes }
  }
}

extension DecodedFrame {
  /// Puts the units that are asked for where they belong.
  fileprivate func place(
    _ demands: [RestorePlan.Demand], in file: Core.FileContent, _ proofs: UnitProofs,
    _ write: (Int, ArraySlice<UInt8>) throws -> Void, _ onProgress: (Int) -> Void
  ) throws {
    guard record.type == file.unitType else { throw RepositoryError(.damaged, "a map points at units of another type") }
    for demand in demands {
      let units = Int(demand.firstUnit)..<Int(demand.firstUnit) + Int(demand.count)
      guard units.upperBound <= record.unitLengths.count else {
        throw RepositoryError(.damaged, "a map points beyond the end of a frame")
      }
      let target = Int(demand.memberUnit) * Int(file.unitSize)
      for (step, unit) in units.enumerated() {
        let expected = min(Int(file.unitSize), Int(file.length) - target - step * Int(file.unitSize))
        guard record.unitLengths[unit] == expected else {
          throw RepositoryError(.damaged, "a map points at a unit of another length")
        }
      }
      let last = units.upperBound - 1
      let slice = plain[record.unitOffset(units.lowerBound)..<record.unitOffset(last) + record.unitLengths[last]]
      try write(target, slice)
      let proved = units.lowerBound * Fingerprint.length..<units.upperBound * Fingerprint.length
      proofs.note(fingerprints[proved], from: Int(demand.memberUnit))
      onProgress(slice.count)
    }
  }
}
