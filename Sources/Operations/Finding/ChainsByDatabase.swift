import Repositories
import Sealing
import Storage

/// The chains at a target by database and host, each read from its end. What was forgotten of them, which is much more, is
/// read of those databases only that a version is chosen of.
struct ChainsByDatabase {
  struct Database {
    let host: String
    let name: String
    /// The ends of its chains: more than one when it was pushed under several fork numbers.
    var chains: [(listing: ChainListing, end: ChainHistory)]
  }

  /// Where nothing is there. Whoever deleted all manifests left every pack, and a prune would take those, too.
  static let wayToVersions =
    "Push a database there first. If there were versions, the objects below versions/ are gone: bring them back from"
    + " the target's own versions or trash (Docs/Stores.md) before anything is pruned."

  let repository: Repository
  /// By name, then host.
  private(set) var databases: [Database] = []
  /// Chains of which nothing can be read that says whose they are.
  private(set) var nameless: [RepositoryError] = []
  /// Chains that this machine had seen there when they were listed, and which were not shown.
  private let gone: [VanishedChain]
  private let records: RecordListings
  /// This machine's name, or why it cannot be had.
  let ownHost: String?
  let unnamed: OperationError?
  private let shown: [ChainID]
  private let times: StorageTimes
  private let reporter: any Reporter
  /// Of what this machine has seen.
  private let seen: StateFolder
  private let marks: SeenMarks
  private let lost: LostMemory
  let fresh: StateFolder

  /// - Parameters:
  ///   - isReading: nothing will be noted there.
  ///   - keepsPlace: see `TargetAccess.open`.
  init(
    at target: TargetAccess, _ world: World, fresh: World, isReading: Bool = false, keepsPlace: Bool = false
  ) async throws {
    // Where nothing can be written, the outcome of a drill is not noted; what this machine has seen there counts all the same.
    let repository = try await target.open(
      with: try await target.unlock(), world, lackingConfiguration: true, isReading: isReading, keepsPlace: keepsPlace)
    let seen = StateFolder(reading: world.stateFolder, repository: repository.id)
    let state = StateFolder(reading: fresh.stateFolder, repository: repository.id)
    let listed = try await target.store.list(prefix: Layout.versions)
    let listings = ChainListing.byChain(listed)
    let records = RecordListings(repository.store)
    let ends = try await repository.atEnds(of: listings) { listing in
      try await repository.end(
        of: listing, state: state, records: records, isEnough: { _ in true }, concerns: { _ in false })
    }
    self.repository = repository
    self.records = records
    self.seen = seen
    marks = SeenMarks(in: seen, of: target.name, isProved: repository.isPlaceProved, world.reporter)
    lost = LostMemory(of: target.name, world.reporter)
    self.fresh = state
    (ownHost, unnamed) = HostName.asked(world)
    shown = listings.map(\.chain)
    times = StorageTimes(listed, of: target.store, now: world.now())
    reporter = world.reporter
    gone = seen.vanished(shown: listings.map(\.chain))
    for (listing, end) in zip(listings, ends) { add(listing, end) }
    databases.sort { ($0.name, $0.host) < ($1.name, $1.host) }
  }

  private mutating func add(_ listing: ChainListing, _ end: ChainHistory) {
    guard let version = end.versions.last(where: { $0.version != nil })?.version else {
      // A push that was cut leaves partial manifests alone: that is no version, and no damage.
      if !end.unreadable.isEmpty { nameless += end.problems.prefix(1) }
      return
    }
    let known = databases.firstIndex {
      version.host.isSameName(as: $0.host) && version.database.isSameName(as: $0.name)
    }
    if let known {
      databases[known].chains.append((listing, end))
    } else {
      databases.append(Database(host: version.host, name: version.database, chains: [(listing, end)]))
    }
  }

  /// Whether this machine has a mark of every chain of these databases: then nothing newer of them can have been taken
  /// away unnoticed. Where nothing says whose a chain is, it may be theirs.
  func isFreshnessProvable(of meant: [Database]) -> Bool {
    marks.hold(meant.isEmpty || !nameless.isEmpty ? shown : meant.flatMap { $0.chains.map(\.listing.chain) })
  }

  /// Takes the listings of what was forgotten of these databases. Who drills them chooses versions one after the other,
  /// the last ones maybe hours later: what was forgotten by then may be so for a version that is not listed here. Of many
  /// databases, those of all are listed at once.
  func prepare(for databases: [Database]) async throws {
    try await records.take(databases.flatMap { $0.chains.map(\.listing.chain) }, of: shown.count)
  }

  /// Each chain read from its end to a version that was not forgotten, and the last of those; nothing that was seen is gone.
  func read(_ database: Database) async throws -> (whole: Database, newest: VersionLookup.Found?) {
    try await records.relying { _ in
      let whole = try await withForgotten(database)
      let newest = try await last(of: whole)
      try await demandFresh(whole, newest: newest?.history.chain)
      return (whole: whole, newest: newest)
    }
  }

