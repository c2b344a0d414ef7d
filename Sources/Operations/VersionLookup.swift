import Repositories
import Sealing
import Snapshots
import Storage

/// Finds the version a person named, in everything a repository holds, and says whether the target can be believed.
struct VersionLookup: Sendable {
  let repository: Repository
  let state: StateFolder
  let targetName: String
  private let host: String
  private let reporter: any Reporter
  private let listings: [ChainListing]

  struct Found: Sendable {
    let manifest: StoredManifest
    /// The whole chain where it was read for the lookup.
    let history: ChainHistory
  }

  init(at target: TargetAccess, _ world: World) async throws {
    let repository = try await target.open()
    self.repository = repository
    state = try StateFolder(world.stateFolder, repository: repository.id)
    targetName = target.name
    host = try HostName.current(world)
    reporter = world.reporter
    listings = ChainListing.byChain(try await repository.store.list(prefix: Layout.versions))
  }

  /// Every chain, read whole.
  func histories() async throws -> [ChainHistory] {
    var histories: [ChainHistory] = []
    for listing in listings { histories.append(try await repository.history(of: listing, state: state)) }
    return histories
  }

  /// - Throws: `.noSuchVersion`; `.rolledBack` and its kin when this machine has seen more than the target shows, unless
  ///   the version was named by its id: that proves by itself which one it is, and nothing may stand in the way of it.
  func find(_ selector: VersionSelector) async throws -> Found {
    let histories = try await histories()
    guard case .id(let prefix) = selector else {
      let found = try newest(selector, in: histories)
      try await freshness(of: found.history)
      try demandReadable(beyond: found)
      noteSeen(found.history)
      return found
    }
    let found = try named(prefix, in: histories)
    do {
      try await freshness(of: found.history)
      noteSeen(found.history)
    } catch let problem as RepositoryError {
      reporter.notice("\(problem.message); the version was asked for by its id")
    }
    return found
  }

  /// The version of an id, also one that was forgotten and is still there.
  private func named(_ prefix: String, in histories: [ChainHistory]) throws -> Found {
    let matching = histories.flatMap { history in
      (history.versions + history.displaced).filter { $0.id.hex.hasPrefix(prefix) }
        .map { Found(manifest: $0, history: history) }
    }
    guard Set(matching.map(\.manifest.id)).count < 2 else {
      throw RepositoryError(
        .noSuchVersion, "'\(prefix)' names \(matching.count) versions",
        hint: "Give more digits; `sealift list --json` shows whole ids.")
    }
    guard let found = matching.first else { throw nothing(named: prefix, histories) }
    return found
  }

  /// The last version of each chain that matches, and of those the youngest. In a chain its order counts, not its
  /// times: clocks go back.
  private func newest(_ selector: VersionSelector, in histories: [ChainHistory]) throws -> Found {
    let candidates = histories.compactMap { history in
      history.versions.last { selector.matches($0) && !history.isForgotten($0) }
        .map { Found(manifest: $0, history: history) }
    }
    guard let found = try ofOneHost(candidates, selector).max(by: { $0.manifest.order < $1.manifest.order }) else {
      throw nothing(named: selector.text, histories)
    }
    return found
  }

  /// Two hosts may push databases of one name: this host's own is meant, and where it has none, nobody guesses.
  private func ofOneHost(_ candidates: [Found], _ selector: VersionSelector) throws -> [Found] {
    let hosts = Set(candidates.compactMap { $0.manifest.core?.host })
    guard selector.namesDatabase, hosts.count > 1 else { return candidates }
    let own = candidates.filter { $0.manifest.core?.host == host }
    let others = hosts.subtracting([host]).sorted().joined(separator: ", ")
    if !own.isEmpty {
      reporter.notice(
        "\(selector.text) is taken as this host's (\(host)); \(others) pushes a database of that name too")
      return own
    }
    let ids = candidates.map { "\($0.manifest.id.hex.prefix(12)) (\($0.manifest.core?.host ?? ""))" }.sorted()
    throw RepositoryError(
      .noSuchVersion, "\(selector.text) names databases of \(hosts.count) hosts: \(others)",
      hint: "Name the version by its id: \(ids.joined(separator: ", ")).")
  }

  /// A manifest that cannot be read may be of a newer version: an older one is not passed off as the latest.
  private func demandReadable(beyond found: Found) throws {
    guard let last = found.history.unreadable.map(\.sequence).max(), last > found.manifest.name.sequence,
      found.history.newest?.id == found.manifest.id
    else { return }
    throw RepositoryError(
      .damaged, "there may be a newer version: manifest \(last) of this chain cannot be read",
      hint: "To take the last one that can be read, name it by its id: \(found.manifest.id.hex.prefix(12)).")
  }

  /// Refuses a chain that shows less than this machine has seen.
  func freshness(of history: ChainHistory) async throws {
    guard let listing = listings.first(where: { $0.chain == history.chain }) else { return }
    try await repository.checkFreshness(of: listing, history: history, state: state)
  }

  func annotations(of history: ChainHistory) async throws -> Annotations {
    try await repository.annotations(of: history.chain, state: state)
  }

  /// This machine has seen the newest version of a chain: from now on it notices when that is gone.
  func noteSeen(_ history: ChainHistory) {
    guard history.problems.isEmpty, let newest = history.newest else { return }
    HighWaterMark(sequence: newest.name.sequence, id: newest.id).raise(history.chain, in: state)
  }

  /// Whether this machine has a mark of every chain: then nothing newer can have been taken away unnoticed.
  func isFreshnessProvable() -> Bool {
    listings.allSatisfy { (try? HighWaterMark.read($0.chain, in: state)) != nil }
  }

  /// Chains this machine has pushed to that the target does not show at all.
  func vanishedChains() -> [RepositoryError] {
    let shown = Set(listings.map(\.chain.hex))
    return state.markedChains().filter { !shown.contains($0) }.map { chain in
      RepositoryError(
        .rolledBack, "the target shows nothing of chain \(chain.prefix(12)), which this machine has pushed to",
        hint: "Versions were deleted or an older state was put back there.")
    }
  }

  private func nothing(named name: String, _ histories: [ChainHistory]) -> RepositoryError {
    let problem = histories.flatMap(\.problems).first
    return RepositoryError(
      .noSuchVersion, "no version at \(targetName) answers to '\(name)'",
      hint: problem.map { "Some manifests cannot be read (\($0.message)); `sealift list` shows the rest." }
        ?? "`sealift list` shows the versions.",
      cause: problem)
  }
}

extension VersionSelector {
  /// As a person would write it, for messages.
  var text: String {
    switch self {
    case .id(let prefix): prefix
    case .latest(let database): database.map { "\($0):latest" } ?? "latest"
    case .notLater(let database, _): "\(database)@…"
    }
  }

  var namesDatabase: Bool {
    switch self {
    case .id, .latest(nil): false
    case .latest, .notLater: true
    }
  }

  func matches(_ manifest: StoredManifest) -> Bool {
    guard let core = manifest.core else { return false }
    switch self {
    case .id(let prefix): return manifest.id.hex.hasPrefix(prefix)
    case .latest(let database): return database.map { $0 == core.database } ?? true
    case .notLater(let database, let time): return core.database == database && core.time <= time
    }
  }
}

extension StoredManifest {
  /// Between chains: by time.
  fileprivate var order: (UInt64, UInt64) { (core?.time ?? 0, core?.sequence ?? 0) }
}
