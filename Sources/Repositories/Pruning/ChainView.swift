import Sealing
import Storage

/// What one complete look at a chain showed: every object of it that matters to a prune, read, authentic, and fitting
/// together. There is no view with a doubt in it: looking throws instead.
struct ChainView: Sendable {
  let chain: ChainID
  /// All that are whole objects, partial ones included, by sequence and revision.
  let manifests: [VersionFacts]
  /// Manifests that cannot be read, or were cut, of versions that were forgotten.
  let ruined: [VersionName]
  /// Those at forgotten places that may be of another version than was forgotten: they stay.
  let doubted: [VersionName]
  let forgotten: Forgotten
  let annotations: Annotations
  /// The records that were there before the manifests were listed.
  let condemned: [CondemnedNames]
  /// All packs that are listed, wanted or not.
  let packs: [Digest: ObjectInfo]
  /// Tombstones, annotations and condemned records: nobody ever deletes one.
  let records: Set<ObjectName>
  let live: LiveSet
  /// Packs that a version needs whose manifest can be read, alive or not; `nil` where nothing hangs on it. Where a manifest
  /// was cut, or cannot be read and a later revision stands in for it, it may have been another version's, and then packs
  /// that nobody claims are that one's.
  let claimed: Set<Digest>?
  /// Ids of versions that rested for long enough a week ago by this machine's clock, and still do by the store's.
  let unproved: Set<Digest>
  /// When what was listed by the time the manifests were was stored, in seconds since 1970 by the store's own clock, the
  /// latest first; empty where it does not tell. What is listed behind them may be days younger: a machine sleeps.
  let storeTimes: [Int]

  var newest: VersionFacts? { manifests.last { $0.isComplete } }
  /// The newest version that was not forgotten.
  var newestCounting: VersionFacts? { manifests.last { $0.isComplete && !forgotten.contains($0) } }

  func isClaimed(_ pack: Digest) -> Bool { claimed?.contains(pack) ?? true }

  /// What the store's clock said at least; `nil` where it does not tell, or nothing that can be believed.
  func storeTime(at now: UInt64) -> Int? { storeTimes.first { !PrunePolicy.isAhead($0, of: now) } }

  /// Refuses a second look that shows less than the first, where nothing explains it.
  /// - Throws: `.rolledBack`.
  func checkContinues(_ first: ChainView) throws(RepositoryError) {
    if let gone = first.records.first(where: { !records.contains($0) }) { throw vanished("\(gone)") }
    let listed = Set(manifests.map(\.digest))
    for facts in first.manifests where first.live.manifests.contains(facts.digest) && !listed.contains(facts.digest) {
      guard isExplained(facts) else { throw vanished("\(facts.name.objectName)") }
    }
  }

  /// Whether another prune may have deleted a manifest that counted a moment ago.
  private func isExplained(_ facts: VersionFacts) -> Bool {
    guard facts.isComplete else { return facts.sequence <= newest?.sequence ?? 0 }
    if forgotten.contains(facts), !annotations.isPinned(facts) { return true }
    return manifests.contains { other in
      other.id == facts.id && other.sequence == facts.sequence && other.revision > facts.revision
        && live.manifests.contains(other.digest)
    }
  }

  private func vanished(_ name: String) -> RepositoryError {
    RepositoryError(
      .rolledBack, "the target showed \(name) a moment ago and does not list it any more",
      hint: "Its listings cannot be relied on: run `sealift doctor`. What was condemned stays until a later prune.")
  }
}

/// Looks at a chain, with all the doubts that a prune may have.
struct ChainLook: Sendable {
  /// A prune that runs beside this one looks like a loss while its deletions go on: then it is looked again.
  private static let tries = 3

  private let repository: Repository
  private let chain: ChainID
  private let state: StateFolder
  private let tables: PackTables
  private let policy: PrunePolicy

