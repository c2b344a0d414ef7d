import Sealing

/// Whether the target shows at least what this machine has seen: a machine that has seen a version notices when it, or
/// anything between, is gone, rolled back or replaced.
struct Freshness {
  private let mark: HighWaterMark?
  private let listing: ChainListing
  private let newest: (sequence: UInt64, id: Digest)
  private let unreadable: [VersionName]
  private let problems: [RepositoryError]
  /// The whole chain, where it was read.
  private let history: ChainHistory?

  init(mark: HighWaterMark?, listing: ChainListing, history: ChainHistory) {
    self.mark = mark
    self.listing = listing
    newest = history.newest.map { ($0.sequence, $0.id) } ?? (0, .zero)
    unreadable = history.unreadable
    problems = history.problems
    self.history = history.isWhole ? history : nil
  }

  init(mark: HighWaterMark?, listing: ChainListing, history: ChainHead) {
    self.mark = mark
    self.listing = listing
    newest = history.newest.map { ($0.name.sequence, $0.id) } ?? (0, .zero)
    unreadable = history.unreadable
    problems = history.problems
    self.history = nil
  }

  /// - Throws: `.rolledBack`, `.forked`, `.hole`.
  func check(_ repository: Repository, state: StateFolder?) async throws {
    if let fork = problems.first(where: { $0.code == .forked }) { throw fork }
    guard let mark, let seen = Layout.digest(mark.id) else { return }
    // There but unreadable is damage, which is said elsewhere and does not stop a push; not there at all is a way back.
    if newest.sequence < mark.sequence, !isUnreadable(mark) { throw rolledBack(behind: mark, state) }
    if newest.sequence == mark.sequence, newest.id != seen {
      throw forked(at: mark.sequence)
    }
    if newest.sequence > mark.sequence { try await checkContinuation(of: mark.sequence, seen, repository, state) }
  }

  /// The same of a chain that two machines pushed to as one, and that both have left for chains of their own: two versions
  /// at one place are no doubt any more. What this machine has seen must be there still, in either branch.
  /// - Throws: `.rolledBack`, `.forked`.
  func checkLeft(_ state: StateFolder?) throws {
    guard let mark, let seen = Layout.digest(mark.id), let history, !isUnreadable(mark) else { return }
    if newest.sequence < mark.sequence { throw rolledBack(behind: mark, state) }
    let isThere = (history.versions + history.displaced).contains { $0.sequence == mark.sequence && $0.id == seen }
    guard isThere || history.forgotten.explains(mark.sequence) else { throw forked(at: mark.sequence) }
  }

  private func isUnreadable(_ mark: HighWaterMark) -> Bool { unreadable.contains { $0.sequence == mark.sequence } }

  private func rolledBack(behind mark: HighWaterMark, _ state: StateFolder?) -> RepositoryError {
    RepositoryError(
      .rolledBack,
      "the target shows version \(newest.sequence) as the newest, but this machine has seen version \(mark.sequence) (\(mark.id.prefix(12)))",
      hint:
        "Versions were deleted or an older state was put back there. Find out by whom before you go on; to accept the loss, remove \(state.map { "\($0.path)/\(listing.chain.hex)/mark.json" } ?? "the mark of this chain")."
    )
  }

  /// The remote is ahead: it must continue what was seen, link by link.
  private func checkContinuation(
    of sequence: UInt64, _ seen: Digest, _ repository: Repository, _ state: StateFolder?
  ) async throws {
    let found =
      if let history { history.reader.problems(after: sequence, seen, history.forgotten.ranges) } else {
        try await repository.continuation(of: listing, from: sequence, seen, state: state)
      }
    if let problem = found.first(where: { $0.code != .damaged && $0.code != .unsupported }) { throw problem }
  }

  private func forked(at sequence: UInt64) -> RepositoryError {
    RepositoryError(
      .forked, "version \(sequence) at the target is not the one this machine has seen: two machines push as one",
      hint: RepositoryError.partWaysOrAccept)
  }
}

extension Repository {
  /// Whether a chain shows at least what this machine has seen of it.
  /// - Throws: `RepositoryError` `.rolledBack`, `.forked`, `.hole`.
  package func checkFreshness(of listing: ChainListing, history: ChainHistory, state: StateFolder) async throws {
    let mark = try HighWaterMark.read(listing.chain, in: state)
    try await Freshness(mark: mark, listing: listing, history: history).check(self, state: state)
  }

  /// The same of a chain while the version that is looked for is a later one, in another chain of the same database.
  /// - Parameter whole: reads the chain whole, where that was not done.
  /// - Throws: `RepositoryError` `.rolledBack`, `.forked`, `.hole`.
  package func checkFreshness(
    ofLeft listing: ChainListing, history: ChainHistory, state: StateFolder, whole: () async throws -> ChainHistory
  ) async throws {
    guard !history.displaced.isEmpty else {
      do {
        return try await checkFreshness(of: listing, history: history, state: state)
      } catch let error as RepositoryError where error.code == .forked && !history.isWhole {
        // What was read of the chain may not reach down to the place where both have been.
        let history = try await whole()
        guard !history.displaced.isEmpty else { throw error }
        return try await checkFreshness(ofLeft: listing, history: history, state: state) { history }
      }
    }
    let history = history.isWhole ? history : try await whole()
    let mark = try HighWaterMark.read(listing.chain, in: state)
    try Freshness(mark: mark, listing: listing, history: history).checkLeft(state)
  }
}