  /// Each chain read from its end to a version that was not forgotten.
  private func withForgotten(_ database: Database) async throws -> Database {
    var database = database
    for (index, chain) in database.chains.enumerated() {
      database.chains[index].end = try await repository.end(
        of: chain.listing, state: fresh, records: records, isEnough: { _ in true })
    }
    return database
  }

  /// Chains that this machine has seen there, and which are not shown any more.
  var vanished: [RepositoryError] { gone.map(\.problem) }

  /// The same, of one database.
  func vanished(_ database: ChainOwner) -> [RepositoryError] {
    guard !gone.isEmpty else { return [] }
    let wanted = WantedChains(of: [database], repository.keys.keyring)
    return gone.filter { $0.isAmong(wanted) }.map(\.problem)
  }

  /// The same, of any host's databases of that name, for who does not know which host this one is.
  func vanished(named database: String) -> [RepositoryError] {
    gone.filter { $0.mayBe(of: database) }.map(\.problem)
  }

  /// Nothing this machine has seen of the database is gone, neither of the chains that are shown nor of others: of another
  /// fork, that is.
  /// - Parameter newest: the chain of its newest version.
  private func demandFresh(_ database: Database, newest: ChainID?) async throws {
    if let gone = vanished(ChainOwner(host: database.host, database: database.name)).first { throw gone }
    for chain in database.chains {
      let (listing, end) = chain
      lost.tellFlaw(ofMarkOf: listing.chain, in: seen)
      try await lost.demandTakenBack(of: listing.chain, records, in: seen)
      if newest.map({ $0 == listing.chain }) ?? true {
        try await repository.checkFreshness(of: listing, history: end, state: seen, isReading: true)
      } else {
        try await repository.checkFreshness(ofLeft: listing, history: end, state: seen, isReading: true) {
          try await whole(listing)
        }
      }
    }
  }

  /// The last version that was not forgotten.
  private func last(of database: Database) async throws -> VersionLookup.Found? {
    let newest = database.chains.compactMap { chain in
      chain.end.newestCounting.map { VersionLookup.Found(facts: $0, history: chain.end) }
    }
    return try await times.last(of: newest) { end in
      guard let chain = database.chains.first(where: { $0.listing.chain == end.chain }) else { return end }
      return try await whole(chain.listing)
    }
  }

  /// The newest version that was not forgotten; nothing older is passed off as that.
  /// - Parameter isNoted: this machine notes that it has seen it.
  func newest(of database: Database, isNoted: Bool = false) async throws -> VersionFacts {
    let (database, found) = try await read(database)
    guard let newest = found else { throw Self.nothing(of: database) }
    for (_, end) in database.chains {
      let isTaken = end.chain == newest.history.chain
      let goesOn = end.isKnownToGoOn(behind: newest.facts, seen)
      try end.demandNothingUnread(
        behind: isTaken ? newest.facts : end.newestCounting, .latest(database: database.name), insteadOf: newest.facts,
        now: times.now, isOlder: { !isTaken && !goesOn && times.isBefore($0, newest.facts) })
    }
    let others = database.chains.compactMap { $0.end.newestCounting }
    times.tell("\(database.name):latest", is: newest.facts, besides: others, repository.keys.keyring, to: reporter)
    if isNoted { for chain in database.chains { marks.note(chain.end) } }
    return try await repository.readable(newest.facts, in: newest.history, state: fresh)
  }

  /// Why none of several hosts is taken.
  var noneIsOwn: String {
    unnamed == nil ? "none of them of this one" : "and which of them this one is cannot be told"
  }

  func whole(_ listing: ChainListing) async throws -> ChainHistory {
    try await repository.history(of: listing, state: fresh, records: records)
  }

  /// The chain of a version, read whole.
  func history(of facts: VersionFacts, _ database: Database) async throws -> ChainHistory? {
    guard let chain = database.chains.first(where: { $0.listing.chain == facts.chain }) else { return nil }
    return try await whole(chain.listing)
  }

  /// What this machine has said, or read, of versions of the same chain, and is not listed. To be asked before `words`: another
  /// command of this machine may have said it behind the first listing.
  func lostWords(of facts: VersionFacts) async -> RepositoryError? {
    do {
      try await records.demandOwnWords(of: facts.chain, state: seen)
      return nil
    } catch {
      // What else is in the way is told where words are read, and with the mark.
      return (error as? RepositoryError).flatMap { $0.code == .hole ? $0 : nil }
    }
  }

  /// What was said of a version since it was pushed; `nil` where that cannot be read.
  func words(of facts: VersionFacts) async -> Annotations? {
    guard let notes = try? await records.of(facts.chain).notes else { return nil }
    return try? await repository.annotations(of: facts.chain, listed: notes, state: fresh)
  }

  static func nothing(of database: Database) -> RepositoryError {
    RepositoryError(
      .noSuchVersion, "every version of '\(database.name)' there was forgotten",
      hint: "Push it, or take a version back with `sealift unforget`.")
  }
}