  init(
    _ repository: Repository, _ chain: ChainID, _ state: StateFolder, _ tables: PackTables, _ policy: PrunePolicy
  ) {
    self.repository = repository
    self.chain = chain
    self.state = state
    self.tables = tables
    self.policy = policy
  }

  /// - Throws: `RepositoryError` `.damaged`, `.hole`, `.forked`, `.rolledBack`, `.incomplete`, `.conflict` when the listing
  ///   is late; `SealError`; `StoreError`.
  func view() async throws -> ChainView {
    let passing: [RepositoryError.Code] = [.hole, .incomplete, .damaged, .rolledBack, .conflict]
    for _ in 1..<Self.tries {
      do {
        return try await once()
      } catch let error as RepositoryError where passing.contains(error.code) {
        continue
      } catch let error as StoreError where error.code == .notFound {
        continue
      }
    }
    return try await once()
  }

  private func once() async throws -> ChainView {
    // Condemned records before manifests: a manifest that the second listing misses came after every record of the first,
    // so whoever wrote it sees them.
    let condemned = try await repository.condemnedInBrief(of: chain, state: state)
    async let versionList = repository.store.list(prefix: Layout.versions(of: chain))
    async let tombstoneList = repository.store.list(prefix: Layout.tombstones(of: chain))
    async let noteList = repository.store.list(prefix: Layout.annotations(of: chain))
    let (versions, tombstones, notes) = try await (versionList, tombstoneList, noteList)
    // Condemned records once more, behind the manifests: a revision that one of them touches does not stand in for the
    // ones below it, and who condemned it after the first listing may have missed it.
    let touched = try await repository.condemnedInBrief(of: chain, state: state, known: condemned)
    // Packs last: those of a version that has just been completed are there.
    let packs = try await packList()

    let listing = ChainListing(chain: chain, objects: versions)
    let source = FactsSource(repository, chain, state)
    let read = try await source.read(listing.versions, keep: false)
    let annotations = try await repository.everyAnnotation(
      of: chain, listed: RecordListing(objects: notes), state: state)
    let forgotten = try await repository.forgotten(
      of: chain, tombstones: RecordListing(objects: tombstones), notes: RecordListing(objects: notes), state: state)
    let (manifests, certain, left, doubted) = try manifests(read, cut: listing.cut(versions), forgotten, annotations)
    try HighWaterMark.demandReadable(chain, in: state)
    let mark = try HighWaterMark.read(chain, in: state)
    do throws(RepositoryError) {
      try demandPresent(annotations.unforgetting, in: manifests, forgotten)
      try ChainProof(chain, manifests, forgotten.ranges).check(against: mark, in: state)
    } catch {
      if error.code == .rolledBack, let mark {
        try await Freshness.demandNotThere(mark, unlistedIn: listing, repository, state)
      }
      throw forgotten.judged(error)
    }
    try demandStanding(mark, manifests, forgotten)
    let named = NameSet(joining: touched.map(\.names))
    // A tombstone and a pin may have crossed: what is pinned stays, so that it has to be there.
    func mayGo(_ facts: VersionFacts) -> Bool { forgotten.contains(facts) && !annotations.isPinned(facts) }
    source.replace(by: read, of: listing) { mayGo($0) || named.contains($0.digest) }
    let words = try OwnWords(of: chain, in: state)
    let own = manifests.filter { words.manifests[$0.digest] != nil }
    let missing = source.unlisted(in: listing).filter { facts in
      !mayGo(facts) && !own.contains { $0.id == facts.id && $0.revision >= facts.revision }
    }
    try demandKnown(Set(words.manifests.keys).union(missing.map(\.digest)), in: listing, named, words)
    try words.demandAll(among: RecordListing(objects: notes))
    words.forget(manifests: words.manifests.keys.filter { named.contains($0) })
    let times = (versions + tombstones + notes).compactMap(\.stored) + condemned.compactMap(\.stored)
    let place = Layout.tombstones(of: chain)
    // What was not forgotten for long enough counts as any other version, whoever condemned what of it.
    let rested = policy.rested(forgotten, by: tombstones, below: place, at: policy.timeOfBoth(times))
    var live = try await LiveSet(
      manifests, rested, of: forgotten, annotations, condemned: named, packs: packs, tables: tables,
      atOnce: repository.store.traits.concurrency)
    let claimed = left.isEmpty && doubted.isEmpty ? nil : try await claims(of: manifests, packs)
    let places = Set(left.map(\.sequence))
    live.spare { !$0.isComplete && places.contains($0.sequence) }
    // What is doubted stays whether packs are left over or not: what a small push stores has no pack. What can be read there
    // stays as well: without it, what cannot would pass for the version that was forgotten.
    let uncertain = Set(doubted.map(\.sequence))
    live.spare { uncertain.contains($0.sequence) }
    let weekAgo = Int(clamping: policy.now() / 1000) - Int(PrunePolicy.quietWeek / 1000)
    let restedHere = policy.rested(forgotten, by: tombstones, below: place, at: weekAgo)
    return ChainView(
      chain: chain, manifests: manifests, ruined: certain.filter { rested.isGivenUp($0.sequence) },
      doubted: doubted.filter { rested.isGivenUp($0.sequence) }, forgotten: forgotten, annotations: annotations,
      condemned: condemned, packs: packs,
      records: Set((tombstones + notes).map(\.name) + condemned.map(\.name.objectName)), live: live,
      claimed: claimed,
      unproved: Set(manifests.filter { live.resting.contains($0.digest) && restedHere.contains($0) }.map(\.id)),
      storeTimes: times.sorted(by: >))
  }

