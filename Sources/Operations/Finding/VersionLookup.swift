import Repositories
import Sealing
import Storage

/// Finds the version a person named, in everything a repository holds, and says whether the target can be believed.
struct VersionLookup: Sendable {
  let repository: Repository
  /// What this machine has seen there.
  let state: StateFolder
  /// Where what is read is kept: with that, unless nothing that was kept is to be believed.
  let kept: StateFolder
  let targetName: String
  /// This machine's name, or why it cannot be had.
  let host: String?
  let unnamed: OperationError?
  let now: UInt64
  let reporter: any Reporter
  let listings: [ChainListing]
  let byChain: [ChainID: ChainListing]
  let records: RecordListings
  let times: StorageTimes
  let marks: SeenMarks
  let lost: LostMemory
  /// Nothing will be written at the target.
  let isReading: Bool

  struct Found: Sendable {
    let facts: VersionFacts
    /// What was read of the chain for the lookup, from its end on.
    let history: ChainHistory
  }

  /// Opens the repository and takes the listing of all manifests, side by side. What was forgotten, and said of versions, is
  /// listed behind it, as far as chains are meant.
  /// - Parameters:
  ///   - isReading: nothing will be written there.
  ///   - keepsPlace: see `TargetAccess.open`.
  ///   - seen: the world that has seen the target, where `world` is one that has not.
  init(
    at target: TargetAccess, _ world: World, isReading: Bool = true, keepsPlace: Bool = false, seen: World? = nil
  ) async throws {
    let secret = try await target.unlock()
    async let versions = target.store.list(prefix: Layout.versions)
    let repository = try await target.open(
      with: secret, world, isReading: isReading, keepsPlace: keepsPlace, seen: seen)
    self.repository = repository
    state = StateFolder(reading: (seen ?? world).stateFolder, repository: repository.id)
    kept = StateFolder(reading: world.stateFolder, repository: repository.id)
    targetName = target.name
    (host, unnamed) = HostName.asked(seen ?? world)
    now = world.now()
    reporter = world.reporter
    times = StorageTimes(try await versions, of: target.store, now: now)
    listings = ChainListing.byChain(try await versions)
    byChain = Dictionary(listings.map { ($0.chain, $0) }) { first, _ in first }
    records = RecordListings(repository.store)
    marks = SeenMarks(in: kept, of: target.name, isProved: repository.isPlaceProved, world.reporter)
    lost = LostMemory(of: target.name, world.reporter)
    self.isReading = isReading
    kept.tidy()
  }

  /// - Parameter whole: the version's chain is to be read whole, so that its past is known.
  /// - Throws: `.noSuchVersion`; `.rolledBack` and its kin when this machine has seen more than the target shows, `.damaged`
  ///   or `.unsupported` where what is meant may be there and cannot be read, unless the version was named by its id: that
  ///   proves by itself which one it is, and nothing may stand in the way of it.
  func find(_ selector: VersionSelector, whole: Bool = false) async throws -> Found {
    try await records.relying { isOvertaken in try await findOnce(selector, whole: whole, isOvertaken) }
  }

  /// - Parameter isOvertaken: it is looked once more because of such an error.
  private func findOnce(
    _ selector: VersionSelector, whole: Bool, _ isOvertaken: (any Error) -> Bool
  ) async throws -> Found {
    let histories = try await selector.isAmbiguous ? histories() : parts(selector)
    guard case .id(let prefix) = selector else {
      let selector = try await exact(selector, among: histories)
      let found = try await read(newest(selector, in: histories), whole: whole)
      try await freshness(of: found.history)
      try found.history.demandNothingUnread(behind: found.facts, selector, insteadOf: found.facts, now: now)
      try await demandSiblings(of: found, selector, histories)
      noteSeen(found.history)
      return found
    }
    let found = try await read(named(prefix, in: histories), whole: whole)
    do {
      try await freshness(of: found.history)
      noteSeen(found.history)
    } catch let problem as RepositoryError where !isOvertaken(problem) {
      reporter.notice("\(problem.message); the version was asked for by its id")
    }
    if let unread = found.history.unread(behind: found.facts) {
      reporter.notice("there may be a newer version: manifest \(unread) of this chain cannot be read")
    }
    return found
  }

  private func read(_ found: Found, whole: Bool) async throws -> Found {
    guard whole, !found.history.isWhole, let listing = byChain[found.history.chain]
    else { return found }
    return Found(facts: found.facts, history: try await self.whole(listing))
  }

  /// The whole manifest of what was found.
  func manifest(of found: Found) async throws -> StoredManifest {
    let facts = try await repository.readable(found.facts, in: found.history, state: kept)
    return try await repository.readManifest(facts.name, state: kept)
  }

  /// No manifest is there: nothing was pushed, or all of them are gone.
  var isBare: Bool { listings.isEmpty }

  func holdsPacks() async throws -> Bool { try await !repository.store.list(prefix: Layout.allPacks).isEmpty }
}
