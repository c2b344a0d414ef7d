import Repositories
import Sealing
import Snapshots
import Storage

/// Finds the version a person named, in everything a repository holds, and says whether the target can be believed.
struct VersionLookup: Sendable {
  let repository: Repository
  let state: StateFolder
  let targetName: String
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
    listings = ChainListing.byChain(try await repository.store.list(prefix: Layout.versions))
  }

  /// Every chain, read whole.
  func histories() async throws -> [ChainHistory] {
    var histories: [ChainHistory] = []
    for listing in listings { histories.append(try await repository.history(of: listing, state: state)) }
    return histories
  }

  /// - Throws: `.noSuchVersion`; `.rolledBack` and its kin when this machine has seen more than the target shows.
  func find(_ selector: VersionSelector) async throws -> Found {
    let histories = try await histories()
    let all = histories.flatMap { history in history.versions.map { Found(manifest: $0, history: history) } }
    let matching = all.filter { found in
      guard selector.matches(found.manifest) else { return false }
      // Only its id still names a version that was forgotten.
      if case .id = selector { return true }
      return !found.history.isForgotten(found.manifest)
    }
    let found: Found
    switch selector {
    case .id(let prefix):
      guard Set(matching.map(\.manifest.id)).count < 2 else {
        throw RepositoryError(
          .noSuchVersion, "'\(prefix)' names \(matching.count) versions",
          hint: "Give more digits; `sealift list --json` shows whole ids.")
      }
      guard let one = matching.first else { throw nothing(named: prefix, histories) }
      found = one
    case .latest(let database):
      guard let newest = matching.max(by: { $0.manifest.order < $1.manifest.order }) else {
        throw nothing(named: database.map { "\($0):latest" } ?? "latest", histories)
      }
      found = newest
    case .notLater(let database, _):
      guard let newest = matching.max(by: { $0.manifest.order < $1.manifest.order }) else {
        throw nothing(named: "\(database)@…", histories)
      }
      found = newest
    }
    try await freshness(of: found.history)
    noteSeen(found.history)
    return found
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
  /// By time, then by place in the chain.
  fileprivate var order: (UInt64, UInt64) { (core?.time ?? 0, core?.sequence ?? 0) }
}