  /// - Throws: for the first that cannot be read: what it needs is not known. But where all that stood at its place was
  ///   forgotten, and not pinned, and the chain goes on, nobody needs that, and it goes then. Where a later revision of its
  ///   version can be read, that one tells what the version needs, and this one is left as it is. So is what was cut, and it
  ///   is in nobody's way: it may be of a push that never ended, or have been whole once.
  /// - Returns: also those that were left; and those at forgotten places that may be of another version than was forgotten.
  private func manifests(
    _ read: [ReadFacts], cut: [VersionName], _ forgotten: Forgotten, _ annotations: Annotations
  ) throws -> (facts: [VersionFacts], ruined: [VersionName], left: [VersionName], doubted: [VersionName]) {
    let facts = read.compactMap { try? $0.result.get() }
    let newest = facts.filter(\.isComplete).map(\.sequence).max() ?? 0
    func isGivenUp(_ name: VersionName) -> Bool {
      name.sequence < newest && forgotten.isGivenUp(name.sequence)
        && !annotations.pinnedPlaces.contains(name.sequence)
    }
    let replaced = ReplacedRevisions(read)
    var ruined = cut.filter(isGivenUp)
    var left = cut.filter { !isGivenUp($0) }
    for (name, result) in read {
      guard case .failure(let problem) = result else { continue }
      if isGivenUp(name) {
        ruined.append(name)
      } else if replaced.contains(name) {
        left.append(name)
      } else {
        throw problem
      }
    }
    let ascending = facts.sorted { ($0.sequence, $0.revision, $0.digest) < ($1.sequence, $1.revision, $1.digest) }
    let broken = cut + read.compactMap { name, result in (try? result.get()) == nil ? name : nil }
    let doubts = DoubtedManifests(broken, among: facts, forgotten)
    return (ascending, ruined.filter { !doubts.contains($0) }, left, ruined.filter { doubts.contains($0) })
  }

