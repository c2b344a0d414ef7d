package import Sealing
import Storage

extension ChainHistory {
  /// The first place of a chain where two machines pushed as one, and nothing else is in doubt; else `nil`. What came
  /// before it is as sound as in any chain.
  package var contestedFrom: UInt64? {
    guard isWhole, problems.allSatisfy({ $0.code == .forked }) else { return nil }
    return displaced.map(\.sequence).min()
  }
}

extension Repository {
  /// What a push is told of places before the newest version where two machines pushed as one. Nothing is read where no two
  /// manifests claim one revision; who may not read them can push all the same.
  /// - Returns: `nil` when there is no such place, as far as those manifests can be read.
  func contest(in listing: ChainListing, state: StateFolder) async throws -> RepositoryError? {
    let names = listing.contested
    guard !names.isEmpty else { return nil }
    let source = FactsSource(self, listing.chain, state)
    do {
      let read = try await source.read(names, keep: false)
      source.remember(read)
      let history = HistoryReader(chain: listing.chain, read).finish(isWhole: false, forgotten: .nothing)
      return history.problems.first { $0.code == .forked }
    } catch let error as StoreError where error.code == .forbidden {
      return nil
    }
  }

  /// Whether both versions of each contested place, and all others, continue one that stood before them, and the target
  /// shows what this machine has seen: what a prune asks too.
  /// - Throws: `RepositoryError` `.rolledBack`, `.hole`, `.forked`.
  package func checkContested(_ history: ChainHistory, state: StateFolder) throws {
    let mark = try HighWaterMark.read(history.chain, in: state)
    try ChainProof(history.chain, history.versions + history.displaced, history.forgotten.ranges)
      .check(against: mark, in: state)
  }

  /// Where two machines pushed to a chain as one, once these manifests stand there again, whether they do yet or not.
  /// - Parameter state: where the chain's mark is read; nothing else of it is believed.
  /// - Returns: also whether that is the only doubt.
  package func forks(
    of chain: ChainID, with returned: [StoredManifest], state: StateFolder
  ) async throws -> (told: [RepositoryError], isContested: Bool) {
    let names = Set(returned.map(\.name))
    var listing = try await versionListing(of: chain).without(names)
    var read = try await FactsSource(self, chain, nil).read(listing.versions, keep: false)
    for manifest in returned {
      listing = listing.adding(manifest.name)
      read.append((manifest.name, .success(manifest.facts)))
    }
    let forgotten = try await self.forgotten(of: chain, state: nil)
    let history = HistoryReader(chain: chain, read).finish(isWhole: true, forgotten: forgotten)
    var forks = history.problems.filter { $0.code == .forked }
    do {
      try await checkFreshness(of: listing, history: history, state: state, isReading: true)
    } catch let problem as RepositoryError where problem.code == .forked {
      if !forks.contains(where: { $0.message == problem.message }) { forks.append(problem) }
    } catch is RepositoryError {
      // What else a check finds was told before.
    }
    guard history.contestedFrom != nil else { return (forks, false) }
    return (forks, (try? checkContested(history, state: state)) != nil)
  }
}
