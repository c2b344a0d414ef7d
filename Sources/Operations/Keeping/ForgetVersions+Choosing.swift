import Repositories
import Sealing
import Storage

/// What a person meant: whose databases, which of them, by which rules or which versions by name.
extension ForgetVersions {
  /// What is wished for a chain.
  enum Wish {
    case rules(RetentionRules)
    case gone(Set<String>)
  }

  struct Chosen {
    let history: ChainHistory
    let wish: Wish
    var order: (String, String) { (history.database ?? "", history.chain.hex) }
  }

  /// Versions that are named may be anywhere; rules are for the databases that have some, most often this host's own.
  func histories(meantBy request: Request, _ lookup: VersionLookup) async throws -> [ChainHistory] {
    let host = try host(meantBy: request)
    switch request.choice {
    case .versions: return try await lookup.histories()
    case .rules(let rules):
      return try await lookup.histories {
        (host == nil || $0.host.isSameName(as: host)) && rules.value(ofName: $0.database) != nil
      }
    case .rulesForAll:
      let named = request.named
      if host == nil, named.isEmpty { return try await lookup.histories() }
      return try await lookup.histories {
        (host == nil || $0.host.isSameName(as: host)) && (named.isEmpty || named.containsName($0.database))
      }
    }
  }

  /// - Parameter gone: what this machine has seen there of the databases that are meant, and is not shown any more.
  func choose(
    _ request: Request, from histories: [ChainHistory], _ gone: [RepositoryError], at target: String
  ) throws -> [Chosen] {
    let chosen: [Chosen]
    switch request.choice {
    case .versions(let selectors): chosen = try named(selectors, in: histories, at: target)
    case .rules(let rules):
      chosen = try ofHosts(request, histories).compactMap { history in
        guard let rules = history.database.flatMap({ rules.value(ofName: $0) }) else { return nil }
        return Chosen(history: history, wish: .rules(try usable(rules)))
      }
    case .rulesForAll(let rules):
      let wish = Wish.rules(try usable(rules))
      chosen = try ofHosts(request, histories).compactMap { history in
        guard let database = history.database, request.named.isEmpty || request.named.containsName(database) else {
          return nil
        }
        return Chosen(history: history, wish: wish)
      }
    }
    let found = chosen.compactMap(\.history.database)
    if let missing = request.named.first(where: { !found.containsName($0) }) {
      // What is gone was there: nobody is told that it never was.
      if let gone = gone.first { throw gone }
      throw histories.lack(of: [missing], host: request.host)
    }
    if let host = request.host, chosen.isEmpty {
      if let gone = gone.first { throw gone }
      var names: [String] = []
      if case .rules(let rules) = request.choice { names = rules.keys.sorted() }
      throw histories.lack(of: names, host: host)
    }
    return chosen.sorted { $0.order < $1.order }
  }

  /// Whose databases are meant; `nil`: everybody's, as where versions are named.
  /// - Throws: `.stateFolder`: nobody's versions are let go of by a guess at whose they are.
  private func host(meantBy request: Request) throws -> String? {
    if case .versions = request.choice { return nil }
    return try request.allHosts ? nil : request.host ?? HostName.known(world)
  }

  func gone(_ request: Request, _ lookup: VersionLookup) -> [RepositoryError] {
    let names: [String]
    switch request.choice {
    case .versions: return []
    case .rules(let rules): names = Array(rules.keys)
    case .rulesForAll: names = request.named
    }
    return lookup.vanishedChains(named: names, isOwn: !request.allHosts, of: request.host)
  }

  /// Which chains are meant, of those that do not say any more whose they are.
  func wanted(by request: Request, _ lookup: VersionLookup) throws -> (ChainHistory) -> Bool {
    let names: [String]
    switch request.choice {
    case .versions: return { _ in false }
    case .rules(let rules): names = Array(rules.keys)
    case .rulesForAll: names = request.named
    }
    guard let host = try host(meantBy: request), !names.isEmpty else { return { _ in true } }
    let owners = Set(names.map { ChainOwner(host: host, database: $0) })
    let own = WantedChains(of: owners, lookup.repository.keys.keyring)
    return { own.contains($0.chain.hex, HighWaterMark.owner(of: $0.chain.hex, in: lookup.state)) }
  }

  /// Nobody forgets everything by saying nothing.
  private func usable(_ rules: RetentionRules) throws -> RetentionRules {
    guard !rules.isEmpty else { throw Self.noRules }
    return rules
  }

  package static let noRules = OperationError(
    .usage, code: "noRules", "nothing says which versions to keep",
    hint: "Give a rule, such as --keep-daily 14, or a \"keep\" section for the database in the configuration.")

  private func ofHosts(_ request: Request, _ histories: [ChainHistory]) throws -> [ChainHistory] {
    guard let host = try host(meantBy: request) else { return histories }
    return histories.filter { host.isSameName(as: $0.host) }
  }

  func otherHosts(_ request: Request, _ histories: [ChainHistory]) throws -> [String] {
    guard let host = try host(meantBy: request) else { return [] }
    let hosts = Set(histories.compactMap { $0.host.map { ExactName($0) } })
    return hosts.subtracting([ExactName(host)]).sorted().map(\.text)
  }

  private func named(
    _ selectors: [VersionSelector], in histories: [ChainHistory], at target: String
  ) throws -> [Chosen] {
    var ids: Set<Digest> = []
    for selector in selectors {
      guard case .id(let prefix) = selector else {
        throw OperationError(
          .usage, code: "badVersion", "a version to be forgotten is named by its id, not as '\(selector.text)'",
          hint: "`sealift list` shows the ids.")
      }
      let found = Set(histories.flatMap(\.all).map(\.id).filter { $0.hex.hasPrefix(prefix) })
      guard let id = found.first, found.count == 1 else {
        throw RepositoryError(
          .noSuchVersion,
          found.isEmpty
            ? "no version at \(target) answers to '\(prefix)'" : "'\(prefix)' names \(found.count) versions",
          hint: "`sealift list --json` shows whole ids.")
      }
      ids.insert(id)
    }
    return histories.compactMap { history in
      let own = Set(history.all.map(\.id)).intersection(ids)
      return own.isEmpty ? nil : Chosen(history: history, wish: .gone(Set(own.map(\.hex))))
    }
  }
}
