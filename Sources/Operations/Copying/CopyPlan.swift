import Repositories
import Sealing
import Storage

/// What is to be copied: the versions of each chain that were chosen, in the order in which they were pushed.
struct CopyPlan {
  struct Chain {
    /// The fork number that its database was pushed with.
    let fork: UInt32
    let versions: [VersionFacts]
    let history: ChainHistory
    let annotations: Annotations
  }

  private(set) var chains: [Chain] = []
  /// What does not fit at the source: said, and the rest is copied.
  private(set) var failures: [(database: String?, version: String?, error: OperationError)] = []
  /// Hosts and databases that are copied.
  private(set) var databases: Set<ChainOwner> = []
  /// What was said of the source.
  private var told: Set<String> = []

  /// - Throws: `.noSuchVersion` for a name that nothing answers to.
  init(_ request: CopyVersions.Request, _ origin: VersionLookup) async throws {
    // First what was named: who looks it up may take later listings, and all are to go by the same.
    let named = try await named(request, origin)
    let histories = try await Self.histories(askedBy: request, origin)
    let asked = Asked(request, named, histories, origin)
    let parted = try await Self.parted(histories, origin)
    for history in histories.filter(asked.contains) {
      tellProblems(of: history, isParted: parted.contains(history.chain), request.choice, origin)
    }
    // An id proves by itself which version it is. By any other name none is found while a chain of its database is gone.
    for problem in asked.gone {
      if request.choice.isByName { Self.tellBeside(problem, origin) } else { fail(nil, problem, origin) }
    }
    var found: [String] = []
    for history in histories {
      let all = history.versions + (request.choice.isNewest ? [] : history.displaced)
      var versions = all.filter { facts in
        !history.isForgotten(facts) && facts.version != nil && request.asks(for: facts)
          && named?.contains(facts.id) ?? true
      }
      if request.choice.isNewest { versions = versions.suffix(1) }
      guard let version = versions.first?.version else { continue }
      found.append(version.database)
      guard await admits(history, isParted: parted.contains(history.chain), request.choice, origin) else { continue }
      databases.insert(ChainOwner(version))
      chains.append(
        Chain(
          fork: CopyLanes.fork(
            of: history.chain, host: version.host, database: version.database, origin.repository.keys.keyring),
          versions: versions, history: history, annotations: try await annotations(of: history, origin)))
    }
    for name in request.databases where !found.containsName(name) {
      let error = RepositoryError(
        .noSuchVersion, "no version of '\(name)' is at \(origin.targetName)",
        hint: "`sealift list` shows what is there.")
      failures.append((name, nil, OperationError(error)))
    }
    if request.choice.isNewest { try await keepYoungest(origin) }
    // Older chains first: what lies beside one another at the source comes in one order.
    chains.sort { $0.began < $1.began }
  }

  private static func histories(
    askedBy request: CopyVersions.Request, _ origin: VersionLookup
  ) async throws -> [ChainHistory] {
    let asked = request.databases
    guard !asked.isEmpty else { return try await origin.histories() }
    return try await origin.histories { asked.containsName($0.database) }
  }

  /// Chains that two machines pushed to as one and that were left: a later version of the database stands in another one, and
  /// nothing else is in doubt (`Docs/Decisions/0023`).
  private static func parted(_ histories: [ChainHistory], _ origin: VersionLookup) async throws -> Set<ChainID> {
    let keyring = origin.repository.keys.keyring
    var parted: Set<ChainID> = []
    for history in histories where history.contestedFrom != nil {
      guard let owner = history.newest?.version.map({ ChainOwner($0) }) else { continue }
      let rivals = histories.filter { rival in
        rival.newest?.version.map { ChainOwner($0) } == owner
          && (rival.chain == history.chain || !CopyLanes.isLane(rival.chain, of: owner, keyring))
      }
      let ends = rivals.compactMap { rival in
        rival.newestCounting.map { VersionLookup.Found(facts: $0, history: rival) }
      }
      guard let last = try await origin.times.last(of: ends, whole: { $0 }), last.history.chain != history.chain,
        (try? origin.repository.checkContested(history, state: origin.state)) != nil
      else { continue }
      parted.insert(history.chain)
    }
    return parted
  }

  /// Two versions at one place are no doubt once a later one stands in another chain. What is missing or there twice beside
  /// them is no failure to who names versions by their ids: these prove by themselves which ones they are.
  private mutating func tellProblems(
    of history: ChainHistory, isParted: Bool, _ choice: CopyVersions.Choice, _ origin: VersionLookup
  ) {
    guard !isParted else {
      guard !choice.isByName, let problem = history.problems.first else { return }
      origin.reporter.notice("\(origin.targetName): \(problem.message); \(Self.wentOn)")
      return
    }
    for problem in history.problems {
      guard choice.isByName, Self.doubts.contains(problem.code) else {
        fail(history.database, problem, origin)
        continue
      }
      // Of two at one place who names a version hears when it is looked up.
      guard problem.code != .forked else { continue }
      Self.tellBeside(problem, origin)
    }
  }

  /// What is missing beside versions that are named: in their chain, or with another one of their database.
  private static func tellBeside(_ problem: RepositoryError, _ origin: VersionLookup) {
    origin.reporter.notice(
      "\(origin.targetName): \(problem.message); what was asked for by its id is copied all the same")
  }

