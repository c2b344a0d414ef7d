import Sealing
import Storage

/// Writes one attempt at a version: new units to packs, then the map, the pack table and, last, the manifest.
///
/// It does not decide whether the version counts: that takes the checks of `PushSession`.
struct VersionWriter: ~Copyable {
  /// New data that stays below this rides in the manifest instead of making a small pack.
  static let riderLimit = 64 << 10

  struct Written: Sendable {
    let manifest: StoredManifest
    /// Every pack the version needs.
    let packs: [PackEntry]
    let bytesNew: Int
    let nextPackNumber: UInt32
  }

  private let repository: Repository
  private let state: StateFolder
  private let draft: VersionDraft
  private let dryRun: Bool
  private var known: KnownPacks
  private let resumed: [PackEntry]
  private var packs: PackStream
  private let encoders: WorkerPool<FrameEncoder>
  private let fingerprinters: WorkerPool<Fingerprinter>
  private var partials: PartialManifests
  private var noted = 0

  /// - Parameters:
  ///   - resumed: packs of a push that was cut, which partial manifests go on protecting.
  ///   - partials: when to publish what is stored so far; it also counts the revisions.
  ///   - onPackStored: called for every pack as soon as it is safe at the target.
  init(
    _ draft: VersionDraft, repository: Repository, state: StateFolder, known: KnownPacks, resumed: [PackEntry],
    nextPackNumber: UInt32,
    partials: PartialManifests, dryRun: Bool, onPackStored: @escaping @Sendable (PackEntry) throws -> Void
  ) {
    self.draft = draft
    self.repository = repository
    self.state = state
    self.known = known
    self.resumed = resumed
    self.dryRun = dryRun
    self.partials = partials
    packs = PackStream(
      repository, chain: draft.chain, state: state, firstNumber: nextPackNumber, dryRun: dryRun,
      onStored: onPackStored)
    let level = Int32(draft.compressionLevel)
    encoders = WorkerPool { FrameEncoder(level: level) }
    fingerprinters = WorkerPool { [keys = repository.keys] in Fingerprinter(keys) }
  }

  /// The whole road. When it has ended, also by an error, no upload of it is under way any more.
  /// - Parameter onProgress: bytes of the members read so far.
  /// - Returns: `nil` when the content is that of `newest`, and no version was written.
  mutating func write(
    unlessEqual newest: Core?, onProgress: (Int) -> Void
  ) async throws -> Written? {
    do {
      let written = try await writeAll(unlessEqual: newest, onProgress: onProgress)
      if written == nil { await packs.abandon() }
      return written
    } catch {
      await packs.abandon()
      throw error
    }
  }

  private mutating func writeAll(
    unlessEqual newest: Core?, onProgress: (Int) -> Void
  ) async throws -> Written? {
    var members: [(member: Core.Member, runs: RunList)] = []
    var bytesRead = 0
    for source in draft.members {
      var runs = RunList()
      let member = try await read(source, into: &runs) { [bytesRead] in onProgress(bytesRead + $0) }
      bytesRead += source.length
      members.append((member, runs))
    }
    if let newest, newest.flags == draft.flags, newest.hasContent(of: members.map(\.member)) { return nil }
    let riders = try await endContent()
    var placer = NodePlacer(riders: riders, encoders: encoders, fingerprints: fingerprinters)
    let placed = packs.placed
    let resolved = members.map { $0.runs.runs.map { run in run.resolved(placed) } }
    let roots = try await placeMaps(resolved, &placer)
    try await packs.close()
    try await packs.settle()
    try await noteStored()

    let used = known.closure(
      of: Set(resolved.joined().map(\.location.pack) + roots.used).subtracting([0, UnitLocation.zeros]))
    let table = try used.sorted().map { number in
      guard let entry = known.entries[number] else {
        throw RepositoryError(.damaged, "pack number \(number) is not known")
      }
      return entry
    }
    let leaves = try await placeTable(table, &placer)
    let cost = cost(of: resolved, nodes: roots.used, riders: riders)
    let core = Core(
      chain: draft.chain, sequence: draft.sequence, previous: draft.previous, time: draft.time, host: draft.host,
      database: draft.database, method: draft.method, flags: draft.flags, members: members.map(\.member))
    let bytesNew = packs.stored.reduce(0) { $0 + Int($1.entry.length) }
    let body = ManifestBody(
      state: .complete, chain: draft.chain, sequence: draft.sequence, revision: partials.nextRevision,
      core: core.encode(),
      bytesDecoded: UInt64(cost.decoded), bytesFetched: UInt64(cost.fetched), newBytes: UInt64(bytesNew),
      nextPackNumber: packs.nextNumber, tags: draft.tags, note: draft.note, packTable: leaves.references,
      maps: roots.maps)
    let manifest = try await storeManifest(body, riding: placer.riding)
    return Written(
      manifest: manifest, packs: table + leaves.holders.filter { !table.contains($0) },
      bytesNew: bytesNew, nextPackNumber: packs.nextNumber)
  }

