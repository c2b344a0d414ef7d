package import Sealing
package import Storage

/// One push of one chain: what was there before, one or more attempts at a version, the checks, the acknowledgement.
///
/// The order is the protocol (`Docs/Design.md`, "Write order"): packs, then the manifest, then a fresh listing of
/// condemned records, then a fresh listing of packs; only when both leave every pack of the version alone is the mark
/// written and the version acknowledged. No locks at the target, no clocks.
package struct PushSession: ~Copyable {
  let repository: Repository
  let chain: ChainID
  let state: StateFolder
  private let lock: ChainLock
  let policy: Policy
  let journal: PushJournal
  let end: ChainEnd
  var known: KnownPacks
  /// Packs of a push that was cut: no version holds them yet, so partial manifests go on protecting them.
  var resumed: [PackEntry]
  var nextPackNumber: UInt32
  /// What drills on this machine had found when the push began.
  let doubted: DoubtedVersions
  /// The newest version was found damaged, by a drill on this machine or by anyone: nothing of it is taken for there.
  let newestIsDoubted: Bool
  /// The newest version is the newest there was, and every pack of it is there, whole and not condemned.
  package internal(set) var newestIsWhole: Bool
  /// What partial manifests of earlier pushes list.
  let listedByPartials: Set<Digest>
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
}