  /// All packs that these versions need, as far as that can be read at the target. Not what partial manifests list: they
  /// may be of the very push whose manifest cannot be read.
  private func claims(of manifests: [VersionFacts], _ packs: [Digest: ObjectInfo]) async throws -> Set<Digest> {
    let needs = try await bounded(
      manifests.filter(\.isComplete), atOnce: repository.store.traits.concurrency,
      within: Repository.manifestBytesAtOnce, of: { $0.length }
    ) { [tables] facts -> PackTables.Needs? in
      do {
        return try await tables.needs(of: facts.name, listed: packs)
      } catch let error where error.isDamage || (error as? StoreError)?.code == .notFound {
        return nil
      }
    }
    return tables.names(of: needs.compactMap { $0 })
  }

  /// The absence of a version that was taken back is explained by no tombstone, unless it was forgotten once more.
  /// - Throws: `.hole`.
  private func demandPresent(
    _ unforgetting: [(name: RecordName, annotation: Annotation)], in manifests: [VersionFacts], _ forgotten: Forgotten
  ) throws(RepositoryError) {
    let ids = Set(manifests.filter(\.isComplete).map(\.id))
    let lost = unforgetting.first { _, version in
      !ids.contains(version.coreHash) && forgotten.tombstones(covering: version.sequence, version.coreHash).isEmpty
    }
    guard let lost else { return }
    throw RepositoryError(
      .hole,
      "version \(lost.annotation.sequence) of chain \(chain.hex.prefix(12)) is missing, and it was taken back from being forgotten",
      hint:
        "The listing was short, or a prune was quicker than `sealift unforget`. Nothing was deleted; if it is gone for good, `sealift forget --lost` (of other hosts' databases with --all-hosts) gives it up."
    )
  }

  /// Nothing is forgotten unless a newer version stays: where none stands at the place that this machine has seen, nor
  /// behind it, one was taken away, and what was forgotten for it may be all that is left.
  private func demandStanding(_ mark: HighWaterMark?, _ manifests: [VersionFacts], _ forgotten: Forgotten) throws {
    let stands = manifests.contains { facts in
      facts.isComplete && facts.sequence >= mark?.sequence ?? 0 && !forgotten.contains(facts)
    }
    guard let mark, !stands, !manifests.isEmpty else { return }
    throw RepositoryError(
      .rolledBack,
      "of chain \(chain.hex.prefix(12))\(mark.whose) this machine has seen version \(mark.sequence), and all that the target shows from there on was forgotten",
      hint:
        "A newer version was deleted there, or the listing was short. Nothing was deleted. \(RepositoryError.findOutAndRepair) To accept the loss: \(HighWaterMark.acceptance(of: chain, in: state))"
    )
  }

  /// A manifest that this machine knows, and that no tombstone and no later repair of its own explains, is either listed
  /// or named by a record: a prune that deletes one stores its record first, and records stay for ever. Without it a lower
  /// revision, which may be damaged, would pass for the version.
  private func demandKnown(
    _ manifests: Set<Digest>, in listing: ChainListing, _ condemned: NameSet, _ words: OwnWords
  ) throws {
    let absent = manifests.subtracting(listing.versions.map(\.digest)).filter { !condemned.contains($0) }
    guard let lost = absent.min(by: { $0.hex < $1.hex }) else { return }
    let files = ["\(state.path)/\(chain.hex)/versions"] + [words.path(lost)].compactMap { $0 }
    throw RepositoryError(
      .hole,
      "a manifest of chain \(chain.hex.prefix(12)) that this machine has seen (\(lost.hex.prefix(12))) is not listed, and no prune named it",
      hint:
        "The listing was short, or the target lost it. Nothing was deleted; run `sealift check`, and to accept the loss: rm \(files.map { "'\($0)'" }.joined(separator: " "))"
    )
  }

  private func packList() async throws -> [Digest: ObjectInfo] {
    var packs: [Digest: ObjectInfo] = [:]
    for info in try await repository.store.list(prefix: Layout.packs(of: chain)) {
      // A name of ours exactly: nothing else is ever deleted.
      guard let digest = Layout.packDigest(info.name), info.name == Layout.pack(digest, of: chain) else { continue }
      packs[digest] = info
    }
    return packs
  }
}
