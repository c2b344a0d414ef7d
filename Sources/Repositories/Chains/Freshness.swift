import Sealing
import Storage

/// Whether the target shows at least what this machine has seen: a machine that has seen a version notices when it, or
/// anything between, is gone, rolled back or replaced.
struct Freshness {
  private let mark: HighWaterMark?
  private let listing: ChainListing
  private let newest: (sequence: UInt64, id: Digest)
  /// The place of the newest version that was not forgotten; where nothing is known of that, of the newest.
  private let counting: UInt64
  private let unreadable: [VersionName]
  private let problems: [RepositoryError]
  /// The whole chain, where it was read.
  private let history: ChainHistory?

  init(mark: HighWaterMark?, listing: ChainListing, history: ChainHistory) {
    self.mark = mark
    self.listing = listing
    newest = history.newest.map { ($0.sequence, $0.id) } ?? (0, .zero)
    counting = history.newestCounting?.sequence ?? 0
    unreadable = history.unreadable
    problems = history.problems
    self.history = history.isWhole ? history : nil
  }

  init(mark: HighWaterMark?, listing: ChainListing, history: ChainHead) {
    self.mark = mark
    self.listing = listing
    newest = history.newest.map { ($0.name.sequence, $0.id) } ?? (0, .zero)
    counting = newest.sequence
    unreadable = history.unreadable
    problems = history.problems
    self.history = nil
  }

  /// - Throws: `.rolledBack`, `.forked`, `.hole`; `.conflict` when versions came while the target was listed, or its listing
  ///   is late.
  func check(_ repository: Repository, state: StateFolder?) async throws {
    if let fork = problems.first(where: { $0.code == .forked }) { throw fork }
    guard let mark else { return try await demandStanding(nil, repository, state) }
    // There but unreadable is damage, which is said elsewhere and does not stop a push; not there at all is a way back.
    if newest.sequence < mark.sequence, !isUnreadable(mark) {
      throw try await wentBack(behind: mark, repository, state)
    }
    if newest.sequence < mark.sequence, isUnreadable(mark) {
      guard isDamaged(mark, repository, state) else { throw try await wentBack(behind: mark, repository, state) }
      try await demandNoGap(before: mark, repository, state)
    }
    if newest.sequence == mark.sequence, newest.id != mark.id {
      throw forked(at: mark.sequence, state)
    }
    if newest.sequence > mark.sequence { try await checkContinuation(of: mark, repository, state) }
    try await demandStanding(mark, repository, state)
  }

  /// A push of this machine that ended behind the listing has written a mark that says more than was listed. What a listing
  /// shows now is there, as far as its name says; so nobody goes on, but nothing went back either. What counts is the name:
  /// partial manifests of that push stand at the same place, and may have been listed.
  private func demandNotOvertaken(by mark: HighWaterMark, _ repository: Repository) async throws {
    let now = try await repository.versionListing(of: listing.chain)
    let came = now.versions.contains { $0.sequence == mark.sequence && !listing.versions.contains($0) }
    guard !came else {
      throw RepositoryError(
        .conflict, "version \(mark.sequence) was pushed while the target was listed", hint: "Run the command again.")
    }
  }

  /// Of a listing that is late nothing went back: who accepted that as a loss, and pushed, would make a fork.
  /// - Throws: `.conflict`.
  static func demandNotThere(
    _ mark: HighWaterMark, unlistedIn listing: ChainListing, _ repository: Repository, _ state: StateFolder?
  ) async throws {
    let names = manifests(of: mark, in: listing.chain, repository, state)
    for name in names where !listing.versions.contains(name) {
      guard try await repository.store.head(name.objectName)?.size == name.length else { continue }
      throw RepositoryError(
        .conflict, "version \(mark.sequence) is there and not listed: the listings of the target are late",
        hint: "Run the command again later. `sealift doctor` looks into listings.")
    }
  }

  /// Under which names the version that was seen may be there: what its mark says, and what is kept of the chain, as a
  /// repair may have written it anew since, and a prune deleted what the mark names.
  private static func manifests(
    of mark: HighWaterMark, in chain: ChainID, _ repository: Repository, _ state: StateFolder?
  ) -> [VersionName] {
    var names: [VersionName] = []
    if let noted = mark.manifest.flatMap({ ObjectName($0) }).flatMap({ VersionName($0) }), noted.chain == chain,
      noted.sequence == mark.sequence
    {
      names.append(noted)
    }
    guard let state else { return names }
    let kept = KeptVersions(chain, in: state, keys: repository.keys).facts.values.filter { facts in
      facts.isComplete && facts.sequence == mark.sequence && facts.id == mark.id
    }
    return names + kept.map(\.name).filter { !names.contains($0) }
  }

