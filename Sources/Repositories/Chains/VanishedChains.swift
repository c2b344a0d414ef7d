package import Sealing
import Storage

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
    owner.map(owners.contains) ?? false || ChainID(hex: chain).map(ids.contains) ?? false
  }

  /// By its id alone.
  package func contains(_ chain: ChainID) -> Bool { ids.contains(chain) }
}

/// A chain that this machine has a mark of, and of which the target shows nothing.
package struct VanishedChain: Sendable {
  /// Hexadecimal.
  let chain: String
  /// As it was noted with the mark.
  let owner: ChainOwner?
  package let problem: RepositoryError

  /// Whether it may be one of a database of that name, whosever: a mark of an earlier build does not say what it is of.
  package func mayBe(of database: String) -> Bool { owner.map { database.isSameName(as: $0.database) } ?? true }

  package func isAmong(_ wanted: WantedChains) -> Bool { wanted.contains(chain, owner) }
}

extension StateFolder {
  /// Chains that this machine has a mark of, and of which the target shows nothing.
  /// - Parameters:
  ///   - shown: the chains that it shows.
  ///   - wanted: only of these; `nil` is all.
  package func vanishedChains(shown: some Sequence<ChainID>, wanted: WantedChains? = nil) -> [RepositoryError] {
    vanished(shown: shown).filter { wanted.map($0.isAmong) ?? true }.map(\.problem)
  }

  /// The same, of databases by their names.
  /// - Parameters:
  ///   - names: all where there are none.
  ///   - host: this machine's; `nil` where that is not known, and other hosts' are meant as well.
  ///   - isOwn: only this host's databases are meant.
  package func vanishedChains(
    shown: some Sequence<ChainID>, named names: [String], host: String?, isOwn: Bool, _ keyring: Keyring
  ) -> [RepositoryError] {
    let owners = host.map { host in names.map { ChainOwner(host: host, database: $0) } } ?? []
    let own = WantedChains(of: Set(owners), keyring)
    let meant = vanished(shown: shown).filter { gone in
      // A mark of an earlier build does not say whose it is.
      guard let owner = gone.owner else { return names.isEmpty || gone.isAmong(own) }
      guard names.isEmpty || names.containsName(owner.database) else { return false }
      return !isOwn || host?.isSameName(as: owner.host) == true
    }
    return meant.map(\.problem)
  }

  /// All of them, with what is known of each: who asks of one database after the other reads the marks once.
  package func vanished(shown: some Sequence<ChainID>) -> [VanishedChain] {
    let shown = Set(shown.map(\.hex))
    return markedChains().filter { !shown.contains($0) }.map { chain in
      let owner = HighWaterMark.owner(of: chain, in: self)
      let whose = owner.map { " ('\($0.database)' of \($0.host))" } ?? ""
      let problem = RepositoryError(
        .rolledBack, "the target shows nothing of chain \(chain.prefix(12))\(whose), which this machine has seen there",
        hint:
          "Versions were deleted, an older state was put back there, or the listing was short. Nothing of that chain was deleted now. Try again a while later before you remove anything. \(RepositoryError.findOutAndRepair) To accept the loss: rm '\(HighWaterMark.path(chain, in: self))'"
      )
      return VanishedChain(chain: chain, owner: owner, problem: problem)
    }
  }
}
