package import Sealing
import Storage

/// Deletes of one chain what nothing needs any more: condemn, look again, delete what is still not needed
/// (`Docs/Design.md`, "Prune"). No locks, no conditional requests; any number of pushes and prunes may run beside it.
struct ChainPrune {
  /// Names in one record: two thirds of a megabyte.
  private static let namesPerRecord = 20_000

  private let repository: Repository
  private let state: StateFolder
  private let policy: PrunePolicy
  private let chain: ChainID
  private let tables: PackTables
  private let look: ChainLook

  init(_ repository: Repository, _ chain: ChainID, _ policy: PrunePolicy, _ state: StateFolder) {
    self.repository = repository
    self.chain = chain
    self.policy = policy
    self.state = state
    tables = PackTables(repository, state: state)
    look = ChainLook(repository, chain, state, tables, policy)
  }

  /// - Returns: `nil` when the chain has no version: what lies there may belong to a push that is about to make the first.
  /// - Throws: what `ChainLook.view` throws, and `StoreError` of a listing or a record, before anything was condemned or
  ///   deleted; what comes after that is in the outcome (`PrunedChain.cut`).
  func run() async throws -> PrunedChain? {
    let firstBegan = policy.now()
    let first = try await look.view()
    guard first.newest != nil else { return nil }
    if let newest = first.newestCounting { _ = HighWaterMark(newest).raise(chain, in: state) }
    let candidates = candidates(in: first)
    if policy.dryRun { return try await forecast(first, candidates, at: firstBegan) }

    var outcome = PrunedChain(first)
    outcome.waitsForVersion = .init(waitingForVersion(in: first, at: firstBegan))
    outcome.young = .init(young(in: first))
    outcome.waiting = .init(unwanted(in: first, allCondemned(in: first)))
    noteSeen(first.condemned.map(\.name.digest), in: first)
    do {
      let own = try await condemn(candidates, &outcome)
      noteSeen(own, in: first)
      let mayDelete = !own.isEmpty && !policy.twoRuns || !unwanted(in: first, ripe(in: first, at: firstBegan)).isEmpty
      guard mayDelete else { return outcome }
      let secondBegan = policy.now()
      let second = try await look.view()
      try second.checkContinues(first)
      guard own.isSubset(of: Set(second.condemned.map(\.name.digest))) else { throw late() }
      try await sweep(second, named: ripe(in: second, at: secondBegan), &outcome)
    } catch let error where outcome.condemned + outcome.freed != .init() {
      // Neither a signal nor a target that went away hides what was done until then, nor does a doubt of the second look.
      outcome.cut = error
    }
    return outcome
  }

  // MARK: what may go

  /// Dead manifests, and packs that no live one needs and that are not too young, as far as no record names them yet.
  ///
  /// A record names what it condemns by hash alone, and whoever may write to the target names an object as he likes: one
  /// that is called like another which is alive is left lying.
  ///
  /// No packs while the newest version is not safe: a prune was in the way of its push, which is storing it anew. So a push
  /// comes to an end however many prunes run, at the latest with the third try: those that began after its first manifest
  /// leave it alone.
  private func candidates(in view: ChainView) -> [ObjectInfo] {
    // A record of a clock that ran ahead is not ripe for years: what it names is named again.
    let latest = policy.now().addingReportingOverflow(policy.pause)
    let condemned = names(in: view) { latest.overflow || $0.time <= latest.partialValue }
    let taken = Set(view.packs.keys).union(view.live.manifests)
    let manifests = view.deadManifests.filter { !$0.isAmong(condemned) && !$0.isAmong(taken) }
    let described = Set(view.manifests.map(\.digest))
    let packs = view.packs.filter { name, info in
      !condemned.contains(name) && !view.live.packs.contains(name) && !described.contains(name) && isOld(info)
    }
    return manifests + (view.live.newestIsSafe ? packs.values.sorted { $0.name < $1.name } : [])
  }

  /// Packs that nothing needs, and that no record names because of their age.
  private func young(in view: ChainView) -> [ObjectInfo] {
    let condemned = allCondemned(in: view)
    let young = view.packs.filter { name, info in
      !isOld(info) && !view.live.packs.contains(name) && !condemned.contains(name)
    }
    return Array(young.values)
  }

  private func isOld(_ info: ObjectInfo) -> Bool {
    let now = policy.now()
    // A pack of a time that has not come would be young for years.
    guard policy.minAge > 0, let stored = info.stored, !PrunePolicy.isAhead(stored, of: now) else { return true }
    let (age, isBeyond) = Int(clamping: now / 1000).subtractingReportingOverflow(stored)
    // A folder says what somebody has set: a time as long ago as that is old.
    return isBeyond || age >= Int(clamping: policy.minAge / 1000)
  }