  /// A version is only ever forgotten while a newer one stays, which is sound: where none stands at the place that this
  /// machine has seen nor behind it, one was taken away. Beyond that place the end may be that of a push which was given up.
  private func demandStanding(_ mark: HighWaterMark?, _ repository: Repository, _ state: StateFolder?) async throws {
    guard counting < newest.sequence, !unreadable.contains(where: { $0.sequence > counting }) else { return }
    // Manifests and tombstones were listed side by side: of a push and a forget in that moment only one may have been seen.
    let now = try await repository.versionListing(of: listing.chain)
    guard !now.versions.contains(where: { $0.sequence > counting && !listing.versions.contains($0) }) else {
      throw RepositoryError(
        .conflict, "versions were pushed and forgotten while the target was listed",
        hint: "Run the command again.")
    }
    guard let mark, counting < mark.sequence else { return }
    throw RepositoryError(
      .rolledBack,
      "all from version \(counting + 1) on was forgotten for newer versions, this machine has seen version \(mark.sequence), and the target shows none that is newer",
      hint:
        "Versions were deleted there, or the listing is late: try again a while later before you remove anything. \(RepositoryError.findOutAndRepair) `sealift list --forgotten` shows what is left, and a version that is named by its id can be had. To accept the loss: \(HighWaterMark.acceptance(of: listing.chain, in: state))"
    )
  }

  /// The same of a chain that two machines pushed to as one, and that both have left for chains of their own: two versions
  /// at one place are no doubt any more. What this machine has seen must be there still, in either branch.
  /// - Throws: `.rolledBack`, `.forked`; `.conflict` when the listing is late.
  func checkLeft(_ repository: Repository, _ state: StateFolder?) async throws {
    guard let mark, let history, !isDamaged(mark, repository, state) else { return }
    if newest.sequence < mark.sequence {
      try await Self.demandNotThere(mark, unlistedIn: listing, repository, state)
      throw rolledBack(behind: mark, state)
    }
    let isThere = (history.versions + history.displaced).contains { $0.sequence == mark.sequence && $0.id == mark.id }
    guard isThere || history.forgotten.explains(mark.sequence) else { throw forked(at: mark.sequence, state) }
  }

  private func isUnreadable(_ mark: HighWaterMark) -> Bool { unreadable.contains { $0.sequence == mark.sequence } }

  /// Whether what this machine has seen is there and cannot be read. Anybody who may write there can put junk at its place:
  /// it counts under a name that this machine knows, or as a later revision, which another machine's repair may have written.
  private func isDamaged(_ mark: HighWaterMark, _ repository: Repository, _ state: StateFolder?) -> Bool {
    let spoilt = unreadable.filter { $0.sequence == mark.sequence }
    guard !spoilt.isEmpty else { return false }
    let known = Self.manifests(of: mark, in: listing.chain, repository, state)
    guard let highest = known.map(\.revision).max() else { return true }
    return spoilt.contains { known.contains($0) || $0.revision > highest }
  }

  /// What cannot be read stands in for itself, not for what came before it: all of that is there as well, or was forgotten.
  /// - Throws: `.rolledBack`; `.unsupported` where a newer program may have forgotten it.
  private func demandNoGap(
    before mark: HighWaterMark, _ repository: Repository, _ state: StateFolder?
  ) async throws {
    guard newest.sequence + 1 < mark.sequence else { return }
    let forgotten = try await forgotten(repository, state)
    let unread = Set(unreadable.map(\.sequence))
    let gap = newest.sequence + 1..<mark.sequence
    guard let lost = forgotten.firstUnexplained(in: gap, besides: unread) else { return }
    let message =
      "the target shows version \(newest.sequence) as the newest that can be read, and nothing of version \(lost), but this machine has seen version \(mark.sequence) (\(mark.id.hex.prefix(12)))"
    throw forgotten.isPartly ? forgotten.judged(RepositoryError(.hole, message)) : rolledBack(message, state)
  }

  /// - Throws: `.conflict` where it did not.
  private func wentBack(
    behind mark: HighWaterMark, _ repository: Repository, _ state: StateFolder?
  ) async throws -> RepositoryError {
    try await demandNotOvertaken(by: mark, repository)
    try await Self.demandNotThere(mark, unlistedIn: listing, repository, state)
    return rolledBack(behind: mark, state)
  }

