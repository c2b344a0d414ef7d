package import Sealing

/// Which chains are asked for: those of some databases, each of a host, by what was noted when this machine saw them
/// (`HighWaterMark`), and by their ids.
package struct WantedChains: Sendable {
  private var ids: Set<ChainID>
  private var owners: Set<ChainOwner> = []

  package init(_ ids: Set<ChainID>) { self.ids = ids }

  /// Every chain of these databases, whatever its fork number.
  /// - Parameter keyring: marks of earlier builds say nothing of whose they are; forks are rare, and numbered from 1.
  package init(of owners: Set<ChainOwner>, _ keyring: Keyring) {
    self.owners = owners
    ids = []
    for owner in owners {
      for fork in 0...UInt32(32) {
        ids.insert(keyring.chainID(host: owner.host, database: owner.database, fork: fork))
      }
    }
  }

  package func contains(_ chain: String, _ owner: ChainOwner?) -> Bool {
    owner.map(owners.contains) ?? false || ids.contains { $0.hex == chain }
  }

  /// By its id alone.
  package func contains(_ chain: ChainID) -> Bool { ids.contains(chain) }
}

extension StateFolder {
  /// Chains that this machine has a mark of, and of which the target shows nothing.
  /// - Parameters:
  ///   - shown: the chains that it shows.
  ///   - wanted: only of these; `nil` is all.
  package func vanishedChains(shown: some Sequence<ChainID>, wanted: WantedChains? = nil) -> [RepositoryError] {
    let shown = Set(shown.map(\.hex))
    let vanished = markedChains().filter { chain in
      !shown.contains(chain) && wanted?.contains(chain, HighWaterMark.owner(of: chain, in: self)) ?? true
    }
    return vanished.map { chain in
      let owner = HighWaterMark.owner(of: chain, in: self).map { " ('\($0.database)' of \($0.host))" } ?? ""
      return RepositoryError(
        .rolledBack, "the target shows nothing of chain \(chain.prefix(12))\(owner), which this machine has seen there",
        hint:
          "Versions were deleted, an older state was put back there, or the listing was short. Nothing of that chain was deleted now. Find out what happened; to accept the loss: rm '\(HighWaterMark.path(chain, in: self))'"
      )
    }
  }
}
