package import Sealing
import Storage

/// Fetches the content of a version, wave by wave: the frames that are wanted next and those they rest on by a few
/// parallel ranged requests, decoded on all cores while the next wave is fetched, each unit put straight to its place and proved there.
///
/// Memory hardly grows with the version: what there is of each page or frame lives in nameless files.
package struct VersionReader: Sendable {
  package let manifest: StoredManifest
  package let core: Core
  let table: PackTable
  let repository: Repository
  let state: StateFolder?
  let tableFolder: String
  /// For all that is read of it.
  private let opened = Locked<OpenPacks?>(nil)
  /// Bytes fetched for one wave. Tests make it small.
  package var waveLength = RestoreWave.Limits().sealed

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

  /// Puts one member into its destination and proves, by the image digest, what stands there then.
  /// - Parameters:
  ///   - destination: begins as zeros of the member's length, but for what it says is complete; zeros are not written.
  ///   - onProgress: bytes put in place since the last call.
  /// - Throws: `.damaged`, also when what stands in the destination is not the version's; `WrongBeginning` when that may be
  ///   for what was complete there before; `SealError`; `StoreError`; what `destination` throws.
  package func read(
    member index: Int, into destination: any MemberDestination, onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    try await read(
      member: index, limits: RestoreWave.Limits(sealed: waveLength), into: destination, onProgress: onProgress)
  }

  func read(
    member index: Int, limits: RestoreWave.Limits, into destination: any MemberDestination,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    let (file, root) = try content(of: index)
    let start = Self.unitsComplete(in: destination, of: file)
    let packs = try packs()
    let frames = VersionFrames(manifest: manifest, packs: packs)
    let writer = MemberWriter(file: file, destination: destination)
    let proofs = try UnitProofs(of: file, in: destination, keys: repository.keys, tables: tableFolder)
    async let directories: Void = packs.prefetchDirectories()
    let plan = try await plan(for: writer, from: start, MapReader(manifest: manifest, packs: packs), root, proofs)
    try await directories

    try await decode(plan, of: frames, limits, proving: false, for: writer) { frame, demands in
      try writer.write(frame, demands, noting: proofs, onProgress)
    }
    writer.noteComplete(before: .max)
    try await proofs.proveRest(workers: Self.workers)
    guard proofs.digest != file.imageDigest else { return }
    guard start == 0 else { throw WrongBeginning() }
    // Frames were not proved one by one, which costs as much again. Now it is worth it: to say which one is wrong.
    try await decode(plan, of: frames, limits, proving: true) { frame, demands in
      try writer.compare(frame, demands)
    }
    throw RepositoryError(
      .damaged, "what was fetched is not what was pushed: the digests differ",
      hint: "Nothing was written. `sealift list` shows other versions.")
  }

  /// The packs, opened: what was learnt of them for one member serves the next.
  func packs() throws -> OpenPacks {
    if let opened = opened.withLock({ $0 }) { return opened }
    let packs = try OpenPacks(
      table, repository: repository, chain: manifest.name.chain, state: state, in: tableFolder)
    return opened.withLock { known in
      known = known ?? packs
      return known ?? packs
    }
  }

  /// Fetches and decodes every frame that the plan wants, wave by wave.
  /// - Parameter writer: told after each wave how far its member is complete.
  func decode(
    _ plan: RestorePlan, of frames: VersionFrames, _ limits: RestoreWave.Limits, proving: Bool,
    for writer: MemberWriter? = nil,
    place: @escaping @Sendable (DecodedFrame, [RestorePlan.Demand]) throws -> Void
  ) async throws {
    let planner = try WavePlanner(plan, of: frames, limits: limits, wavesAhead: Self.wavesAhead, in: tableFolder)
    try await planner.countBases()
    let ahead = try ScratchFile(in: tableFolder)
    let decoder = WaveDecoder(
      frames, bases: try ScratchFile(in: tableFolder), ahead: ahead, workers: Self.workers, proving: proving)
    try await withThrowingTaskGroup(of: (Int, RestoreWave).self) { group in
      var fetched: [Int: RestoreWave] = [:]
      var (planned, decoded) = (0, 0)
      while true {
        while planned - decoded <= Self.wavesAhead, let wave = try await planner.next() {
          group.addTask { [planned] in (planned, try await wave.fetched(from: frames.packs, puttingAhead: ahead)) }
          planned += 1
        }
        guard decoded < planned else { return }
        while fetched[decoded] == nil, let (number, wave) = try await group.next() { fetched[number] = wave }
        guard let wave = fetched.removeValue(forKey: decoded) else { return }
        try await decoder.decode(wave, place: place)
        writer?.noteComplete(before: wave.firstMissing)
        decoded += 1
      }
    }
  }

  /// So many waves are on their way while one is decoded: the line never waits for the cores, nor for the last answer
  /// of a wave.
  private static let wavesAhead = 2

  /// As many as there are cores, but no more: what each holds is memory.
  static let workers = max(1, min(4, Cores.available))

  private func content(of index: Int) throws -> (Core.FileContent, ManifestBody.MapRoot) {
    let files = core.members.indices.filter { core.members[$0].file != nil }
    guard let file = core.members[index].file, let map = files.firstIndex(of: index), map < manifest.body.maps.count
    else { throw RepositoryError(.damaged, "member \(index) of the version has no content") }
    return (file, manifest.body.maps[map])
  }

  /// How many units of a member stand in a destination already, whole.
  private static func unitsComplete(in destination: any MemberDestination, of file: Core.FileContent) -> Int {
    let complete = destination.complete
    return complete >= Int(file.length) ? Int(file.unitCount) : max(0, complete) / Int(file.unitSize)
  }

  /// Reads the member's map. What is zeros needs no frame, nor do the units before `start`: they stand there already.
  private func plan(
    for writer: MemberWriter, from start: Int, _ map: MapReader, _ root: ManifestBody.MapRoot, _ proofs: UnitProofs
  ) async throws -> RestorePlan {
    let file = writer.file
    let demands = try FileTable<RestorePlan.Demand>(capacity: Int(file.unitCount), in: tableFolder)
    proofs.noteStanding(0..<start)
    var unit = 0
    try await map.forEachRun(of: file, root: root) { run in
      let (first, end) = (max(unit, start), unit + Int(run.count))
      defer { unit = end }
      guard first < end else { return }
      if run.pack == UnitLocation.zeros {
        proofs.noteStanding(first..<end)
      } else {
        // A hostile map may point beyond what a frame can have: whoever writes the units finds that.
        let firstUnit = UInt16(clamping: Int(run.firstUnit) + first - unit)
        demands.append(
          RestorePlan.Demand(
            pack: run.pack, frame: run.frame, firstUnit: firstUnit, count: UInt16(end - first),
            memberUnit: UInt32(first)))
      }
    }
    try writer.reserve(demands)
    return try RestorePlan(demands, in: tableFolder)
  }
}