  private func rolledBack(behind mark: HighWaterMark, _ state: StateFolder?) -> RepositoryError {
    rolledBack(
      "the target shows version \(newest.sequence) as the newest, but this machine has seen version \(mark.sequence) (\(mark.id.hex.prefix(12)))",
      state)
  }

  private func rolledBack(_ message: String, _ state: StateFolder?) -> RepositoryError {
    RepositoryError(
      .rolledBack, message,
      hint:
        "Versions were deleted or an older state was put back there, or the listing is late: try again a while later before you remove anything. \(RepositoryError.findOutAndRepair) To accept the loss: \(HighWaterMark.acceptance(of: listing.chain, in: state))"
    )
  }

  /// The remote is ahead: it must continue what was seen, link by link.
  private func checkContinuation(
    of mark: HighWaterMark, _ repository: Repository, _ state: StateFolder?
  ) async throws {
    let hint = RepositoryError.partWaysOrAccept(HighWaterMark.acceptance(of: listing.chain, in: state))
    let found =
      if let history {
        history.reader.problems(after: mark.sequence, mark.id, history.forgotten.ranges, hint: hint)
      } else {
        try await repository.continuation(of: listing, from: mark.sequence, mark.id, hint: hint, state: state)
      }
    if let problem = found.first(where: { $0.code != .damaged && $0.code != .unsupported }) {
      throw try await judged(problem, repository, state)
    }
  }

  /// What is wrong between two versions, with what may explain a gap: that is read only where there is one.
  private func judged(
    _ problem: RepositoryError, _ repository: Repository, _ state: StateFolder?
  ) async throws -> RepositoryError {
    guard problem.code == .hole else { return problem }
    return try await forgotten(repository, state).judged(problem)
  }

  private func forgotten(_ repository: Repository, _ state: StateFolder?) async throws -> Forgotten {
    if let history { return history.forgotten }
    // Nobody asks here which versions were taken back.
    return try await repository.forgotten(of: listing.chain, notes: .empty, state: state)
  }

  private func forked(at sequence: UInt64, _ state: StateFolder?) -> RepositoryError {
    RepositoryError(
      .forked, "version \(sequence) at the target is not the one this machine has seen: two machines push as one",
      hint: RepositoryError.partWaysOrAccept(HighWaterMark.acceptance(of: listing.chain, in: state)))
  }
}

extension Repository {
  /// Whether a chain shows at least what this machine has seen of it.
  /// - Parameter isReading: see `HighWaterMark.read`.
  /// - Throws: `RepositoryError` `.rolledBack`, `.forked`, `.hole`; `.conflict` when versions came while it was listed.
  package func checkFreshness(
    of listing: ChainListing, history: ChainHistory, state: StateFolder, isReading: Bool = false
  ) async throws {
    let mark = try HighWaterMark.read(listing.chain, in: state, isReading: isReading)
    try await Freshness(mark: mark, listing: listing, history: history).check(self, state: state)
  }

  /// What a push asks before anything else (`PushSession`), of a chain that was listed before.
  /// - Throws: `RepositoryError` `.rolledBack`, `.forked`, `.hole`; `.conflict` when versions came since.
  package func demandOpen(_ listing: ChainListing, state: StateFolder) async throws {
    let mark = try HighWaterMark.read(listing.chain, in: state)
    let history = try await newest(of: listing, state: state)
    try await Freshness(mark: mark, listing: listing, history: history).check(self, state: state)
  }

  /// The same of a chain while the version that is looked for is a later one, in another chain of the same database.
  /// - Parameters:
  ///   - isReading: see `HighWaterMark.read`.
  ///   - whole: reads the chain whole, where that was not done.
  /// - Throws: `RepositoryError` `.rolledBack`, `.forked`, `.hole`, `.conflict`.
  package func checkFreshness(
    ofLeft listing: ChainListing, history: ChainHistory, state: StateFolder, isReading: Bool = false,
    whole: () async throws -> ChainHistory
  ) async throws {
    guard !history.displaced.isEmpty else {
      do {
        return try await checkFreshness(of: listing, history: history, state: state, isReading: isReading)
      } catch let error as RepositoryError where error.code == .forked && !history.isWhole {
        // What was read of the chain may not reach down to the place where both have been.
        let history = try await whole()
        guard !history.displaced.isEmpty else { throw error }
        return try await checkFreshness(ofLeft: listing, history: history, state: state, isReading: isReading) {
          history
        }
      }
    }
    let history = history.isWhole ? history : try await whole()
    let mark = try HighWaterMark.read(listing.chain, in: state, isReading: isReading)
    try await Freshness(mark: mark, listing: listing, history: history).checkLeft(self, state)
  }
}