  /// What the source lost, or shows twice, is no reason to have fewer copies of what it shows: it is told, and copied. Only
  /// which version is the newest nobody knows then.
  /// - Returns: false where nothing of the chain is to be copied.
  private mutating func admits(
    _ history: ChainHistory, isParted: Bool, _ choice: CopyVersions.Choice, _ origin: VersionLookup
  ) async -> Bool {
    do {
      try await origin.freshness(ofLeft: history)
      origin.noteSeen(history)
      return history.displaced.isEmpty || isParted || !choice.isNewest
    } catch let doubt as RepositoryError where Self.doubts.contains(doubt.code) {
      // Who named a version by its id was told when it was looked up.
      if !choice.isByName { fail(history.database, doubt, origin) }
      return !choice.isNewest
    } catch {
      fail(history.database, error, origin)
      return false
    }
  }

  /// Of a chain that two machines pushed to as one. Which of them went on elsewhere is not known.
  private static let wentOn =
    "a later version of the database stands in another chain since; a machine that goes on pushing to this one needs a \"host\" or \"fork\" of its own, too"

  private static let doubts: Set<RepositoryError.Code> = [.rolledBack, .forked, .hole]

  /// Once of each database, however often it is met.
  private mutating func fail(_ database: String?, _ error: any Error, _ origin: VersionLookup) {
    let problem = OperationError(error, doing: origin.targetName)
    if told.insert("\(database ?? ""): \(problem.message)").inserted { failures.append((database, nil, problem)) }
  }

  /// Of each database the one chain that `latest` names: forks and lanes of copies lie beside it.
  private mutating func keepYoungest(_ origin: VersionLookup) async throws {
    var youngest: [ChainOwner: Chain] = [:]
    for rivals in Dictionary(grouping: chains, by: \.owner).values {
      let last = try await origin.times.last(of: rivals.compactMap(\.last)) { $0 }
      guard let chain = rivals.first(where: { $0.history.chain == last?.history.chain }), let owner = chain.owner
      else { continue }
      youngest[owner] = chain
    }
    let all = chains.compactMap { $0.last?.facts }
    for (database, chain) in youngest.sorted(by: { $0.value.began < $1.value.began }) {
      guard let taken = chain.last?.facts else { continue }
      origin.times.tell(
        "\(database.database):latest", is: taken, besides: all, origin.repository.keys.keyring, to: origin.reporter)
    }
    chains = Array(youngest.values)
  }

  /// An id may be that of a version that was forgotten: who names one hears that it is not copied.
  private mutating func named(
    _ request: CopyVersions.Request, _ origin: VersionLookup
  ) async throws -> Set<Digest>? {
    guard case .versions(let selectors) = request.choice else { return nil }
    var ids: Set<Digest> = []
    for selector in selectors {
      let found = try await origin.find(selector)
      ids.insert(found.facts.id)
      guard found.history.isForgotten(found.facts) else { continue }
      let id = found.facts.id.hex
      let error = OperationError(
        .noSuchVersion, code: "forgotten", "version \(id.prefix(12)) was forgotten, and is not copied",
        hint: "`sealift unforget \(id.prefix(12))` at \(origin.targetName) has it count again.")
      failures.append((found.facts.version?.database, id, error))
    }
    return ids
  }

  /// What cannot be read of them may be a tag, or the word that a version counts again: that is told, and the rest copied.
  private mutating func annotations(
    of history: ChainHistory, _ origin: VersionLookup
  ) async throws -> Annotations {
    do {
      try await origin.demandOwnWords(of: history)
      return try await origin.everyAnnotation(of: history)
    } catch let error where error is RepositoryError || error is SealError {
      fail(history.database, error, origin)
      return try await origin.annotations(of: history)
    }
  }
}

/// Whose chains are asked for: what is wrong with those of others is no matter of the copy.
private struct Asked {
  private let names: [String]
  /// Where versions are named: the chains of their databases.
  private let wanted: WantedChains?
  private let origin: VersionLookup

  /// - Parameter named: the versions that are asked for; `nil` where none is named.
  init(
    _ request: CopyVersions.Request, _ named: Set<Digest>?, _ histories: [ChainHistory], _ origin: VersionLookup
  ) {
    names = request.databases
    wanted = named.map { ids in
      let versions = histories.flatMap { $0.versions + $0.displaced }.filter { ids.contains($0.id) }
      return WantedChains(
        of: Set(versions.compactMap { $0.version.map { ChainOwner($0) } }), origin.repository.keys.keyring)
    }
    self.origin = origin
  }

  /// A chain of which nothing says whose it is may be that of a database that is asked for by its name.
  func contains(_ history: ChainHistory) -> Bool {
    let known = history.newest?.version.map { ChainOwner($0) }
    let owner = known ?? HighWaterMark.owner(of: history.chain.hex, in: origin.state)
    if let wanted { return wanted.contains(history.chain.hex, owner) }
    guard !names.isEmpty, let owner else { return true }
    return names.containsName(owner.database)
  }

  /// Chains that this machine has seen there, and of which nothing is shown.
  var gone: [RepositoryError] {
    if let wanted { return origin.vanishedChains(among: wanted) }
    return origin.vanishedChains(named: names, isOwn: false)
  }
}

extension CopyPlan.Chain {
  fileprivate var began: UInt64 { versions.first?.version?.time ?? 0 }
  fileprivate var last: VersionLookup.Found? {
    versions.last.map { VersionLookup.Found(facts: $0, history: history) }
  }
  fileprivate var owner: ChainOwner? { versions.last?.version.map { ChainOwner($0) } }
}

extension CopyVersions.Request {
  fileprivate func asks(for facts: VersionFacts) -> Bool {
    databases.isEmpty || facts.version.map { databases.containsName($0.database) } ?? false
  }
}

extension CopyVersions.Choice {
  fileprivate var isNewest: Bool {
    if case .newest = self { return true }
    return false
  }
}