  /// The names that may be deleted in this run: those of every record that was there before the listing of manifests
  /// began, for who writes a manifest that it missed sees that record. Where listings may be late: of records of a day
  /// ago, after which a version was completed.
  /// - Parameter now: when the look began: a machine may sleep for days between two listings of it.
  private func ripe(in view: ChainView, at now: UInt64) -> NameSet {
    let newest = view.newest?.version?.time ?? 0
    let seen = SeenRecords(of: chain, in: state)
    return names(in: view) { named in
      guard policy.twoRuns else { return true }
      return named.time < newest && isLongAgo(named.time, now) && hasRested(named, in: view, seen, now)
    }
  }

  /// What no run will delete before there is a version behind the records that name it, though for a week none has come:
  /// it may be that nobody pushes to this chain any more, and then it waits for ever.
  private func waitingForVersion(in view: ChainView, at now: UInt64) -> [ObjectInfo] {
    guard policy.twoRuns else { return [] }
    let newest = view.newest?.version?.time ?? 0
    let waiting = names(in: view) { named in
      named.time >= newest && now >= named.time && now - named.time >= PrunePolicy.quietWeek
    }
    let overtaken = names(in: view) { $0.time < newest }
    return unwanted(in: view, waiting).filter { !$0.isAmong(overtaken) }
  }

  private func isLongAgo(_ time: UInt64, _ now: UInt64) -> Bool { now >= time && now - time >= policy.pause }

  /// Whether the pause has gone by on a clock that did not write the record's time: the store's own, or else this
  /// machine's since it saw the record first. The one that wrote it may have been years behind.
  private func hasRested(_ named: CondemnedNames, in view: ChainView, _ seen: SeenRecords, _ now: UInt64) -> Bool {
    if let stored = named.stored, !PrunePolicy.isAhead(stored, of: now), let latest = view.storeTime(at: now) {
      let (passed, isNonsense) = latest.subtractingReportingOverflow(stored)
      return !isNonsense && passed >= Int(clamping: policy.pause / 1000)
    }
    return seen[named.name.digest].map { isLongAgo($0, now) } ?? false
  }

  /// Nothing is noted by a clock that is behind the newest version: it has been set wrong.
  private func noteSeen(_ records: some Sequence<Digest>, in view: ChainView) {
    let now = policy.now()
    guard policy.twoRuns, now >= view.newest?.version?.time ?? 0 else { return }
    var seen = SeenRecords(of: chain, in: state)
    seen.note(records, at: now)
  }

  private func allCondemned(in view: ChainView) -> NameSet { names(in: view) { _ in true } }

  private func names(in view: ChainView, ofRecordsWhere isMeant: (CondemnedNames) -> Bool) -> NameSet {
    NameSet(joining: view.condemned.filter(isMeant).map(\.names))
  }

  /// What these names stand for, as far as it is there and nothing alive needs it.
  private func unwanted(in view: ChainView, _ names: NameSet) -> [ObjectInfo] {
    view.deadManifests.filter { $0.isAmong(names) }
      + view.packs.filter { names.contains($0.key) && !view.live.packs.contains($0.key) }.map(\.value)
  }

  // MARK: condemning

  /// Stores the records one by one, and returns when they are durable.
  /// - Parameter outcome: told of each, so that one which cannot be stored does not hide those before it.
  /// - Returns: the names of their objects.
  private func condemn(_ objects: [ObjectInfo], _ outcome: inout PrunedChain) async throws -> Set<Digest> {
    var records: Set<Digest> = []
    for start in stride(from: 0, to: objects.count, by: Self.namesPerRecord) {
      let part = objects[start..<min(start + Self.namesPerRecord, objects.count)]
      let record = CondemnedRecord(chain: chain, time: policy.now(), packs: part.compactMap(\.digest))
      let place = Layout.condemned(of: chain)
      records.insert(try await repository.putRecord(.condemned, record.encode(), below: place, state: state))
      let named = PrunedChain.Tally(part)
      outcome.condemned = outcome.condemned + named
      outcome.waiting = outcome.waiting + named
    }
    return records
  }

  private func late() -> RepositoryError {
    RepositoryError(
      .conflict, "\(repository.store.traits.location) does not list what was stored there a moment ago",
      hint: "Run `sealift doctor`, and `sealift prune --two-runs` until that is mended. Nothing was deleted.")
  }

  // MARK: deleting

  /// Manifests first, then packs that no manifest needs that is still there: whatever comes between, no manifest is left
  /// without its packs.
  private func sweep(_ view: ChainView, named: NameSet, _ outcome: inout PrunedChain) async throws {
    let answered = Locked<[ObjectInfo]>([])
    do {
      try await sweep(view, named: named, answered, &outcome)
    } catch {
      // No listing tells any more what is left: what was answered is gone.
      let gone = answered.withLock { $0 }
      dropKept(of: gone)
      let names = Set(gone.map(\.name))
      outcome.freed = .init(gone)
      outcome.waiting = .init(unwanted(in: view, allCondemned(in: view)).filter { !names.contains($0.name) })
      throw error
    }
  }

