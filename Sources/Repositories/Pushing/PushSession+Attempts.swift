import Sealing
import Storage

/// A version is written, and written anew where a prune took packs of it away meanwhile, or where it would be too dear.
extension PushSession {
  /// How often a version is written anew because prunes took its packs away.
  private static let attempts = 5

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
}
