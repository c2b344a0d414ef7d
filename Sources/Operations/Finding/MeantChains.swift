import Repositories
import Sealing
import Storage

/// Where no version answers to a name: the chains that may hold one all the same.
struct MeantChains: Sendable {
  /// Of the chains that this machine has seen; `nil` is every one.
  let seen: WantedChains?
  private let database: String?
  /// Only this host's are meant.
  private let host: String?
  /// Chains of other databases, by their ids.
  private let others: WantedChains
  private let state: StateFolder

  /// - Parameters:
  ///   - host: this machine's; `nil` where that is not known: every host's may be its own.
  ///   - isOwn: another host's database of that name is not meant.
  ///   - histories: of all chains that are shown.
  init(
    _ selector: VersionSelector, host: String?, isOwn: Bool, among histories: [ChainHistory], _ keyring: Keyring,
    _ state: StateFolder
  ) {
    self.state = state
    self.host = isOwn ? host : nil
    self.database = selector.database
    guard let database = selector.database else {
      (seen, others) = (nil, WantedChains([]))
      return
    }
    let marked = isOwn ? [] : state.markedChains().compactMap { HighWaterMark.owner(of: $0, in: state) }
    let ofHost = host.map { [ChainOwner(host: $0, database: database)] } ?? []
    let owners = marked.filter { database.isSameName(as: $0.database) } + ofHost
    seen = WantedChains(of: Set(owners), keyring)
    guard histories.contains(where: \.isNameless) else {
      others = WantedChains([])
      return
    }
    let known = histories.compactMap { $0.newest?.version.map { ChainOwner($0) } }
      .filter { !database.isSameName(as: $0.database) }
    let own = host.map { host in known.map { ChainOwner(host: host, database: $0.database) } } ?? []
    others = WantedChains(of: Set(known + own), keyring)
  }

  /// A chain of which nothing can be read may be anybody's, unless its id or what was noted of it says whose it is.
  func contains(_ history: ChainHistory) -> Bool {
    guard let seen else { return true }
    if let name = history.database {
      return name.isSameName(as: database) && (host == nil || host?.isSameName(as: history.host) == true)
    }
    let owner = HighWaterMark.owner(of: history.chain.hex, in: state)
    if seen.contains(history.chain.hex, owner) { return true }
    return host == nil && owner == nil && !others.contains(history.chain)
  }
}