  private func sweep(
    _ view: ChainView, named: NameSet, _ answered: Locked<[ObjectInfo]>, _ outcome: inout PrunedChain
  ) async throws {
    let manifests = view.deadManifests.filter { $0.isAmong(named) }
    var refused = try await delete(manifests, answered)
    let gone = Set(manifests.filter { refused[$0.name] == nil }.compactMap(\.digest))
    let needed = try await packsNeeded(in: view, without: gone)
    let packs = view.packs.filter { named.contains($0.key) && !needed.contains($0.key) }.map(\.value)
    refused.merge(try await delete(packs, answered)) { first, _ in first }
    try await count(view, manifests + packs, refused, &outcome)
  }

  private func dropKept(of gone: [ObjectInfo]) {
    for pack in gone.compactMap({ Layout.packDigest($0.name) }) { state.drop(pack: pack) }
  }

  private func packsNeeded(in view: ChainView, without gone: Set<Digest>) async throws -> Set<Digest> {
    var needs: [PackTables.Needs] = []
    for facts in view.live.dead where !gone.contains(facts.digest) {
      do {
        needs.append(try await tables.needs(of: facts.name, listed: view.packs))
      } catch let error as StoreError where error.code == .notFound {
        // Gone after all: the answer was lost, or another prune was quicker.
        continue
      }
    }
    return view.live.packs.union(tables.names(of: needs))
  }

  /// Waits for the answer to each.
  /// - Parameter answered: those that are gone, also where something ends it.
  /// - Returns: those that the target would not or could not delete, and what it said.
  private func delete(
    _ objects: [ObjectInfo], _ answered: Locked<[ObjectInfo]>
  ) async throws -> [ObjectName: StoreError] {
    let store = repository.store
    let answers = try await bounded(objects, atOnce: store.traits.concurrency) { object -> StoreError? in
      do {
        try await store.delete(object.name)
        answered.withLock { $0.append(object) }
        return nil
      } catch let error as StoreError where error.code != .cancelled {
        return error
      }
    }
    let refused = zip(objects, answers).compactMap { object, error in error.map { (object.name, $0) } }
    return Dictionary(refused) { first, _ in first }
  }

  /// What the target shows afterwards is what counts, not what it answered.
  private func count(
    _ view: ChainView, _ deleted: [ObjectInfo], _ refused: [ObjectName: StoreError], _ outcome: inout PrunedChain
  ) async throws {
    async let versions = repository.store.list(prefix: Layout.versions(of: chain))
    async let packs = repository.store.list(prefix: Layout.packs(of: chain))
    let left = Set(try await versions.map(\.name) + packs.map(\.name))
    let gone = deleted.filter { !left.contains($0.name) }
    dropKept(of: gone)
    outcome.freed = .init(gone)
    outcome.retained = .init(deleted.filter { left.contains($0.name) })
    let errors = refused.filter { left.contains($0.key) }.map(\.value)
    outcome.retainedBecause = errors.first { $0.code == .forbidden }
    outcome.failures = errors.filter { $0.code != .forbidden }
    let tried = Set(deleted.map(\.name))
    let others = unwanted(in: view, allCondemned(in: view)).filter { !tried.contains($0.name) }
    outcome.waiting = .init(others.filter { left.contains($0.name) })
  }

  // MARK: saying it only

  private func forecast(
    _ view: ChainView, _ candidates: [ObjectInfo], at began: UInt64
  ) async throws -> PrunedChain {
    var outcome = PrunedChain(view)
    outcome.condemned = .init(candidates)
    outcome.waitsForVersion = .init(waitingForVersion(in: view, at: began))
    outcome.young = .init(young(in: view))
    let all = unwanted(in: view, allCondemned(in: view))
    let ripe = ripe(in: view, at: began)
    let now = all.filter { $0.isAmong(ripe) } + (policy.twoRuns ? [] : candidates)
    outcome.freed = .init(now)
    let freed = Set(now.map(\.name))
    outcome.waiting = .init((all + candidates).filter { !freed.contains($0.name) })
    return outcome
  }
}

extension ChainView {
  /// The objects of manifests that count no more.
  fileprivate var deadManifests: [ObjectInfo] {
    (live.dead.map(\.name) + ruined).map { ObjectInfo(name: $0.objectName, size: $0.length) }
  }
}

extension ObjectInfo {
  /// The hash that ends the name of a pack or a manifest.
  fileprivate var digest: Digest? { name.lastComponent.split(separator: "-").last.flatMap(Layout.digest) }

  fileprivate func isAmong(_ names: Set<Digest>) -> Bool { digest.map { names.contains($0) } ?? false }

  fileprivate func isAmong(_ names: NameSet) -> Bool { digest.map { names.contains($0) } ?? false }
}

extension Repository {
  /// Deletes of a chain what nothing needs any more.
  /// - Returns: `nil` when the chain has no version yet. What ended it in the middle is in what is returned
  ///   (`PrunedChain.cut`).
  /// - Throws: `RepositoryError` `.damaged`, `.hole`, `.forked`, `.rolledBack`, `.incomplete` when there is a doubt, and
  ///   then nothing was condemned or deleted; `SealError`; `StoreError`.
  package func prune(_ chain: ChainID, _ policy: PrunePolicy, state: StateFolder) async throws -> PrunedChain? {
    try await ChainPrune(self, chain, policy, state).run()
  }
}
