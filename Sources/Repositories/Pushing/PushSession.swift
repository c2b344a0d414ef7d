package import Sealing
package import Storage

/// One push of one chain: what was there before, one or more attempts at a version, the checks, the acknowledgement.
///
/// The order is the protocol (`Docs/Design.md`, "Write order"): packs, then the manifest, then a fresh listing of
/// condemned records, then a fresh listing of packs; only when both leave every pack of the version alone is the mark
/// written and the version acknowledged. No locks at the target, no clocks.
package struct PushSession: ~Copyable {
  /// How often a version is written anew because prunes took its packs away.
  private static let attempts = 5

  private let repository: Repository
  private let chain: ChainID
  private let state: StateFolder
  private let lock: ChainLock
  private let policy: Policy
  private let journal: PushJournal
  private let end: ChainEnd
  private var known: KnownPacks
  /// Packs of a push that was cut: no version holds them yet, so partial manifests go on protecting them.
  private var resumed: [PackEntry]
  private var nextPackNumber: UInt32
  /// What drills on this machine had found when the push began.
  private let doubted: DoubtedVersions
  /// The newest version was found damaged, by a drill on this machine or by anyone: nothing of it is taken for there.
  private let newestIsDoubted: Bool
  /// The newest version is the newest there was, and every pack of it is there, whole and not condemned.
  package private(set) var newestIsWhole: Bool
  /// What partial manifests of earlier pushes list.
  private let listedByPartials: Set<Digest>
  /// Another machine has pushed the newest version, since this one pushed to the chain last.
  package let newestIsFromElsewhere: Bool
  /// The newest version is one that this machine tried to store, and nobody was told of it.
  package let newestWasCut: Bool
  /// Before the newest version two machines pushed as one. Its branch is the one that the newest version continues, and a
  /// backup more is better than none; but readers refuse to choose between the branches.
  package let contest: RepositoryError?
  /// What this machine has seen of the chain stands there, and cannot be read.
  private let markIsSpoilt: Bool

  package struct Policy: Sendable {
    package static let packLength = 8 << 20

    /// A pack is closed when it has come to so many bytes.
    package var packLength = Self.packLength
    /// A partial manifest protects a long push after so many packs …
    package var packsPerPartial = 64
    /// … or so many milliseconds.
    package var millisecondsPerPartial: UInt64 = 600_000
    package var now: @Sendable () -> UInt64
    /// Settle first what became of a manifest that may still arrive. False for who only looks, and stores nothing.
    package var settles = true
    /// By which listings that are late are waited for.
    package var clock: StoreClock = .system
    /// Asked when a version is safe, before anybody is told; what it throws ends the push. The version stays there.
    package var confirm: @Sendable () async throws -> Void = {}

    package init(now: @escaping @Sendable () -> UInt64) { self.now = now }
  }

  package struct Result: Sendable {
    package let manifest: StoredManifest
    /// The version was there already: nothing was stored.
    package let unchanged: Bool
    package let bytesNew: Int
    /// What the version rests on, in the end.
    package let level: DeltaLevel
    /// Later versions can refer to all of its content.
    package let canBeBase: Bool
    /// None of the bases on this machine is at the target: what changed was stored whole.
    package var lacksBases = false
    /// The target has the anchor, as far as the plan asks.
    package var meetsAnchor = false
    /// `nil` when nothing was written.
    package var needs: VersionNeeds?
    /// The packs of the chain, as they were listed when the version proved to be safe; `nil` where it was not stored.
    package var listed: PackListing?
  }

  /// The newest version there is, before this push.
  package var newest: StoredManifest? { end.history.newest }

  /// What the next version's draft must carry.
  package var next: (sequence: UInt64, previous: Digest) { end.next }

  /// Locks the chain on this machine, reads what is at the target, and refuses a target that went back.
  /// - Throws: `RepositoryError` `.locked`, `.rolledBack`, `.forked`, `.hole`, `.damaged`, `.conflict`; `StoreError`.
  package init(_ repository: Repository, chain: ChainID, state: StateFolder, policy: Policy) async throws {
    let lock = try ChainLock(chain, in: state)
    async let versions = repository.store.list(prefix: Layout.versions(of: chain))
    async let presence = Presence(repository, chain: chain, state: state)
    async let tombstones = repository.tombstones(of: chain, state: state)
    async let annotations = repository.annotations(of: chain, state: state)
    let listing = ChainListing(chain: chain, objects: try await versions)
    let history = try await repository.newest(of: listing, state: state, keepsLong: true)
    let (mark, isSpoilt) = try HighWaterMark.look(chain, in: state)
    try await Freshness(mark: mark, listing: listing, history: history).check(repository, state: state)
    let contest = try await repository.contest(in: listing, state: state)

    let journal = try PushJournal(chain, in: state)
    let present = try await Self.awaited(presence, journal, repository, chain, state, policy)
    var end = ChainEnd(listing: listing, history: history, mark: mark, forgotten: try await tombstones)
    if policy.settles { end = try await end.settled(repository, present, state: state, now: policy.now()) }
    let attempt = try ManifestAttempt(of: chain, in: state)
    let isFromElsewhere = try end.isFromElsewhere(repository, state: state, notes: policy.settles)
    var loader = try KnownPacksLoader(repository, chain: chain, state: state, presence: present)
    let newest = end.history.newest
    let isSpared = newest.map { !present.condemns($0.name.digest) } ?? true
    let doubted = try DoubtedVersions(of: chain, in: state, at: repository.place)
    var said = Annotations.none
    // Who may not read what was said later can push all the same.
    do { said = try await annotations } catch let error as StoreError where error.code == .forbidden {}
    let isDoubted =
      newest.map { !doubted.isEmpty || said.damage(of: $0.facts) != nil || said.missesDamage(of: $0.facts) } ?? false
    let whole = try await loader.add(newest, isDoubted: isDoubted) && isSpared
    let accepted = Set(loader.known.entries.keys)
    try await loader.add(partials: end.history.partials, journal: journal.entries)

    self.repository = repository
    self.chain = chain
    self.state = state
    self.lock = lock
    self.policy = policy
    self.journal = journal
    self.end = end.withoutPartials
    self.contest = contest
    markIsSpoilt = isSpoilt
    known = loader.known
    resumed = loader.known.entries.values.filter { !accepted.contains($0.number) }
    nextPackNumber = loader.nextNumber
    self.doubted = doubted
    listedByPartials = loader.listedByPartials
    newestIsDoubted = isDoubted
    newestIsFromElsewhere = isFromElsewhere
    newestWasCut = attempt.map { $0.name == newest?.name && $0.name.sequence > mark?.sequence ?? 0 } ?? false
    newestIsWhole =
      whole && history.unreadable.isEmpty && !end.newestIsForgotten
      && (newest?.name.sequence ?? 0) >= (mark?.sequence ?? 0)
  }

  /// What a push that was cut has stored, and a listing does not show yet, is waited for: else it would be taken for gone,
  /// and sent again.
  private static func awaited(
    _ presence: Presence, _ journal: PushJournal, _ repository: Repository, _ chain: ChainID, _ state: StateFolder,
    _ policy: Policy
  ) async throws -> Presence {
    let left = journal.entries.filter { !presence.condemns($0.name) }
    guard policy.settles, !presence.lists(left) else { return presence }
    return try await LateListing(repository: repository, chain: chain, state: state, clock: policy.clock)
      .presence(of: left, own: Set(left.map(\.name)))
  }

  /// What does not fit in the part of the chain that a push reads; it does not stop the push, but a person should know.
  package var problems: [RepositoryError] { end.history.problems + (markIsSpoilt ? [Self.spoiltMark] : []) }

  private static let spoiltMark = RepositoryError(
    .stateFolder,
    "what this machine remembered of the newest version cannot be read: that the target has lost none since is not proved",
    hint: "A push writes it anew. Compare `sealift list` with a head code that was noted elsewhere.")

  /// Writes the version and returns when it is acknowledged: restorable whatever happens afterwards.
  /// - Parameters:
  ///   - skipEqual: do nothing when the newest version has the same content.
  ///   - onProgress: bytes of the members read so far.
  package mutating func push(
    _ draft: VersionDraft, skipEqual: Bool, dryRun: Bool, onProgress: (Int) -> Void
  ) async throws -> Result {
    guard draft.sequence <= VersionName.lastSequence else { throw full("the chain has no place after the last one") }
    let revisions = end.listing.revisions(of: draft.sequence).map(\.revision)
    var partials = PartialManifests(
      policy, nextRevision: revisions.max().map { $0 + 1 } ?? 0, after: listedByPartials)
    var footing = Footing(draft: draft, level: draft.deltas.leafUpTo == nil ? draft.deltas.level : .leaf)
    // By this push, in attempts that came to nothing.
    var carried: Set<Digest> = []
    let listings = LateListing(repository: repository, chain: chain, state: state, clock: policy.clock)
    var attemptsLeft = Self.attempts
    while attemptsLeft > 0 {
      guard partials.nextRevision <= VersionName.lastRevision else {
        throw full("version \(draft.sequence) has been written anew too often")
      }
      let stored = Locked<[PackEntry]>([])
      var writer = try VersionWriter(
        footing.draft, level: footing.level, repository: repository, state: state, known: known, resumed: resumed,
        reusesLeftovers: footing.reusesLeftovers, nextPackNumber: nextPackNumber, packLength: policy.packLength,
        partials: partials, dryRun: dryRun,
        onPackStored: { [journal] entry in
          stored.withLock { $0.append(entry) }
          try journal.add(entry)
        },
        onManifest: { [state] attempt in try attempt.write(in: state) })
      writer.carried = carried
      defer { carried.formUnion(stored.withLock { $0 }.map(\.name)) }
      let attempt: VersionWriter.Written?
      do {
        attempt = try await writer.write(
          after: newest?.core, evenIfEqual: !skipEqual || !newestIsWhole, onProgress: onProgress)
      } catch let problem as VersionWriter.TooDear {
        stepDown(&footing, from: writer, for: problem, carried: carried)
        partials = writer.partials.again()
        // What the next attempt may refer to of the packs just stored need not be sent again.
        let sent = stored.withLock { $0 }
        let present = try await listings.presence(of: sent, own: Set(sent.map(\.name)))
        try await prepareNextAttempt(sent, present, nextPackNumber: writer.packs.nextNumber)
        continue
      } catch is VersionWriter.Deviation {
        throw changed(draft)
      }
      attemptsLeft -= 1
      if dryRun, let attempt { return result(of: attempt) }

      let present = try await listings.presence(
        of: attempt?.packs ?? [], attempt?.manifest.name.digest,
        own: carried.union(stored.withLock { $0 }.map(\.name)))
      guard let attempt else {
        if try await newestIsSafe(present) {
          var result = try acknowledgeUnchanged(footing.level, dryRun: dryRun)
          result.listed = present.packs
          return result
        }
        newestIsWhole = false
        partials = writer.partials.again()
        try await prepareNextAttempt(stored.withLock { $0 }, present, nextPackNumber: writer.packs.nextNumber)
        continue
      }
      if present.holds(attempt.packs), !present.condemns(attempt.manifest.name.digest) {
        try await policy.confirm()
        var result = try acknowledge(attempt, carried.union(stored.withLock { $0 + journal.entries }.map(\.name)))
        result.listed = present.packs
        return result
      }
      try await prepareNextAttempt(stored.withLock { $0 }, present, nextPackNumber: attempt.nextPackNumber)
      state.dropLong(attempt.manifest.name)
      // Files beside a database are read again: another content is another version, and its place is taken.
      footing.draft.expectedCore = attempt.manifest.body.core
      partials = PartialManifests(
        policy, nextRevision: attempt.manifest.name.revision + 1, after: listedByPartials)
    }
    throw RepositoryError(
      .conflict, "prunes took packs of this version away \(Self.attempts) times in a row",
      hint: "Let the prune that is running end, then push again; what was stored is used again.")
  }

  /// What an attempt is to write, and how much of what is there it may rest on.
  private struct Footing {
    var draft: VersionDraft
    var level: DeltaLevel
    var reusesLeftovers = true
  }

  /// A version that would be too dear rests on less the next time.
  /// - Parameter carried: what this push has stored, in attempts before this one.
  private mutating func stepDown(
    _ footing: inout Footing, from writer: borrowing VersionWriter, for problem: VersionWriter.TooDear,
    carried: Set<Digest>
  ) {
    if problem.isOnAnyBase, footing.level > .fresh {
      footing.level = problem.hasCompanions && footing.level > .anchor ? .anchor : .fresh
      footing.draft.deltas.leafUpTo = nil
    } else if footing.draft.deltas.leafUpTo != nil {
      footing.level = footing.draft.deltas.level
      footing.draft.deltas.leafUpTo = nil
    } else if let instead = writer.levelWithoutBases {
      footing.level = instead
    } else if let below = footing.level.below {
      footing.level = below
    } else if resumed.contains(where: { !carried.contains($0.name) }) {
      // What earlier pushes left is in the way: other content, a little of each pack.
      resumed.removeAll { !carried.contains($0.name) }
    } else {
      footing.reusesLeftovers = false
    }
  }

  /// The newest version may be one that nobody was told of: then it is acknowledged here, and what was listed before it was
  /// seen proves nothing.
  private func newestIsSafe(_ present: Presence) async throws -> Bool {
    guard let newest, let packs = try await repository.packs(of: newest, state: state) else { return false }
    return present.holds(packs) && !present.condemns(newest.name.digest)
  }

  private func changed(_ draft: VersionDraft) -> RepositoryError {
    RepositoryError(
      .conflict,
      "a prune took packs of version \(draft.sequence) away, and a file beside the database has changed since it was read",
      hint: "Push again: what was stored is used again.")
  }

  private func full(_ what: String) -> RepositoryError {
    RepositoryError(
      .conflict, "\(what): nothing more can be pushed to it",
      hint: "`sealift list` shows objects that cannot be read; set \"fork\": 1 for the database to begin a new chain.")
  }

  /// Some packs were condemned or deleted while we wrote: what they held is stored anew, under new names.
  private mutating func prepareNextAttempt(
    _ stored: [PackEntry], _ present: Presence, nextPackNumber next: UInt32
  ) async throws {
    var loader = try KnownPacksLoader(repository, chain: chain, state: state, presence: present)
    _ = try await loader.add(newest, isDoubted: newestIsDoubted)
    let accepted = Set(loader.known.entries.keys)
    try await loader.add(resumed + stored, areLeftovers: true)
    known = loader.known
    resumed = loader.known.entries.values.filter { !accepted.contains($0.number) }
    nextPackNumber = max(next, loader.nextNumber)
  }

  /// Durable before anyone is told.
  /// - Parameter own: the packs that this push has stored, and those before it that were cut.
  private mutating func acknowledge(_ attempt: VersionWriter.Written, _ own: Set<Digest>) throws -> Result {
    try HighWaterMark(pushed: attempt.manifest.facts).write(chain, in: state)
    attempt.stale.write(of: chain, in: state)
    let packs = Set(attempt.packs.map(\.name))
    let use: UnitList.Use = attempt.level == .middle ? .base : .reference
    for pack in own { UnitList.settle(of: pack, for: packs.contains(pack) ? use : .none, in: state) }
    for pack in known.entries.values.map(\.name) where !packs.contains(pack) {
      UnitList.settle(of: pack, for: .none, in: state)
    }
    journal.clear()
    DoubtedVersions.settle(doubted, of: chain, in: state)
    ManifestAttempt.clear(of: chain, in: state)
    if let newest { state.dropLong(newest.name) }
    state.tidy()
    return result(of: attempt)
  }

  private func result(of attempt: VersionWriter.Written) -> Result {
    Result(
      manifest: attempt.manifest, unchanged: false, bytesNew: attempt.bytesNew, level: attempt.level,
      canBeBase: !attempt.hasRiders, lacksBases: attempt.lacksBases, meetsAnchor: attempt.meetsAnchor,
      needs: attempt.needs)
  }

  private func acknowledgeUnchanged(_ level: DeltaLevel, dryRun: Bool) throws -> Result {
    guard let newest else { throw RepositoryError(.noSuchVersion, "there is no version to be equal to") }
    var mark = HighWaterMark(pushed: newest.facts)
    // Who only asks has pushed nothing.
    if dryRun { mark.pushed = end.mark?.pushed }
    if !dryRun || repository.isPlaceProved { try mark.write(chain, in: state) }
    return Result(manifest: newest, unchanged: true, bytesNew: 0, level: level, canBeBase: false)
  }
}

extension KnownPacksLoader {
  /// - Returns: whether every pack of the newest version is there, says what it holds, and may be built on.
  fileprivate mutating func add(_ newest: StoredManifest?, isDoubted: Bool) async throws -> Bool {
    guard isDoubted, let newest else { return try await add(versionIn: newest) }
    try await avoid(newest)
    return false
  }
}
