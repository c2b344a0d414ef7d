import Sealing
import Storage

/// Puts the content of a version together again from whatever is left of it: frames that can still be decoded, pages of
/// images on this machine. Nothing of it is believed before the image digest says that it is the version's.
struct Salvage: Sendable {
  private let manifest: StoredManifest
  private let repository: Repository
  private let state: StateFolder
  private let folder: String

  init(_ manifest: StoredManifest, _ repository: Repository, state: StateFolder, tables folder: String) {
    self.manifest = manifest
    self.repository = repository
    self.state = state
    self.folder = folder
  }

  /// - Returns: every member that has content, in order; `nil` when one cannot be had.
  /// - Throws: `StoreError`, `.stateFolder`.
  func members(from local: LocalPages?) async throws -> [ScratchMember]? {
    guard let core = manifest.core, core.members.allSatisfy({ $0.file != nil }) else { return nil }
    let files = core.members.compactMap(\.file)
    guard files.count == manifest.body.maps.count else { return nil }
    var members: [ScratchMember] = []
    for (file, root) in zip(files, manifest.body.maps) {
      guard let member = try await self.member(file, root, from: local) else { return nil }
      members.append(member)
    }
    return members
  }

  private func member(
    _ file: Core.FileContent, _ root: ManifestBody.MapRoot, from local: LocalPages?
  ) async throws -> ScratchMember? {
    let member = try ScratchMember(length: Int(file.length), in: folder)
    let lost = try LostUnits(of: file, in: folder)
    do {
      try await read(file, root, from: local, into: member, lost)
    } catch let error where error.isDamage {
      // Without table or map nothing says what is where.
      lost.loseAll()
    }
    if try await isWhole(member, file, besides: lost) { return member }
    guard let local, file.unitType == .page, let unknown = try lost.fill(member, from: local) else { return nil }
    if unknown.isEmpty { return try await isWhole(member, file) ? member : nil }
    // Where not even fingerprints are left, what stands at the same place of a local image is tried.
    for image in local.images {
      for unit in unknown {
        guard let page = local.page(unit, ofImage: image) else { continue }
        try member.write(page[...], at: unit * Int(file.unitSize))
      }
      if try await isWhole(member, file) { return member }
    }
    return nil
  }

  private func isWhole(
    _ member: ScratchMember, _ file: Core.FileContent, besides lost: LostUnits? = nil
  ) async throws -> Bool {
    guard lost?.isEmpty ?? true else { return false }
    return try await member.imageDigest(file, keys: repository.keys, tables: folder) == file.imageDigest
  }

  /// Puts in place what can be decoded, and notes the rest.
  private func read(
    _ file: Core.FileContent, _ root: ManifestBody.MapRoot, from local: LocalPages?, into member: ScratchMember,
    _ lost: LostUnits
  ) async throws {
    let table = try await PackTable(of: manifest, repository: repository, state: state)
    let packs = OpenPacks(table, repository: repository, chain: manifest.name.chain, state: state)
    let demands = try FileTable<RestorePlan.Demand>(capacity: Int(file.unitCount), in: folder)
    var unit = 0
    try await MapReader(manifest: manifest, packs: packs).forEachRun(of: file, root: root) { run in
      if run.pack != UnitLocation.zeros {
        demands.append(
          RestorePlan.Demand(
            pack: run.pack, frame: run.frame, firstUnit: run.firstUnit, count: run.count, memberUnit: UInt32(unit)))
      }
      unit += Int(run.count)
    }
    let plan = try RestorePlan(demands, of: file, in: folder)
    let writer = MemberWriter(file: file, destination: member)
    var frames = try TolerantFrames(
      VersionFrames(manifest: manifest, packs: packs), from: local, state: state, in: folder)
    for index in 0..<plan.frames.count {
      try Task.checkCancellation()
      let place = plan.frames[index].place
      if let frame = try await frames.content(of: place) {
        try writer.write(frame, plan.demands(of: place))
      } else {
        let prints = try await frames.fingerprints(of: place)
        for demand in plan.demands(of: place) { lost.note(demand, prints) }
      }
    }
  }
}
