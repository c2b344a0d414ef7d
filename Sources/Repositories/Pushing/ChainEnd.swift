import Sealing
import Storage

/// Where a chain ends, as a push found it: what the next version continues.
struct ChainEnd: Sendable {
  let listing: ChainListing
  let history: ChainHead
  let mark: HighWaterMark?
  /// Of all tombstones.
  let forgotten: [Tombstone.Range]

  /// The place of the next version, and the core hash of what stands before it.
  var next: (sequence: UInt64, previous: Digest) {
    let newest = history.newest
    let unreadable = history.unreadable.map(\.sequence).max() ?? 0
    let last = max(newest?.name.sequence ?? 0, unreadable, mark?.sequence ?? 0)
    // A tombstone beyond all that is there: of an attempt that was given up, or the target lost the end of the chain. What
    // takes a sequence that was forgotten would be forgotten with it.
    if let range = forgotten.max(by: { $0.last < $1.last }), range.last > last {
      return (Self.place(behind: range.last), range.coreHashOfLast)
    }
    let next = Self.place(behind: last)
    if let mark, mark.sequence == last { return (next, mark.id) }
    if let newest, newest.name.sequence == last { return (next, newest.id) }
    return (next, last == 0 ? .zero : listing.chain.unknown(at: last))
  }

  /// A push says of a place that no version can have that the chain is full.
  private static func place(behind last: UInt64) -> UInt64 {
    let (next, isBeyond) = last.addingReportingOverflow(1)
    return isBeyond ? .max : next
  }

  /// The same without partial manifests, of which nothing is asked once their packs are known.
  var withoutPartials: ChainEnd {
    let head = ChainHead(
      newest: history.newest, partials: [], unreadable: history.unreadable, problems: history.problems)
    return ChainEnd(listing: listing, history: head, mark: mark, forgotten: forgotten)
  }

  /// Whether a tombstone covers the newest version. One that was taken back counts too.
  var newestIsForgotten: Bool { history.newest.map { forgotten.cover($0.name.sequence) } ?? false }
}

extension ChainEnd {
  /// Settles what became of the manifest that this machine tried to store last, so that its place in the chain can never
  /// be taken twice, however late it arrives (`Docs/Decisions/0014-attempts.md`).
  ///
  /// Not there, but all its packs are: it is stored again, the very same object, and the chain goes on from it; so is a new
  /// revision of the newest version. Some of its packs are gone, or the target has no room for it: a tombstone covers its
  /// place, and the chain goes on behind that. Whether it became a version is not said here: that takes the checks before an
  /// acknowledgement.
  /// - Parameters:
  ///   - presence: of the chain's packs.
  ///   - now: milliseconds since 1970 UTC.
  /// - Returns: where the chain ends then.
  /// - Throws: also `.rolledBack` where not even the version that it was to continue is shown.
  func settled(
    _ repository: Repository, _ presence: Presence, state: StateFolder, now: UInt64
  ) async throws -> ChainEnd {
    guard var attempt = try ManifestAttempt(of: listing.chain, in: state),
      let manifest = try repository.attempted(attempt), let core = manifest.core
    else { return self }
    let isRevision = isRevision(attempt, id: manifest.id)
    guard isRevision || isOpen(attempt, core, id: manifest.id) else { return self }
    guard core.sequence <= next.sequence else { throw cut(before: core.sequence, state) }
    if !attempt.isGivenUp, !presence.condemns(attempt.name.digest),
      let packs = try await repository.packs(of: manifest, state: state), presence.holds(packs),
      try await Self.store(attempt, repository)
    {
      return continued(by: manifest)
    }
    // No place is open: that version stays as it is.
    if isRevision { return self }
    // It may have arrived since, and somebody else may have been told of it.
    if !attempt.isGivenUp, try await hasArrived(attempt, repository) { return continued(by: manifest) }
    // Durable before the tombstone leaves: one that arrives late must not meet a version that somebody relies on.
    try attempt.giveUp(in: state)
    let range = Tombstone.Range(
      first: core.sequence, last: core.sequence, previousOfFirst: core.previous, coreHashOfLast: manifest.id)
    try await repository.putTombstone(over: [range], of: listing.chain, now: now, state: state)
    return ChainEnd(listing: listing, history: history, mark: mark, forgotten: forgotten + [range])
  }

  /// - Returns: false where there is no room for it: the next version may be smaller, and must not wait for this one.
  private static func store(_ attempt: ManifestAttempt, _ repository: Repository) async throws -> Bool {
    do {
      try await repository.store.put(
        ObjectBody(attempt.bytes, sha256: attempt.name.digest.bytes), at: attempt.name.objectName, ifAbsent: false)
      return true
    } catch {
      guard error.code == .full else { throw error }
      return false
    }
  }

  /// Whether the attempt is the newest version once more: its packs were taken from it before anybody was told of it, and
  /// it was stored anew but for its manifest.
  private func isRevision(_ attempt: ManifestAttempt, id: Digest) -> Bool {
    guard let newest = history.newest, newest.id == id, !newestIsForgotten, !attempt.isGivenUp else { return false }
    return attempt.name.revision > newest.name.revision && !listing.versions.contains(attempt.name)
  }

  /// Whether the chain ends before the attempt; or with it, though it was given up and its tombstone did not arrive.
  private func isOpen(_ attempt: ManifestAttempt, _ core: Core, id: Digest) -> Bool {
    let isForgotten = forgotten.contains { $0.last == core.sequence && $0.coreHashOfLast == id }
    guard !isForgotten else { return false }
    if listing.versions.contains(attempt.name) { return attempt.isGivenUp && history.newest?.id == id }
    if core.sequence > next.sequence { return true }
    guard core.sequence == next.sequence else { return false }
    // What stands before it could be read then, and not now, or the other way round: it is the same place all the same.
    return core.previous == next.previous
      || [core.previous, next.previous].contains(listing.chain.unknown(at: core.sequence - 1))
  }

  /// The attempt was to continue a version that is not listed: the same place must not be taken twice.
  private func cut(before sequence: UInt64, _ state: StateFolder) -> RepositoryError {
    RepositoryError(
      .rolledBack,
      "the target shows nothing from version \(next.sequence) on, but this machine has tried to store version \(sequence)",
      hint:
        "Its listing may be late: push again a while later. If the versions before it are gone, find out by whom; to accept the loss: rm '\(state.path)/\(listing.chain.hex)/attempt'"
    )
  }

  private func hasArrived(_ attempt: ManifestAttempt, _ repository: Repository) async throws -> Bool {
    let objects = try await repository.store.list(prefix: Layout.versions(of: listing.chain))
    return ChainListing(chain: listing.chain, objects: objects).versions.contains(attempt.name)
  }

  private func continued(by manifest: StoredManifest) -> ChainEnd {
    ChainEnd(
      listing: listing.adding(manifest.name),
      history: ChainHead(
        newest: manifest, partials: [], unreadable: history.unreadable, problems: history.problems),
      mark: mark, forgotten: forgotten)
  }
}

extension Repository {
  /// - Returns: `nil` for one that was sealed with a key that was retired since: it counts for nobody, wherever it arrives.
  /// - Throws: `SealError` `.unsupported` for that of a later program, whose place is not to be taken either.
  func attempted(_ attempt: ManifestAttempt) throws -> StoredManifest? {
    do {
      return try openManifest(attempt.bytes, name: attempt.name)
    } catch let error as SealError where error.code == .unsupported {
      throw error
    } catch {
      return nil
    }
  }
}