  /// Reads a member, finds what is known and gathers the rest into frames.
  private mutating func read(
    _ source: MemberSource, into runs: inout RunList, onProgress: (Int) -> Void
  ) async throws -> Core.Member {
    var frames = FrameMaker(source.unitType, encoders: encoders, firstOrdinal: UInt32(packs.placed.count))
    var blocks = BlockPipeline(source, workers: fingerprinters)
    let image = RunningDigest()
    let plain = RunningDigest()
    while let block = try await blocks.next() {
      try Task.checkCancellation()
      plain.update(block.bytes)
      for unit in block.fingerprints.indices {
        let fingerprint = block.fingerprints[unit]
        image.update(fingerprint.bytes)
        if block.zeros[unit] {
          runs.append(.zero)
        } else if let place = known.index[fingerprint] {
          runs.append(place)
        } else {
          let place = frames.add(block.bytes[block.range(of: unit)], fingerprint)
          known.note(fingerprint, at: place)
          runs.append(place)
        }
      }
      while frames.isBusy, let frame = try await frames.next() { try await packs.append(frame) }
      try await noteStored()
      onProgress(block.first * block.unitSize + block.bytes.count)
    }
    frames.endFrame()
    while let frame = try await frames.next() { try await packs.append(frame) }
    let file = Core.FileContent(
      unitType: source.unitType, unitSize: UInt32(source.unitSize), unitCount: UInt64(source.unitCount),
      length: UInt64(source.length), imageDigest: image.finish(), sha256: plain.finish())
    return Core.Member(
      path: source.path, mode: source.mode, modified: source.modified,
      content: source.unitType == .page ? .database(file) : .file(file))
  }

  /// Takes note of packs that have come to be stored, and publishes a partial manifest when it is time.
  private mutating func noteStored() async throws {
    let stored = packs.stored
    for pack in stored[noted...] { known.addNew(pack.entry, frames: pack.frames) }
    noted = stored.count
    // The last revision is kept for the version itself.
    if !dryRun, partials.nextRevision < VersionName.lastRevision, partials.isDue(packs: noted) {
      let entries = (resumed + stored.map(\.entry)).sorted { $0.number < $1.number }
      try await storePartial(entries, revision: partials.begin(packs: noted))
    }
  }

  /// What is left of the content becomes a pack, or rides when it is small.
  private mutating func endContent() async throws -> [EncodedFrame] {
    if packs.pendingLength < Self.riderLimit { return packs.takeRiders() }
    try await packs.close()
    return []
  }

  private mutating func placeMaps(
    _ members: [[UnitRun]], _ placer: inout NodePlacer
  ) async throws -> (maps: [ManifestBody.MapRoot], used: [UInt32], nodes: Int) {
    var maps: [ManifestBody.MapRoot] = []
    var used: [UInt32] = []
    for runs in members {
      let depth = PageMap.depth(units: runs.reduce(0) { $0 + $1.count })
      guard depth > 0 else {
        maps.append(ManifestBody.MapRoot(depth: 0, location: Location(pack: 0, frame: 0, unit: 0)))
        continue
      }
      var nodes = try await placer.place(PageMap.leaves(of: runs), known: known, packs: &packs)
      used += nodes.map(\.pack)
      for level in 1..<max(1, depth) {
        nodes = try await placer.place(PageMap.branches(above: nodes, level: level), known: known, packs: &packs)
        used += nodes.map(\.pack)
      }
      maps.append(
        ManifestBody.MapRoot(
          depth: depth, location: Location(pack: nodes[0].pack, frame: nodes[0].frame, unit: nodes[0].unit)))
    }
    return (maps, used, used.count)
  }

