import Repositories
import Sealing
import Storage

/// The versions that a drill is about, found with nothing but what the target says. What this machine remembers is used
/// for one thing: to notice that the target shows less than it did.
struct DrillSubjects {
  struct Subject: Sendable {
    let database: String
    /// Of the revision that a reader takes.
    let facts: VersionFacts
    /// There is no later one in its chain: what is pushed next builds on it.
    let isNewest: Bool
    /// Named by its id, it may be.
    var isForgotten = false
  }

  let repository: Repository
  private(set) var chosen: [Subject] = []
  private(set) var failures: [(database: String?, error: OperationError)] = []

  /// - Parameters:
  ///   - fresh: a world that has never seen the target.
  ///   - pick: chooses among so many.
  static func find(
    _ request: Drill.Request, at target: TargetAccess, _ world: World, fresh: World,
    _ pick: @escaping @Sendable (Int) -> Int
  ) async throws -> DrillSubjects {
    if case .versions(let selectors) = request.choice {
      return try await find(selectors, at: target, world, fresh, keepsPlace: !request.records)
    }
    let chains = try await ChainsByDatabase(at: target, world, fresh: fresh, keepsPlace: !request.records)
    var subjects = DrillSubjects(repository: chains.repository)
    try await subjects.choose(request, chains, target.name, pick)
    return subjects
  }

  private static func find(
    _ selectors: [VersionSelector], at target: TargetAccess, _ world: World, _ fresh: World, keepsPlace: Bool
  ) async throws -> DrillSubjects {
    let lookup = try await VersionLookup(at: target, fresh, seen: world)
    try target.checkPlace(of: lookup.repository, world, isKept: keepsPlace)
    try lookup.repository.checkKeyring(in: lookup.state)
    lookup.repository.rememberConfiguration(in: lookup.state)
    var subjects = DrillSubjects(repository: lookup.repository)
    for selector in selectors {
      do {
        let found = try await lookup.find(selector)
        let facts = try await lookup.repository.readable(found.facts, in: found.history, state: lookup.kept)
        let isNewest = found.history.newest?.id == facts.id
        subjects.chosen.append(
          Subject(
            database: facts.version?.database ?? "", facts: facts, isNewest: isNewest,
            isForgotten: found.history.isForgotten(facts)))
      } catch {
        let problem = OperationError(error, doing: "drilling \(selector.text) at \(target.name)")
        if problem.kind == .cancelled { throw problem }
        subjects.failures.append((nil, problem))
      }
    }
    return subjects
  }

  private init(repository: Repository) { self.repository = repository }

  private mutating func choose(
    _ request: Drill.Request, _ chains: ChainsByDatabase, _ target: String, _ pick: @Sendable (Int) -> Int
  ) async throws {
    if request.databases.isEmpty { failures += chains.vanished.map { (nil, OperationError($0, doing: target)) } }
    failures += chains.nameless.map { (nil, OperationError($0, doing: target)) }
    let hosts = try chains.hosts(request)
    for name in request.databases {
      // Another host's database of that name is no stand-in for this host's own, and where nobody knows this one's name, what
      // is gone may be that.
      let isOwn = chains.databases.contains {
        name.isSameName(as: $0.name) && chains.ownHost?.isSameName(as: $0.host) == true
      }
      let own = chains.ownHost.map { ChainOwner(host: $0, database: name) }
      let gone = isOwn ? [] : own.map { chains.vanished($0) } ?? chains.vanished(named: name)
      failures += gone.map { (name, OperationError($0, doing: target)) }
      let isThere = chains.databases.contains { name.isSameName(as: $0.name) && hosts.contains(ExactName($0.host)) }
      guard gone.isEmpty, !isThere else { continue }
      let error = RepositoryError(
        .noSuchVersion, "no version of '\(name)' is at \(target)", hint: "`sealift list` shows what is there.")
      failures.append((name, OperationError(error)))
    }
    let meant = chains.databases.filter { hosts.contains(ExactName($0.host)) && request.asks(for: $0.name) }
    try await chains.prepare(for: meant)
    for database in meant {
      do {
        let (facts, isNewest) = try await chains.choose(among: database, request, pick)
        chosen.append(Subject(database: database.name, facts: facts, isNewest: isNewest))
      } catch {
        let problem = OperationError(error, doing: "drilling '\(database.name)' at \(target)")
        if problem.kind == .cancelled { throw problem }
        failures.append((database.name, problem))
      }
    }
    guard chosen.isEmpty, failures.isEmpty, !request.mayBeEmpty else { return }
    throw RepositoryError(
      .noSuchVersion, "there is no version to drill at \(target)", hint: ChainsByDatabase.wayToVersions)
  }
}

extension Drill.Request {
  func asks(for name: String) -> Bool { databases.isEmpty || databases.containsName(name) }
}
