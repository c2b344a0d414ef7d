import Sealing
import Storage

/// Puts the content of a version together again from whatever is left of it: frames that can still be decoded, pages of
/// images and blocks of files on this machine, packs of a later version. Nothing of it is believed before the image digest
/// says that it is the version's.
struct Salvage: Sendable {
  private let manifest: StoredManifest
  private let repository: Repository
  private let state: StateFolder
  private let folder: String
  private let nodes: LostNodes
  private let fetched: FetchedPacks

  /// - Parameters:
  ///   - nodes: what was lost of maps before, of this version or of others of its chain.
  ///   - fetched: what was fetched for others of its chain.
  init(
    _ manifest: StoredManifest, _ repository: Repository, state: StateFolder, tables folder: String,
    besides nodes: LostNodes = LostNodes(), keeping fetched: FetchedPacks? = nil
  ) {
    self.nodes = nodes
    self.fetched = fetched ?? FetchedPacks(in: folder)
    self.manifest = manifest
    self.repository = repository
    self.state = state
    self.folder = folder
  }

  /// - Parameters:
  ///   - spoilt: packs in which something was lost are noted there, whether or not it is had elsewhere.
  ///   - onWhole: gets the place of each member that is whole at the target: nothing from elsewhere was needed.
  ///   - onProgress: gets how many bytes of all members were looked for so far.
  /// - Returns: every member that has content, in order; `nil` when one cannot be had.
  /// - Throws: `StoreError`, `.stateFolder`, `CancellationError`.
  func members(
    from sources: SalvageSources?, noting spoilt: inout Set<Digest>, onWhole: (Int) -> Void = { _ in },
    onProgress: (Int) -> Void = { _ in }
  ) async throws -> [ScratchMember]? {
    guard let core = manifest.core else { return nil }
    let files = core.members.compactMap { member in member.file.map { (path: member.path, content: $0) } }
    guard files.count == manifest.body.maps.count else { return nil }
    let scratch = try ScratchFile(in: folder)
    var frames = try await frames(from: sources)
    defer { spoilt.formUnion(frames?.spoilt ?? []) }
    var members: [ScratchMember] = []
    var start = 0
    for (index, (file, root)) in zip(files, manifest.body.maps).enumerated() {
      let member = try ScratchMember(length: Int(file.content.length), at: start, of: scratch)
      let before = start
      switch try await fill(
        member, file.content, root, of: file.path, &frames, from: sources, onProgress: { onProgress(before + $0) })
      {
      case .whole: onWhole(index)
      case .mended: break
      case .lost: return nil
      }
      members.append(member)
      start += Int(file.content.length)
      onProgress(start)
    }
    return members
  }

  /// The frames of the version; `nil` without its table of packs.
  private func frames(from sources: SalvageSources?) async throws -> TolerantFrames? {
    do {
      let table = try await PackTable(of: manifest, repository: repository, state: state)
      let packs = try OpenPacks(
        table, repository: repository, chain: manifest.name.chain, state: state, in: folder)
      return try TolerantFrames(
        VersionFrames(manifest: manifest, packs: packs), from: sources, noting: nodes, keeping: fetched, state: state,
        in: folder)
    } catch let error where error.isDamage {
      return nil
    }
  }

  /// What comes of a member.
  private enum Filled {
    /// All of it is at the target.
    case whole
    /// What is lost there was had elsewhere.
    case mended
    case lost
  }

  private func fill(
    _ member: ScratchMember, _ file: Core.FileContent, _ root: ManifestBody.MapRoot, of path: String,
    _ frames: inout TolerantFrames?, from sources: SalvageSources?, onProgress: (Int) -> Void
  ) async throws -> Filled {
    let lost = try LostUnits(of: file, in: folder)
    do {
      if frames == nil { lost.loseAll() }
      try await frames?.read(file, root, into: member, lost, in: folder, onProgress: onProgress)
    } catch let error where error.isDamage {
      // Without a map nothing says what is where.
      lost.loseAll()
    }
    if try await isWhole(member, file, besides: lost) { return frames?.standsIn == false ? .whole : .mended }
    guard let sources, let unknown = try await lost.fill(member, of: path, from: sources) else { return .lost }
    if unknown.isEmpty { return try await isWhole(member, file) ? .mended : .lost }
    // Where not even fingerprints are left, what stands at the same place of a local image, or of the file, is tried.
    for standIn in sources.standIns(for: path, file.unitType) {
      for (index, unit) in unknown.enumerated() {
        if index % 256 == 0 { try Task.checkCancellation() }
        guard let found = standIn(unit) else { continue }
        // A file may have grown since: no member is written to beyond its end.
        let start = unit * Int(file.unitSize)
        try member.write(found.prefix(member.length - start), at: start)
      }
      if try await isWhole(member, file) { return .mended }
    }
    return .lost
  }

  private func isWhole(
    _ member: ScratchMember, _ file: Core.FileContent, besides lost: LostUnits? = nil
  ) async throws -> Bool {
    guard lost?.isEmpty ?? true else { return false }
    return try await member.imageDigest(file, keys: repository.keys, tables: folder) == file.imageDigest
  }
}

extension TolerantFrames {
  /// Puts in place what can be decoded, and notes the rest.
  fileprivate mutating func read(
    _ file: Core.FileContent, _ root: ManifestBody.MapRoot, into member: ScratchMember, _ lost: LostUnits,
    in folder: String, onProgress: (Int) -> Void
  ) async throws {
    let demands = try FileTable<RestorePlan.Demand>(capacity: Int(file.unitCount), in: folder)
    var unit = 0
    try await map.forEachRun(of: file, root: root) { run in
      if run.pack != UnitLocation.zeros {
        demands.append(
          RestorePlan.Demand(
            pack: run.pack, frame: run.frame, firstUnit: run.firstUnit, count: run.count, memberUnit: UInt32(unit)))
      }
      unit += Int(run.count)
    }
    let plan = try RestorePlan(demands, in: folder)
    let writer = MemberWriter(file: file, destination: member)
    var units = 0
    for index in 0..<plan.frames.count {
      try Task.checkCancellation()
      let place = plan.frames[index].place
      let demands = plan.demands(of: place)
      if let frame = try await content(of: place) {
        try writer.write(frame, demands)
      } else {
        let prints = try await fingerprints(of: place)
        for demand in demands { lost.note(demand, prints) }
      }
      units += demands.reduce(0) { $0 + Int($1.count) }
      onProgress(min(units * Int(file.unitSize), Int(file.length)))
    }
  }
}
