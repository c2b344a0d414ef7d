import Repositories
import Sealing
import Snapshots
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
  private let marks: SeenMarks
  private let lost: LostMemory
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

  /// Every chain, read whole.
  /// - Parameter wanted: only these; `nil` is all of them.
  func histories(of wanted: Set<ChainID>? = nil) async throws -> [ChainHistory] {
    let chosen = listings.filter { wanted?.contains($0.chain) ?? true }
    try await records.take(chosen.map(\.chain), of: listings.count)
    return try await bounded(chosen, atOnce: 4) { listing in try await whole(listing) }
  }

  /// Every chain that is meant, read whole, and of each other one its end, which says whose it is: a repository may have a
  /// thousand others. Where nothing says that, it may be one that is meant.
  func histories(meaning isMeant: @escaping @Sendable (VersionFacts.Version) -> Bool) async throws -> [ChainHistory] {
    let ends = try await repository.atEnds(of: listings) { listing in
      try await repository.end(
        of: listing, state: kept, records: records, isEnough: { _ in true }, concerns: { _ in false })
    }
    let others = ends.filter { end in end.newest?.version.map { !isMeant($0) } ?? false }
    let meant = try await histories(of: Set(listings.map(\.chain)).subtracting(others.map(\.chain)))
    return (meant + others).sorted { $0.chain.hex < $1.chain.hex }
  }

  /// The hosts that have versions of databases of these names, by name. One manifest of each chain is read for it; one
  /// that cannot be had names nobody.
  /// - Parameter known: chains that are not looked at.
  func hosts(of databases: Set<String>, besides known: Set<ChainID>) async throws -> [String: Set<ExactName>] {
    let others = listings.filter { !known.contains($0.chain) }
    let newest = try await repository.atEnds(of: others) { listing -> VersionFacts.Version? in
      do {
        let end = try await repository.end(
          of: listing, state: kept, records: records, isEnough: { _ in true },
          concerns: { databases.containsName($0.version?.database ?? "") })
        return end.newestCounting?.version
      } catch let error as StoreError where error.object != nil {
        return nil
      }
    }
    let found = newest.compactMap { $0 }.filter { databases.containsName($0.database) }
    return Dictionary(grouping: found, by: \.database).mapValues { Set($0.map { ExactName($0.host) }) }
  }

  func whole(_ listing: ChainListing) async throws -> ChainHistory {
    try await repository.history(of: listing, state: kept, records: records)
  }

  func notes(of chain: ChainID) async throws -> RecordListing { try await records.of(chain).notes }

  /// As much of every chain as the name needs. An id is most often that of a newest version, which one manifest of each
  /// chain shows; else they are followed back.
  private func parts(_ selector: VersionSelector) async throws -> [ChainHistory] {
    if case .id = selector {
      let newest = try await ends(.latest(database: nil), meaning: selector)
      if newest.contains(where: { $0.newest.map(selector.matches) ?? false }) { return newest }
    }
    return try await ends(selector, meaning: selector)
  }

  /// Every chain, read from its end until a version answers to the name.
  /// - Parameter meant: of the chains that it names is read what was forgotten; a repository may have a thousand others.
  private func ends(_ selector: VersionSelector, meaning meant: VersionSelector) async throws -> [ChainHistory] {
    if meant == .latest(database: nil) { try await records.take(listings.map(\.chain), of: listings.count) }
    return try await repository.atEnds(of: listings) { listing in
      try await repository.end(
        of: listing, state: kept, records: records,
        isEnough: { selector.isSettled(by: $0, now: now) }, concerns: { meant.concerns($0) })
    }
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

  /// What was asked for may have a newer version in another chain: of another fork, or, for `latest` alone, of any
  /// database. One that this machine has seen may not be gone, nor be less than it was, nor miss a word of this machine's
  /// that a version counts again. A chain where two machines pushed
  /// as one was left by both, as they were told.
  private func demandSiblings(of found: Found, _ selector: VersionSelector, _ histories: [ChainHistory]) async throws {
    guard let version = found.facts.version else { return }
    // Another host's is found also where this host's own is hidden.
    let owners = [ChainOwner(version)] + ownChains(of: version.database)
    let siblings = WantedChains(of: Set(owners), repository.keys.keyring)
    let wanted = selector == .latest(database: nil) ? nil : siblings
    for history in histories where history.chain != found.history.chain {
      guard history.versions.contains(where: selector.matches) || isMarked(history.chain, among: wanted),
        let listing = byChain[history.chain]
      else { continue }
      try await freshness(ofLeft: history, listing)
      // What was taken back there looks forgotten while the word for it is not listed, and may be what is meant.
      try await demandTakenBack(of: history.chain)
    }
    if let gone = vanishedChains(among: wanted).first { throw gone }
    try demandSiblingsRead(wanted, of: version, found, selector, histories)
  }

  /// Whose chains of a database are this host's own. Where nobody knows its name, any that it has seen may be.
  private func ownChains(of database: String) -> [ChainOwner] {
    if let host { return [ChainOwner(host: host, database: database)] }
    let seen = state.markedChains().compactMap { HighWaterMark.owner(of: $0, in: state) }
    return seen.filter { database.isSameName(as: $0.database) }
  }

  /// Also where nothing can be read of it that says whose it is.
  private func isMarked(_ chain: ChainID, among wanted: WantedChains?) -> Bool {
    guard let mark = try? HighWaterMark.read(chain, in: state) else { return false }
    return wanted?.contains(chain.hex, mark.owner) ?? true
  }

  /// Nor may what cannot be read be what was pushed last: to another fork, to this host's own chain while another host's is
  /// taken, or, for `latest` alone, to any database. A chain that was left long ago is no doubt: what is spoilt there is
  /// older. Which one was left first says nothing where this host's own is meant, and another host's was found, nor where
  /// this machine has seen what is newer there.
  /// - Parameter wanted: only of these chains; `nil` is all of them.
  private func demandSiblingsRead(
    _ wanted: WantedChains?, of version: VersionFacts.Version, _ found: Found, _ selector: VersionSelector,
    _ histories: [ChainHistory]
  ) throws {
    let rivals = wanted.map { _ in WantedChains(of: [ChainOwner(version)], repository.keys.keyring) }
    for history in histories where history.chain != found.history.chain {
      let (chain, owner) = (history.chain.hex, HighWaterMark.owner(of: history.chain.hex, in: state))
      guard wanted?.contains(chain, owner) ?? true else { continue }
      let isRival = rivals?.contains(chain, owner) ?? true
      let goesOn = history.isKnownToGoOn(behind: found.facts, state)
      try history.demandNothingUnread(
        behind: history.answer(to: selector, times), selector, insteadOf: found.facts, now: now,
        isOlder: { isRival && !goesOn && times.isBefore($0, found.facts) })
    }
  }

  /// The whole manifest of what was found.
  func manifest(of found: Found) async throws -> StoredManifest {
    let facts = try await repository.readable(found.facts, in: found.history, state: kept)
    return try await repository.readManifest(facts.name, state: kept)
  }

  /// Refuses a chain that shows less than this machine has seen.
  func freshness(of history: ChainHistory) async throws {
    guard let listing = byChain[history.chain] else { return }
    lost.tellFlaw(ofMarkOf: history.chain, in: state)
    try await repository.checkFreshness(of: listing, history: history, state: state, isReading: isReading)
    try await demandTakenBack(of: history.chain)
  }

  /// The same of a chain while the version that is looked for is a later one, in another chain of the same database.
  func freshness(ofLeft history: ChainHistory, _ listing: ChainListing) async throws {
    lost.tellFlaw(ofMarkOf: history.chain, in: state)
    try await repository.checkFreshness(ofLeft: listing, history: history, state: state, isReading: isReading) {
      try await whole(listing)
    }
  }

  /// Nor may a chain miss a word of this machine's that a version counts again.
  func demandTakenBack(of chain: ChainID) async throws {
    guard isReading else { return try await records.demandTakenBack(of: chain, state: state) }
    try await lost.demandTakenBack(of: chain, records, in: state)
  }

  /// The same of a chain that two machines may have pushed to as one, for who does not ask which of the two is meant.
  func freshness(ofLeft history: ChainHistory) async throws {
    guard let listing = byChain[history.chain] else { return }
    try await freshness(ofLeft: history, listing)
    try await demandTakenBack(of: history.chain)
  }

  /// The same, for who lets go of versions: also what this machine said or read that decides which ones stay is shown.
  func demandOwnWords(of history: ChainHistory) async throws {
    try await records.demandOwnWords(of: history.chain, state: state)
  }

  func annotations(of history: ChainHistory) async throws -> Annotations {
    let notes = try await notes(of: history.chain)
    return try await repository.annotations(of: history.chain, listed: notes, state: kept)
  }

  /// The same, for who lets go of versions.
  /// - Throws: also for an annotation that cannot be read: it may be a pin.
  func everyAnnotation(of history: ChainHistory) async throws -> Annotations {
    let notes = try await notes(of: history.chain)
    return try await repository.everyAnnotation(of: history.chain, listed: notes, state: kept)
  }

  /// What this machine remembers of a chain and cannot read, for who raises an alarm. To be asked before `freshness`, which
  /// tells it as a notice else.
  func lostMemory(of history: ChainHistory) -> RepositoryError? { lost.flaw(of: history.chain, in: state) }

  /// This machine has seen the newest version of a chain that counts.
  func noteSeen(_ history: ChainHistory) { marks.note(history) }

  /// No manifest is there: nothing was pushed, or all of them are gone.
  var isBare: Bool { listings.isEmpty }

  func holdsPacks() async throws -> Bool { try await !repository.store.list(prefix: Layout.allPacks).isEmpty }

  /// Whether this machine has a mark of every chain: then nothing newer can have been taken away unnoticed.
  /// - Parameter meant: only of these, where there are any.
  func isFreshnessProvable(among meant: [ChainHistory] = []) -> Bool {
    // Nothing at all proves nothing, unless nothing was ever seen to be more.
    guard !listings.isEmpty else { return !state.markedChains().isEmpty }
    return marks.hold(meant.isEmpty ? listings.map(\.chain) : meant.map(\.chain))
  }

  /// Chains this machine has pushed to that the target does not show at all.
  /// - Parameter wanted: only of these; `nil` is all of them.
  func vanishedChains(among wanted: WantedChains? = nil) -> [RepositoryError] {
    state.vanishedChains(shown: listings.map(\.chain), wanted: wanted)
  }

  /// The same, of databases by their names, of all where there are none.
  /// - Parameters:
  ///   - isOwn: only one host's are meant.
  ///   - other: which; `nil` is this one.
  func vanishedChains(named names: [String], isOwn: Bool, of other: String? = nil) -> [RepositoryError] {
    state.vanishedChains(
      shown: listings.map(\.chain), named: names, host: other ?? host, isOwn: isOwn, repository.keys.keyring)
  }
}
