import Repositories
import Sealing
import Storage

/// Other chains that may hold what is newer than the version that was found.
extension VersionLookup {
  /// What was asked for may have a newer version in another chain: of another fork, or, for `latest` alone, of any
  /// database. One that this machine has seen may not be gone, nor be less than it was, nor miss a word of this machine's
  /// that a version counts again. A chain where two machines pushed
  /// as one was left by both, as they were told.
  func demandSiblings(of found: Found, _ selector: VersionSelector, _ histories: [ChainHistory]) async throws {
    guard let version = found.facts.version else { return }
    // Another host's is found also where this host's own is hidden.
    let owners = [ChainOwner(version)] + ownChains(of: version.database)
    let siblings = WantedChains(of: Set(owners), repository.keys.keyring)
    let wanted = selector == .latest(database: nil) ? nil : siblings
    for history in histories where history.chain != found.history.chain {
      guard history.versions.contains(where: selector.matches) || isMarked(history.chain, among: wanted),
        let listing = byChain[history.chain]
      else { continue }
      try await freshness(ofLeft: history, listing)
      // What was taken back there looks forgotten while the word for it is not listed, and may be what is meant.
      try await demandTakenBack(of: history.chain)
    }
    if let gone = vanishedChains(among: wanted).first { throw gone }
    try demandSiblingsRead(wanted, of: version, found, selector, histories)
  }

  /// Whose chains of a database are this host's own. Where nobody knows its name, any that it has seen may be.
  private func ownChains(of database: String) -> [ChainOwner] {
    if let host { return [ChainOwner(host: host, database: database)] }
    let seen = state.markedChains().compactMap { HighWaterMark.owner(of: $0, in: state) }
    return seen.filter { database.isSameName(as: $0.database) }
  }

  /// Also where nothing can be read of it that says whose it is.
  private func isMarked(_ chain: ChainID, among wanted: WantedChains?) -> Bool {
    guard let mark = try? HighWaterMark.read(chain, in: state) else { return false }
    return wanted?.contains(chain.hex, mark.owner) ?? true
  }

  /// Nor may what cannot be read be what was pushed last: to another fork, to this host's own chain while another host's is
  /// taken, or, for `latest` alone, to any database. A chain that was left long ago is no doubt: what is spoilt there is
  /// older. Which one was left first says nothing where this host's own is meant, and another host's was found, nor where
  /// this machine has seen what is newer there.
  /// - Parameter wanted: only of these chains; `nil` is all of them.
  private func demandSiblingsRead(
    _ wanted: WantedChains?, of version: VersionFacts.Version, _ found: Found, _ selector: VersionSelector,
    _ histories: [ChainHistory]
  ) throws {
    let rivals = wanted.map { _ in WantedChains(of: [ChainOwner(version)], repository.keys.keyring) }
    for history in histories where history.chain != found.history.chain {
      let (chain, owner) = (history.chain.hex, HighWaterMark.owner(of: history.chain.hex, in: state))
      guard wanted?.contains(chain, owner) ?? true else { continue }
      let isRival = rivals?.contains(chain, owner) ?? true
      let goesOn = history.isKnownToGoOn(behind: found.facts, state)
      try history.demandNothingUnread(
        behind: history.answer(to: selector, times), selector, insteadOf: found.facts, now: now,
        isOlder: { isRival && !goesOn && times.isBefore($0, found.facts) })
    }
  }
}
