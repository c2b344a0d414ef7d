import Repositories
import Sealing
import Snapshots
import Storage

/// `sealift status`: what one target holds of some databases, and whether that is as it should be. Nothing is fetched
/// but what lists need.
package struct StatusOfDatabases: Sendable {
  package enum Change: String, Sendable {
    /// The database is as it was when the newest version was pushed, by `stat` alone.
    case unchanged
    case changed
    /// Only who pushed the newest version from here can tell.
    case unknown
  }

  package struct Database: Sendable {
    package var name: String
    package var host: String
    package var newest: VersionSummary?
    /// How old the newest version is: milliseconds; `nil` where its time is far ahead of this clock, too.
    package var age: UInt64?
    package var change = Change.unknown
    /// Versions that count.
    package var versions = 0
    /// Forgotten, and not pruned yet.
    package var forgotten = 0
    /// Versions found damaged since they were pushed.
    package var foundDamaged = 0
    /// Those of them that lost companions alone: their databases are whole.
    package var losingCompanions = 0
    /// Those that count, oldest first, that a check or a drill on this machine found harmed and nothing found whole
    /// since; without those that were found damaged, which is known at the target.
    package var harmed: [VersionSummary] = []
    /// The version that was drilled last, while it is there.
    package var drilled: VersionSummary?
    /// What came of that, also where the version was forgotten or pruned since.
    package var lastDrill: LastDrill?

    /// This host is to have versions of it there. False of one that was asked for by its name alone and has none: it may
    /// be at another target.
    package var isExpected = true
    /// Versions that are gone, or cannot be read: `Outcome.problems` says which, and why.
    package var isMissed = false
    /// Of what was said of its versions not all can be read.
    var unread: RepositoryError?
    /// Other hosts with versions of a database of this name; `nil` where this host has its own chain of it.
    package var otherHosts: [String]?

    /// Nothing that a person has to look at: there is a version, and none is known to be bad.
    package var isSound: Bool {
      newest.map { !$0.damaged } ?? false && foundDamaged == 0 && failedDrill == nil && harmed.isEmpty
    }
  }

  package struct LastDrill: Sendable {
    package var version: String
    /// Milliseconds since 1970 UTC.
    package var time: UInt64
    package var passed: Bool
    /// Why it failed, or what was tried.
    package var text: String
  }

  package struct Outcome: Sendable {
    package var target: String
    package var databases: [Database] = []
    package var freshnessProvable: Bool
    package var problems: [OperationError] = []
    /// This machine's name.
    package var host = ""
    /// Other hosts with versions there; `nil` where only some databases were asked for.
    package var otherHosts: [String]?
  }

  /// A version that is so much ahead of this clock may as well be years old.
  private static let longestLead: UInt64 = 86_400_000

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Parameters:
  ///   - databases: `nil`: what this host pushed there.
  ///   - names: of that only these, also where they are not there; none stands for all.
  package func run(
    _ databases: [DatabaseSource]?, named names: [String] = [], at target: TargetAccess
  ) async throws -> Outcome {
    do {
      let lookup = try await VersionLookup(at: target, world)
      // No push goes there any more.
      try lookup.repository.demandConfiguration()
      // By a guess what is there is shown all the same, and told to be one.
      let host = lookup.host ?? world.systemName()
      let chains = databases?.map { database in
        lookup.repository.keys.keyring.chainID(host: host, database: database.name, fork: database.fork)
      }
      var outcome = Outcome(target: target.name, freshnessProvable: false)
      let all = try await lookup.histories(of: chains.map(Set.init))
      outcome.host = host
      if databases == nil, names.isEmpty {
        let hosts = Set(all.compactMap { $0.host.map { ExactName($0) } })
        outcome.otherHosts = hosts.subtracting([ExactName(host)]).sorted().map(\.text)
      }
      // Of what cannot be read nobody knows whose it is: it may be this host's.
      let histories = all.filter { history in
        databases != nil || history.isNameless
          || host.isSameName(as: history.host) && (names.isEmpty || history.database.map(names.containsName) == true)
      }
      outcome.freshnessProvable = lookup.isFreshnessProvable(among: histories)
      var missed: Set<ChainID> = []
      for history in histories {
        let problems = await self.problems(of: history, lookup)
        outcome.problems += problems.map { OperationError($0, doing: target.name) }
        if !problems.isEmpty { missed.insert(history.chain) }
      }
      let owners = Set(names.map { ChainOwner(host: host, database: $0) })
      let named = names.isEmpty ? nil : WantedChains(of: owners, lookup.repository.keys.keyring)
      let wanted = chains.map { WantedChains(Set($0)) } ?? named
      let shown = lookup.listings.map(\.chain)
      let vanished = lookup.state.vanished(shown: shown).filter { wanted.map($0.isAmong) ?? true }
      outcome.problems += vanished.map { OperationError($0.problem, doing: target.name) }
      do {
        let flaws = try await flaws(of: histories, lookup)
        outcome.problems += flaws.map { OperationError($0, doing: target.name) }
      } catch let error as StoreError where error.code != .cancelled && !outcome.problems.isEmpty {
        // What is wrong for certain is not hidden by what cannot be asked.
      }
      if let databases, let chains {
        let asked = zip(databases, chains).map { database, chain in
          (name: database.name, history: histories.first { $0.chain == chain })
        }
        outcome.databases = try await statuses(of: asked, host, lookup)
        for (index, database) in databases.enumerated() {
          let newest = outcome.databases[index].newest
          outcome.databases[index].change = change(of: database, host, newest, target)
          let own = WantedChains([chains[index]])
          outcome.databases[index].isMissed =
            missed.contains(chains[index]) || vanished.contains { $0.isAmong(own) }
        }
        try await nameOthers(&outcome, lacking: asked.filter { $0.history == nil }.map { $0.name }, Set(chains), lookup)
      } else {
        let found = histories.filter { !$0.isNameless }.map { history in
          (name: history.database ?? "", history: Optional(history))
        }
        outcome.databases = try await statuses(of: found, host, lookup)
        let absent = Set(names.map { ExactName($0) }).subtracting(outcome.databases.map { ExactName($0.name) })
        outcome.databases += absent.map { Database(name: $0.text, host: host, isExpected: false) }
        outcome.databases.sort { $0.name < $1.name }
        try await nameOthers(&outcome, lacking: absent.map(\.text), Set(histories.map(\.chain)), lookup)
      }
      outcome.problems += outcome.databases.compactMap(\.unread).map { OperationError($0, doing: target.name) }
      outcome.problems += outcome.databases.compactMap { clockAhead($0, at: target.name) }
      // A push says so, too, and whoever looks into its log after the night sees this first.
      let unsettled = (databases ?? []).compactMap { UnfinishedRestore(of: $0.path).shortfall(of: $0) }
      outcome.problems += unsettled
      if let unnamed = lookup.unnamed { outcome.problems.append(OperationError(unnamed, doing: target.name)) }
      return outcome
    } catch {
      throw OperationError(error, doing: "looking at \(target.name)")
    }
  }

  /// On a machine that was made anew under another name, what seems never to have been pushed is there, of the old one.
  /// - Parameter missing: databases without a chain of this host.
  private func nameOthers(
    _ outcome: inout Outcome, lacking missing: [String], _ own: Set<ChainID>, _ lookup: VersionLookup
  ) async throws {
    guard !missing.isEmpty else { return }
    let hosts = try await lookup.hosts(of: Set(missing), besides: own)
    for index in outcome.databases.indices where missing.contains(outcome.databases[index].name) {
      outcome.databases[index].otherHosts =
        (hosts[outcome.databases[index].name] ?? []).subtracting([ExactName(outcome.host)]).sorted().map(\.text)
    }
  }

  /// What is wrong with the newest version of each chain as it stands at the target: what this machine has kept of it is no
  /// backup.
  private func flaws(of histories: [ChainHistory], _ lookup: VersionLookup) async throws -> [any Error] {
    let repository = lookup.repository
    let flaws = try await bounded(
      histories, atOnce: repository.store.traits.concurrency, within: Repository.manifestBytesAtOnce,
      of: { $0.newest?.length ?? 0 }
    ) { history -> (any Error)? in
      guard let newest = history.newest else { return RepositoryError?.none }
      do {
        return try await repository.lastingFlaw(of: newest, in: history)
      } catch let error as StoreError where error.object != nil {
        // An object that the target does not give hides no other database.
        return error
      }
    }
    return flaws.compactMap { $0 }
  }

  private func problems(of history: ChainHistory, _ lookup: VersionLookup) async -> [any Error] {
    var problems: [any Error] = history.problems
    // Who reads goes on with a notice, which `-q` leaves out: only what looks after all the others can raise the alarm.
    if let lost = lookup.lostMemory(of: history) { problems.append(lost) }
    do { _ = try HarmedVersions(of: history.chain, in: lookup.state) } catch { problems.append(error) }
    do { _ = try DoubtedVersions(of: history.chain, in: lookup.state) } catch { problems.append(error) }
    do { _ = try DamagedPacks(of: history.chain, in: lookup.state) } catch { problems.append(error) }
    do {
      try await lookup.freshness(of: history)
      lookup.noteSeen(history)
    } catch {
      let isSaid = history.problems.contains { $0.message == (error as? RepositoryError)?.message }
      if !isSaid { problems.append(error) }
    }
    return problems + (await lookup.lostWords(of: history, besides: problems))
  }

  /// Whoever waits for an alarm when the newest version is too old would wait for years.
  private func clockAhead(_ database: Database, at target: String) -> OperationError? {
    guard let newest = database.newest, database.age == nil else { return nil }
    return OperationError(
      .partlyDone, code: "clockAhead",
      "the newest version of '\(database.name)' at \(target) is of \(Times.seconds(newest.time)), ahead of this clock: nobody knows how old it is",
      hint:
        "Set the clock that is wrong, this one or that of the machine that pushed. Where it was that one's, push again: of a database that has not changed with --tag or --note."
    )
  }

  /// In the same order.
  private func statuses(
    of databases: [(name: String, history: ChainHistory?)], _ host: String, _ lookup: VersionLookup
  ) async throws -> [Database] {
    try await bounded(databases, atOnce: 4) { name, history in try await status(name, host, history, lookup) }
  }

  private func status(
    _ name: String, _ host: String, _ history: ChainHistory?, _ lookup: VersionLookup
  ) async throws -> Database {
    var status = Database(name: name, host: host)
    guard let history else { return status }
    let annotations = try await lookup.annotations(of: history)
    status.unread = annotations.unread
    let all = history.all.compactMap { facts in
      var version = VersionSummary(facts, target: lookup.targetName, annotations: annotations)
      version?.forgotten = history.isForgotten(facts)
      return version
    }
    let versions = all.filter { !$0.forgotten }.sorted { ($0.sequence, $0.id) < ($1.sequence, $1.id) }
    let now = world.now()
    let newest = history.newestCounting?.id.hex
    status.newest = versions.last { $0.id == newest }
    status.age = status.newest.flatMap { age(of: $0.time, at: now) }
    status.versions = versions.count
    status.forgotten = history.all.count - versions.count
    status.foundDamaged = versions.count { $0.foundDamaged != nil }
    status.losingCompanions = versions.count { $0.losesCompanionsAlone }
    let harmedIDs = harmedIDs(of: history, lookup)
    status.harmed = versions.filter { harmedIDs.contains($0.id) && $0.foundDamaged == nil }
    if let (version, result) = annotations.lastDrill(among: history.all, now: now) {
      status.lastDrill = LastDrill(version: version.hex, time: result.time, passed: result.passed, text: result.text)
      status.drilled = all.first { $0.id == version.hex }
    }
    return status
  }

  /// What a drill could not restore is said at the target only where it may and can say it.
  private func harmedIDs(of history: ChainHistory, _ lookup: VersionLookup) -> Set<String> {
    let place = lookup.repository.place
    let harmed = try? HarmedVersions(of: history.chain, in: lookup.state, at: place)
    let doubted = try? DoubtedVersions(of: history.chain, in: lookup.state, at: place)
    let found = history.all.map(\.id).filter { version in
      harmed?.contains(version) == true || doubted?.contains(version) == true
    }
    return Set(found.map(\.hex))
  }

  private func age(of time: UInt64, at now: UInt64) -> UInt64? {
    guard time > now else { return now - time }
    return time - now > Self.longestLead ? nil : 0
  }

  private func change(
    of database: DatabaseSource, _ host: String, _ newest: VersionSummary?, _ target: TargetAccess
  ) -> Change {
    let path = SourceMemory.path(world, database, host: host, store: target.store.traits.identity)
    guard let newest, let memory = SourceMemory.read(path), memory.version.id == newest.id,
      memory.source == .init(database),
      let signature = try? SourceSignature.read(database.path)
    else { return .unknown }
    return memory.signature == signature ? .unchanged : .changed
  }
}
