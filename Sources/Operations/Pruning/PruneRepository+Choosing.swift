import Repositories
import Sealing
import Storage

/// What a person meant: whose chains, of which databases.
extension PruneRepository {
  /// The chains of the databases and of the host that were named.
  func chosen(
    _ listings: [ChainListing], _ request: Request, _ repository: Repository, _ state: StateFolder,
    _ target: TargetAccess
  ) async throws -> [ChainListing] {
    let (names, host) = (request.databases, request.host)
    guard !names.isEmpty || host != nil else { return listings }
    let owners = try await owners(of: listings, request, repository, state)
    func isMeant(_ owner: ChainOwner?) -> Bool {
      guard let owner, names.isEmpty || names.containsName(owner.database) else { return false }
      return host.map { owner.host.isSameName(as: $0) } ?? true
    }
    let chosen = zip(listings, owners).filter { isMeant($1) }
    let found = chosen.compactMap { $1?.database }
    let missing = names.first { !found.containsName($0) }
    guard missing != nil || chosen.isEmpty else { return chosen.map(\.0) }
    // What is gone was there: nobody is told that it never was.
    let gone = state.vanishedChains(
      shown: listings.map(\.chain), named: missing.map { [$0] } ?? [], host: host ?? HostName.known(world),
      isOwn: host != nil, repository.keys.keyring)
    if let gone = gone.first { throw gone }
    throw lack(of: missing, owners.compactMap { $0 }, host: host, at: target)
  }

  /// Whose each chain is, as its newest version says. Of one of which nothing can be read, only its number tells, and what
  /// this machine noted.
  private func owners(
    of listings: [ChainListing], _ request: Request, _ repository: Repository, _ state: StateFolder
  ) async throws -> [ChainOwner?] {
    let said = try await repository.atEnds(of: listings) { listing -> ChainOwner? in
      do {
        return try await repository.newest(of: listing, state: state).newest?.facts.version.map { ChainOwner($0) }
      } catch let error as StoreError where error.object != nil {
        return nil
      }
    }
    let host = request.host ?? HostName.known(world)
    let asked = request.databases.map { ChainOwner(host: host, database: $0) }
    return zip(listings, said).map { listing, owner -> ChainOwner? in
      if let owner { return owner }
      let chain = listing.chain.hex
      let noted = HighWaterMark.owner(of: chain, in: state)
      let own = asked.first { WantedChains(of: [$0], repository.keys.keyring).contains(chain, noted) }
      return asked.isEmpty ? noted : own
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
