import Repositories
import Sealing

/// Whether the target shows of chains all that this machine has seen of them.
extension VersionLookup {
  /// Refuses a chain that shows less than this machine has seen.
  func freshness(of history: ChainHistory) async throws {
    guard let listing = byChain[history.chain] else { return }
    lost.tellFlaw(ofMarkOf: history.chain, in: state)
    try await repository.checkFreshness(of: listing, history: history, state: state, isReading: isReading)
    try await demandTakenBack(of: history.chain)
  }

  /// The same of a chain while the version that is looked for is a later one, in another chain of the same database.
  func freshness(ofLeft history: ChainHistory, _ listing: ChainListing) async throws {
    lost.tellFlaw(ofMarkOf: history.chain, in: state)
    try await repository.checkFreshness(ofLeft: listing, history: history, state: state, isReading: isReading) {
      try await whole(listing)
    }
  }

  /// Nor may a chain miss a word of this machine's that a version counts again.
  func demandTakenBack(of chain: ChainID) async throws {
    guard isReading else { return try await records.demandTakenBack(of: chain, state: state) }
    try await lost.demandTakenBack(of: chain, records, in: state)
  }

  /// The same of a chain that two machines may have pushed to as one, for who does not ask which of the two is meant.
  func freshness(ofLeft history: ChainHistory) async throws {
    guard let listing = byChain[history.chain] else { return }
    try await freshness(ofLeft: history, listing)
    try await demandTakenBack(of: history.chain)
  }

  /// The same, for who lets go of versions: also what this machine said or read that decides which ones stay is shown.
  func demandOwnWords(of history: ChainHistory) async throws {
    try await records.demandOwnWords(of: history.chain, state: state)
  }

  /// What this machine remembers of a chain and cannot read, for who raises an alarm. To be asked before `freshness`, which
  /// tells it as a notice else.
  func lostMemory(of history: ChainHistory) -> RepositoryError? { lost.flaw(of: history.chain, in: state) }

  /// This machine has seen the newest version of a chain that counts.
  func noteSeen(_ history: ChainHistory) { marks.note(history) }

  /// Whether this machine has a mark of every chain: then nothing newer can have been taken away unnoticed.
  /// - Parameter meant: only of these, where there are any.
  func isFreshnessProvable(among meant: [ChainHistory] = []) -> Bool {
    // Nothing at all proves nothing, unless nothing was ever seen to be more.
    guard !listings.isEmpty else { return !state.markedChains().isEmpty }
    return marks.hold(meant.isEmpty ? listings.map(\.chain) : meant.map(\.chain))
  }

  /// Chains this machine has pushed to that the target does not show at all.
  /// - Parameter wanted: only of these; `nil` is all of them.
  func vanishedChains(among wanted: WantedChains? = nil) -> [RepositoryError] {
    state.vanishedChains(shown: listings.map(\.chain), wanted: wanted)
  }

  /// The same, of databases by their names, of all where there are none.
  /// - Parameters:
  ///   - isOwn: only one host's are meant.
  ///   - other: which; `nil` is this one.
  func vanishedChains(named names: [String], isOwn: Bool, of other: String? = nil) -> [RepositoryError] {
    state.vanishedChains(
      shown: listings.map(\.chain), named: names, host: other ?? host, isOwn: isOwn, repository.keys.keyring)
  }
}
