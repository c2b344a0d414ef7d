import Sealing
import Storage

/// What may go, what is too young or waits, and what a record names already.
extension ChainPrune {
  /// Dead manifests, and packs that no live one needs and that are not too young, as far as no record names them yet.
  ///
  /// A record names what it condemns by hash alone, and whoever may write to the target names an object as he likes: one
  /// that is called like another which is alive is left lying.
  ///
  /// No packs while the newest version is not safe: a prune was in the way of its push, which is storing it anew. So a push
  /// comes to an end however many prunes run, at the latest with the third try: those that began after its first manifest
  /// leave it alone.
  ///
  /// No packs that no manifest claims while one cannot be read that may have been of another version than the one whose
  /// later revision stands in for it. There a manifest waits until its packs go with it: once it was gone, nobody would claim
  /// what is too young today, and it would stay as long as the other does.
  func candidates(in view: ChainView) async throws -> [ObjectInfo] {
    // A record of a clock that ran ahead is not ripe for years: what it names is named again.
    let latest = policy.now().addingReportingOverflow(policy.pause)
    let condemned = names(in: view) { latest.overflow || $0.time <= latest.partialValue }
    let taken = Set(view.packs.keys).union(view.live.manifests)
    let manifests = view.deadManifests.filter { !$0.isAmong(condemned) && !$0.isAmong(taken) }
    let described = Set(view.manifests.map(\.digest))
    let packs = view.packs.filter { name, info in
      !condemned.contains(name) && !view.live.packs.contains(name) && !described.contains(name) && isOld(info)
        && view.isClaimed(name)
    }
    let going = view.live.newestIsSafe ? packs : [:]
    let waiting = try await claimants(in: view, besides: Set(going.keys))
    return manifests.filter { !$0.isAmong(waiting) } + going.values.sorted { $0.name < $1.name }
  }

  /// Dead manifests that claim packs which nothing needs and no record names, where nothing else would.
  /// - Parameter going: packs that are about to be named.
  private func claimants(in view: ChainView, besides going: Set<Digest>) async throws -> Set<Digest> {
    guard view.claimed != nil else { return [] }
    let condemned = allCondemned(in: view)
    let staying = Set(
      view.packs.keys.filter { !view.live.packs.contains($0) && !going.contains($0) && !condemned.contains($0) })
    guard !staying.isEmpty else { return [] }
    var claimants: Set<Digest> = []
    for facts in view.live.dead where facts.isComplete {
      do {
        let needs = try await tables.needs(of: facts.name, listed: view.packs)
        if !tables.names(of: [needs]).isDisjoint(with: staying) { claimants.insert(facts.digest) }
      } catch let error where error.isDamage || (error as? StoreError)?.code == .notFound {
        // It claims nothing that anybody knows.
        continue
      }
    }
    return claimants
  }

  /// Packs that nothing needs, and that no record names because of their age.
  func young(in view: ChainView) -> [ObjectInfo] {
    let condemned = allCondemned(in: view)
    let young = view.packs.filter { name, info in
      !isOld(info) && !view.live.packs.contains(name) && !condemned.contains(name)
    }
    return Array(young.values)
  }

  /// Packs that nothing needs, and that stay because a manifest that cannot be read may have been of a version that does.
  func unclaimed(in view: ChainView) -> [ObjectInfo] {
    let condemned = allCondemned(in: view)
    let unclaimed = view.packs.filter { name, _ in
      !view.live.packs.contains(name) && !view.isClaimed(name) && !condemned.contains(name)
    }
    return Array(unclaimed.values)
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
  func ripe(in view: ChainView, at now: UInt64) -> NameSet {
    let newest = view.newest?.version?.time ?? 0
    let seen = SeenRecords(of: chain, in: state)
    return names(in: view) { named in
      guard policy.twoRuns else { return true }
      return named.time < newest && isLongAgo(named.time, now) && hasRested(named, in: view, seen, now)
    }
  }

  /// What no run will delete before there is a version behind the records that name it, though for a week none has come:
  /// it may be that nobody pushes to this chain any more, and then it waits for ever.
  func waitingForVersion(in view: ChainView, at now: UInt64) -> [ObjectInfo] {
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
  func noteSeen(_ records: some Sequence<Digest>, in view: ChainView) {
    let now = policy.now()
    guard policy.twoRuns, now >= view.newest?.version?.time ?? 0 else { return }
    var seen = SeenRecords(of: chain, in: state)
    seen.note(records, at: now)
  }

  func allCondemned(in view: ChainView) -> NameSet { names(in: view) { _ in true } }

  private func names(in view: ChainView, ofRecordsWhere isMeant: (CondemnedNames) -> Bool) -> NameSet {
    NameSet(joining: view.condemned.filter(isMeant).map(\.names))
  }

  /// What these names stand for, as far as it is there and nothing alive needs it.
  func unwanted(in view: ChainView, _ names: NameSet) -> [ObjectInfo] {
    view.deadManifests.filter { $0.isAmong(names) }
      + view.packs.filter { names.contains($0.key) && !view.live.packs.contains($0.key) }.map(\.value)
  }
}
