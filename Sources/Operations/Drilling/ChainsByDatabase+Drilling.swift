import Repositories
import Sealing
import Storage

/// What a drill takes of them.
extension ChainsByDatabase {
  /// The hosts that are meant: this one; where it has nothing there, the only one that has.
  func hosts(_ request: Drill.Request) throws -> Set<ExactName> {
    let all = Set(databases.filter { request.asks(for: $0.name) }.map { ExactName($0.host) })
    if request.allHosts || all.count < 2 { return all }
    if let own = ownHost.map({ ExactName($0) }), all.contains(own) { return [own] }
    throw OperationError(
      .usage, code: "severalHosts",
      "databases of \(all.count) hosts are there, \(noneIsOwn): "
        + all.sorted().map(\.text).joined(separator: ", "),
      hint: "Drill all of them with --all-hosts, or name versions with --versions.", cause: unnamed)
  }

  /// - Returns: the revision that a reader takes, and whether its chain has no later version.
  func choose(
    among database: Database, _ request: Drill.Request, _ pick: @Sendable (Int) -> Int
  ) async throws -> (facts: VersionFacts, isNewest: Bool) {
    if case .random = request.choice {
      return try await any(of: read(database).whole, pick)
    }
    return (try await newest(of: database), true)
  }

  private func any(
    of database: Database, _ pick: @Sendable (Int) -> Int
  ) async throws -> (facts: VersionFacts, isNewest: Bool) {
    var all: [(facts: VersionFacts, history: ChainHistory)] = []
    for chain in database.chains {
      let history = try await whole(chain.listing)
      all += history.versions.filter { !history.isForgotten($0) }.map { ($0, history) }
    }
    guard !all.isEmpty else { throw Self.nothing(of: database) }
    let picked = all[pick(all.count)]
    let facts = try await repository.readable(picked.facts, in: picked.history, state: fresh)
    return (facts, facts.id == picked.history.newest?.id)
  }
}
