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
    let level: DeltaLevel
    /// Some of the content rides in the manifest, where later versions cannot refer to it.
    let hasRiders: Bool
    /// None of the bases on this machine is at the target: what changed was stored whole.
    let lacksBases: Bool
    /// The target has the anchor, as far as that was asked.
    let meetsAnchor: Bool
    let stale: StalePacks
    let needs: VersionNeeds
  }

  /// Restoring this version would cost too much, or it stores more than a small leaf may: it must rest on less.
  struct TooDear: Error {
    /// It needs too many packs for what it takes of them, and would on any base: all it needs are whole frames, and none of
    /// those packs is to be stored anew anyway. Only a version that refers to less needs less.
    var isOnAnyBase = false
    /// It has content beside the image: an anchor that refers to nothing with its image refers to what there is of that.
    var hasCompanions = false
  }

  /// The version has not turned out to be the one that is to be written anew. Nothing names what was written.
  struct Deviation: Error {}

  let repository: Repository
  let state: StateFolder
  let draft: VersionDraft
  let dryRun: Bool
  var known: KnownPacks
  /// Units of this push, by the ordinal of their frame.
  let fresh: UnitIndex
  let level: DeltaLevel
  /// Where content is found again, as far as a member allows it.
  let reach: Reach
  let resumed: [PackEntry]
  /// There are packs of earlier versions. Those that a cut push has left were to become this very version.
  let isAmongOthers: Bool
  /// Packs that the same push has stored in attempts before this one: what of them is used is new as well.
  var carried: Set<Digest> = []
  var packs: PackStream
  let encoders: WorkerPool<FrameEncoder>
  let fingerprinters: WorkerPool<Fingerprinter>
  private(set) var partials: PartialManifests
  let onManifest: @Sendable (ManifestAttempt) throws -> Void
  /// Bytes of units that no version has had.
  var newBytes = 0
  /// There are bases on this machine, and the target has none of them.
  var lacksBases = false
  var meetsAnchor = false
  private var noted = 0

  /// - Parameters:
  ///   - resumed: packs of a push that was cut, which partial manifests go on protecting.
  ///   - reusesLeftovers: they may be referred to; else a version of the lowest level refers to nothing at all, and is never
  ///     too dear.
  ///   - partials: when to publish what is stored so far; it also counts the revisions.
  ///   - onPackStored: called for every pack as soon as it is safe at the target.
  ///   - onManifest: called before the manifest of the version leaves this machine.
  init(
    _ draft: VersionDraft, level: DeltaLevel, repository: Repository, state: StateFolder, known: KnownPacks,
    resumed: [PackEntry], reusesLeftovers: Bool, nextPackNumber: UInt32,
    packLength: Int = PushSession.Policy.packLength, partials: PartialManifests, dryRun: Bool,
    onPackStored: @escaping @Sendable (PackEntry) throws -> Void,
    onManifest: @escaping @Sendable (ManifestAttempt) throws -> Void
  ) throws(RepositoryError) {
    self.draft = draft
    self.onManifest = onManifest
    self.level = level
    reach = reusesLeftovers ? level.reach : Reach(depth: level.depthOfReferences)
    fresh = try UnitIndex(in: state.path)
    self.repository = repository
    self.state = state
    self.known = known
    self.resumed = resumed
    isAmongOthers = known.entries.count > resumed.count
    self.dryRun = dryRun
    self.partials = partials
    packs = PackStream(
      repository, chain: draft.chain, state: state, firstNumber: nextPackNumber, dryRun: dryRun,
      keepsUnits: level == .middle, packLength: packLength, onStored: onPackStored)
    let level = Int32(draft.compressionLevel)
    // A leaf that is too dear becomes a base. Without room for its samples it does not.
    if self.level < .shoot { try? draft.deltas.samples?.begin() }
    encoders = WorkerPool { FrameEncoder(level: level) }
    fingerprinters = WorkerPool { [keys = repository.keys] in Fingerprinter(keys) }
  }

  /// The whole road. When it has ended, also by an error, no upload of it is under way any more.
  /// - Parameters:
  ///   - newest: the version before, if there is one.
  ///   - evenIfEqual: also when its content is the same.
  ///   - onProgress: bytes of the members read so far.
  /// - Returns: `nil` when the content is that of `newest`, and no version was written.
  mutating func write(
    after newest: Core?, evenIfEqual: Bool, onProgress: (Int) -> Void
  ) async throws -> Written? {
    do {
      let written = try await writeAll(after: newest, evenIfEqual: evenIfEqual, onProgress: onProgress)
      if written == nil { await packs.abandon() }
      return written
    } catch {
      await packs.abandon()
      throw error
    }
  }

  private mutating func writeAll(
    after newest: Core?, evenIfEqual: Bool, onProgress: (Int) -> Void
  ) async throws -> Written? {
    var read = ReadMembers()
    for source in draft.members {
      let before = read.length
      let (member, runs) = try await self.read(settled(source)) { onProgress(before + $0) }
      if let file = member.file { read.add(member, runs, file) }
    }
    try await readCompanions(into: &read, after: newest, onProgress: onProgress)
    let members = read.members
    let placed = read.placed
    try draft.demand(members)
    if !evenIfEqual, let newest, newest.hasContent(of: members), try await draft.allFlags() == newest.flags {
      guard draft.expectedCore == nil else { throw Deviation() }
      return nil
    }
    try draft.admit()
    let cost = cost(of: placed)
    let refersToNothing = max(reach.depth, reach.ownDepth) < 0
    let needs = try await needs(cost, of: read)
    guard refersToNothing || needs.areModest(for: read.length, leaving: room(after: read.length)) else {
      let holdsStale = cost.live.keys.contains { known.isStale(pack: $0) }
      throw TooDear(
        isOnAnyBase: needs.arePacksTooMany && !cost.hasDeltas && !holdsStale, hasCompanions: placed.count > 1)
    }
    let riders = try await endContent()
    var placer = NodePlacer(riders: riders, reach: reach, encoders: encoders, fingerprints: fingerprinters)
    let roots = try await placeMaps(placed.map(\.runs), &placer)
    try await packs.close()
    try await packs.settle()
    try await noteStored()

    // Frame by frame: what other frames of these packs rest on is not needed, and free to go.
    let used = packs(of: placed.map(\.runs)).union(roots.used).union(cost.live.keys).subtracting([
      UnitLocation.thisObject
    ])
    let table = try used.sorted().map { number in
      guard let entry = known.entries[number] else {
        throw RepositoryError(.damaged, "pack number \(number) is not known")
      }
      return entry
    }
    let leaves = try await placeTable(table, &placer)
    let core = Core(
      chain: draft.chain, sequence: draft.sequence, previous: draft.previous, time: draft.time, host: draft.host,
      database: draft.database, method: draft.method, flags: try await draft.allFlags(), members: members)
    guard let coreBytes = draft.bytes(of: core) else { throw Deviation() }
    // When new bases pay is told by what versions cost, and one that was sent in pieces costs no less. Who only asks is told
    // what is still to be sent.
    let sentBefore = dryRun ? carried : carried.union(resumed.map(\.name))
    let bytesNew = (packs.stored + table.filter { sentBefore.contains($0.name) }).reduce(0) { $0 + Int($1.length) }
    let body = ManifestBody(
      state: .complete, chain: draft.chain, sequence: draft.sequence, revision: partials.nextRevision,
      core: coreBytes,
      bytesDecoded: UInt64(cost.decoded), bytesFetched: UInt64(cost.fetched), newBytes: UInt64(bytesNew),
      nextPackNumber: packs.nextNumber, tags: draft.tags, note: draft.note, packTable: leaves.references,
      maps: roots.maps, remarks: try await draft.remarks())
    let manifest = try await storeManifest(body, riding: placer.riding)
    return Written(
      manifest: manifest, packs: table + leaves.holders.filter { !table.contains($0) },
      bytesNew: bytesNew, nextPackNumber: packs.nextNumber, level: level, hasRiders: !riders.isEmpty,
      lacksBases: lacksBases, meetsAnchor: meetsAnchor, stale: StalePacks(after: cost, table, known), needs: needs)
  }

  /// Takes note of packs that have come to be stored, and publishes a partial manifest when it is time.
  mutating func noteStored() async throws {
    let stored = packs.stored
    for pack in stored[noted...] { known.addNew(pack) }
    noted = stored.count
    // The last revision is kept for the version itself.
    if !dryRun, partials.nextRevision < VersionName.lastRevision, partials.isDue(packs: noted) {
      let (revision, entries) = partials.begin(stored, after: resumed)
      try await storePartial(entries, revision: revision)
    }
  }

  /// What is left of the content becomes a pack, or rides when it is small. What is to be a base must lie in packs: behind
  /// one nothing of it rides, as the next version would store that with its own; and of a middle only that rides which is
  /// hardly more than nothing, and makes no base, if none is waited for.
  private mutating func endContent() async throws -> [MadeFrame] {
    let mayNotRide = level < .shoot && packs.hasClosed || level == .middle && draft.deltas.mustBeBase
    let limit = mayNotRide ? 0 : level == .middle ? Self.riderLimit / 4 : Self.riderLimit
    if packs.pendingLength < limit, draft.deltas.companions?.hasNewBases != true { return packs.takeRiders() }
    try await packs.close()
    return []
  }
}