  /// The pack table, in leaves cut by number so that a full leaf never changes again.
  private mutating func placeTable(
    _ table: [PackEntry], _ placer: inout NodePlacer
  ) async throws -> (references: [ManifestBody.LeafReference], holders: [PackEntry]) {
    let groups = Dictionary(grouping: table) { $0.number / 512 }
    let nodes = groups.keys.sorted().map { PackTableLeaf(entries: groups[$0] ?? []).encode() }
    let places = try await placer.place(nodes, known: known, packs: &packs)
    try await packs.close()
    try await packs.settle()
    try await noteStored()
    var holders: [PackEntry] = []
    let references = try places.map { place throws -> ManifestBody.LeafReference in
      if place.pack == UnitLocation.thisObject { return .here(frame: place.frame, unit: place.unit) }
      guard let holder = known.entries[place.pack] else {
        throw RepositoryError(.damaged, "pack number \(place.pack) is not known")
      }
      holders.append(holder)
      return .inPack(holder, frame: place.frame, unit: place.unit)
    }
    return (references, holders)
  }

  /// What a restore of the whole version decodes and fetches, in bytes.
  private func cost(of members: [[UnitRun]], nodes: [UInt32], riders: [EncodedFrame]) -> (decoded: Int, fetched: Int) {
    var frames: Set<UInt64> = []
    var cost = (decoded: 0, fetched: 0)
    for run in members.joined() {
      let place = run.location
      guard place.pack != UnitLocation.zeros, frames.insert(UInt64(place.pack) << 32 | UInt64(place.frame)).inserted
      else { continue }
      if place.pack == UnitLocation.thisObject {
        let rider = riders[Int(place.frame)]
        cost.decoded += rider.plaintextLength
        cost.fetched += rider.payload.count + 16
      } else if let frame = known.frames[place.pack]?[Int(place.frame)] {
        cost.decoded += frame.plaintextLength
        cost.fetched += frame.sealedLength
      }
    }
    return cost
  }

  private func storeManifest(_ body: ManifestBody, riding: [EncodedFrame]) async throws -> StoredManifest {
    var builder = ObjectBuilder(kind: .manifest, keys: repository.keys, random: repository.random)
    for frame in riding { builder.add(frame) }
    let sealed = try builder.finish(meta: body.encode())
    let name = VersionName(
      chain: body.chain, sequence: body.sequence, revision: body.revision, length: sealed.bytes.count,
      digest: sealed.name)
    let opened = try repository.openManifest(sealed.bytes, name: name)
    if !dryRun {
      try await repository.store.put(
        ObjectBody(sealed.bytes, sha256: sealed.name.bytes), at: name.objectName, ifAbsent: false)
      if sealed.bytes.count <= 256 << 10 { state.keep(sealed.bytes, as: sealed.name.hex) }
    }
    return opened
  }

  /// Protects the packs stored so far from prunes, and says to a later push what it may continue with.
  private func storePartial(_ entries: [PackEntry], revision: UInt32) async throws {
    var table: [EncodedFrame] = []
    var references: [ManifestBody.LeafReference] = []
    for start in stride(from: 0, to: entries.count, by: 512) {
      let node = PackTableLeaf(entries: Array(entries[start..<min(start + 512, entries.count)])).encode()
      let fingerprint = fingerprinters.with { worker in node.withUnsafeBytes { worker.fingerprint(.node, $0) } }
      let frame = try encoders.with { encoder in
        try node.withUnsafeBytes {
          try encoder.encode(type: .node, units: $0, unitLengths: [node.count], fingerprints: [fingerprint])
        }
      }
      references.append(.here(frame: UInt32(table.count), unit: 0))
      table.append(frame)
    }
    let body = ManifestBody(
      state: .partial, chain: draft.chain, sequence: draft.sequence, revision: revision, core: [],
      bytesDecoded: 0, bytesFetched: 0, newBytes: 0, nextPackNumber: (entries.map(\.number).max() ?? 0) + 1,
      tags: [], note: "", packTable: references, maps: [])
    _ = try await storeManifest(body, riding: table)
  }
}
