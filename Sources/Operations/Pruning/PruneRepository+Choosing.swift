import Repositories
import Sealing
import Storage

/// What a person meant: whose chains, of which databases.
extension PruneRepository {
  /// What a chain says of itself.
  private struct Said: Sendable {
    var owner: ChainOwner?
    /// Why nothing says whose it is, though something of it is there.
    var doubt: (any Error)?
  }

  /// The chains of the databases and of the host that were named. Where only a host was, one that nobody can name may be
  /// that host's: it is a problem, and nothing of it is deleted.
  func chosen(
    _ listings: [ChainListing], _ request: Request, _ repository: Repository, _ state: StateFolder,
    _ target: TargetAccess, _ outcome: inout Outcome
  ) async throws -> [ChainListing] {
    let (names, host) = (request.databases, request.host)
    guard !names.isEmpty || host != nil else { return listings }
    let said = try await said(by: listings, request, repository, state)
    let owners = said.map(\.owner)
    let doubts = zip(listings, said).compactMap { listing, said -> OperationError? in
      guard names.isEmpty, said.owner == nil, let doubt = said.doubt else { return nil }
      return OperationError(doubt, doing: "\(target.name): chain \(listing.chain.hex.prefix(12)) was not pruned")
    }
    outcome.problems += doubts
    func isMeant(_ owner: ChainOwner?) -> Bool {
      guard let owner, names.isEmpty || names.containsName(owner.database) else { return false }
      return host.map { owner.host.isSameName(as: $0) } ?? true
    }
    let chosen = zip(listings, owners).filter { isMeant($1) }
    let found = chosen.compactMap { $1?.database }
    let missing = names.first { !found.containsName($0) }
    guard missing != nil || (chosen.isEmpty && doubts.isEmpty) else { return chosen.map(\.0) }
    // What is gone was there: nobody is told that it never was.
    let gone = state.vanishedChains(
      shown: listings.map(\.chain), named: missing.map { [$0] } ?? [], host: host ?? (try? HostName.known(world)),
      isOwn: host != nil, repository.keys.keyring)
    if let gone = gone.first { throw gone }
    throw lack(of: missing, owners.compactMap { $0 }, host: host, at: target)
  }

  /// Whose each chain is, as its newest version says. Of one of which nothing can be read, only its number tells, and what
  /// this machine noted.
  private func said(
    by listings: [ChainListing], _ request: Request, _ repository: Repository, _ state: StateFolder
  ) async throws -> [Said] {
    let said = try await repository.atEnds(of: listings) { listing -> Said in
      do {
        let head = try await repository.newest(of: listing, state: state)
        if let version = head.newest?.facts.version { return Said(owner: ChainOwner(version)) }
        // A push that was cut leaves partial manifests alone: that is no version, and no doubt.
        guard !head.unreadable.isEmpty, let problem = head.problems.first else { return Said() }
        return Said(doubt: problem)
      } catch let error as StoreError where error.object != nil {
        return Said(doubt: error)
      }
    }
    guard said.contains(where: { $0.owner == nil }) else { return said }
    let host = try request.host ?? HostName.known(world)
    let asked = request.databases.map { ChainOwner(host: host, database: $0) }
    return zip(listings, said).map { listing, said -> Said in
      guard said.owner == nil else { return said }
      let chain = listing.chain.hex
      let noted = HighWaterMark.owner(of: chain, in: state)
      let own = asked.first { WantedChains(of: [$0], repository.keys.keyring).contains(chain, noted) }
      return Said(owner: asked.isEmpty ? noted : own, doubt: said.doubt)
    }
  }

  /// - Parameters:
  ///   - database: `nil`: of any.
  ///   - owners: of what is there.
  private func lack(
    of database: String?, _ owners: [ChainOwner], host: String?, at target: TargetAccess
  ) -> OperationError {
    let names = database.map { [$0] } ?? []
    let what = names.first.map { "version of '\($0)'" } ?? "version"
    let whose = host.map { " of host \($0)\(owners.having(names))" } ?? ""
    return OperationError(
      .noSuchVersion, code: database == nil ? nil : "noSuchDatabase", "\(target.name) has no \(what)\(whose)",
      hint: "`sealift list` shows what is there.")
  }
}
