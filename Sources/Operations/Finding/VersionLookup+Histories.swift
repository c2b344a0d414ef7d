import Repositories
import Sealing
import Storage

/// How much of which chains is read: as little as an answer takes.
extension VersionLookup {
  /// Every chain, read whole.
  /// - Parameter wanted: only these; `nil` is all of them.
  func histories(of wanted: Set<ChainID>? = nil) async throws -> [ChainHistory] {
    let chosen = listings.filter { wanted?.contains($0.chain) ?? true }
    try await records.take(chosen.map(\.chain), of: listings.count)
    return try await bounded(chosen, atOnce: 4) { listing in try await whole(listing) }
  }

  /// Every chain that is meant, read whole, and of each other one its end, which says whose it is: a repository may have a
  /// thousand others. Where nothing says that, it may be one that is meant.
  func histories(meaning isMeant: @escaping @Sendable (VersionFacts.Version) -> Bool) async throws -> [ChainHistory] {
    let ends = try await repository.atEnds(of: listings) { listing in
      try await repository.end(
        of: listing, state: kept, records: records, isEnough: { _ in true }, concerns: { _ in false })
    }
    let others = ends.filter { end in end.newest?.version.map { !isMeant($0) } ?? false }
    let meant = try await histories(of: Set(listings.map(\.chain)).subtracting(others.map(\.chain)))
    return (meant + others).sorted { $0.chain.hex < $1.chain.hex }
  }

  /// The hosts that have versions of databases of these names, by name. One manifest of each chain is read for it; one
  /// that cannot be had names nobody.
  /// - Parameter known: chains that are not looked at.
  func hosts(of databases: Set<String>, besides known: Set<ChainID>) async throws -> [String: Set<ExactName>] {
    let others = listings.filter { !known.contains($0.chain) }
    let newest = try await repository.atEnds(of: others) { listing -> VersionFacts.Version? in
      do {
        let end = try await repository.end(
          of: listing, state: kept, records: records, isEnough: { _ in true },
          concerns: { databases.containsName($0.version?.database ?? "") })
        return end.newestCounting?.version
      } catch let error as StoreError where error.object != nil {
        return nil
      }
    }
    let found = newest.compactMap { $0 }.filter { databases.containsName($0.database) }
    return Dictionary(grouping: found, by: \.database).mapValues { Set($0.map { ExactName($0.host) }) }
  }

  func whole(_ listing: ChainListing) async throws -> ChainHistory {
    try await repository.history(of: listing, state: kept, records: records)
  }

  func notes(of chain: ChainID) async throws -> RecordListing { try await records.of(chain).notes }

  /// As much of every chain as the name needs. An id is most often that of a newest version, which one manifest of each
  /// chain shows; else they are followed back.
  func parts(_ selector: VersionSelector) async throws -> [ChainHistory] {
    if case .id = selector {
      let newest = try await ends(.latest(database: nil), meaning: selector)
      if newest.contains(where: { $0.newest.map(selector.matches) ?? false }) { return newest }
    }
    return try await ends(selector, meaning: selector)
  }

  /// Every chain, read from its end until a version answers to the name.
  /// - Parameter meant: of the chains that it names is read what was forgotten; a repository may have a thousand others.
  private func ends(_ selector: VersionSelector, meaning meant: VersionSelector) async throws -> [ChainHistory] {
    if meant == .latest(database: nil) { try await records.take(listings.map(\.chain), of: listings.count) }
    return try await repository.atEnds(of: listings) { listing in
      try await repository.end(
        of: listing, state: kept, records: records,
        isEnough: { selector.isSettled(by: $0, now: now) }, concerns: { meant.concerns($0) })
    }
  }
}
