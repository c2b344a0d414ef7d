import FoundationEssentials
import Repositories
import Sealing
import Snapshots
import Storage

/// The repository that versions are copied to, and what is known to be there.
final class CopyDestination {
  let repository: Repository
  let state: StateFolder
  let name: String
  private let world: World
  private var there: [CopyIdentity: VersionSummary] = [:]
  /// Versions that were found at the ends of chains, whatever became of them.
  private var known: Set<Digest> = []
  private var lanes: CopyLanes
  /// Where the versions that are copied stand at their origin.
  private let origins: [CopyIdentity: CopyLanes.Origin]
  private var bases: [ChainID: BaseFolder] = [:]
  private var copies: [String: VersionFacts] = [:]
  /// What was said of them, by chain, when the run began.
  private var words: [ChainID: Annotations] = [:]
  /// So many copies were given words of their origin.
  private(set) var retold = 0
  /// Copies that are known to be no sound databases.
  private var unsound: Set<Digest> = []
  private var forgotten: ForgottenCopies
  private var hasToldOblivion = false
  let closed: ClosedChains
  /// Chains of what is copied that show less than this machine has seen, or of which that cannot be read, also where nothing
  /// is to go there.
  private(set) var closedAtOnce: [(database: String, refusal: ClosedChains.Refusal)] = []
  /// Of chains of what is copied: that what was said of versions is not listed, or cannot be read. It may be that one was
  /// found damaged, so that its copy is none.
  private(set) var lostWords: [(database: String, error: any Error)] = []

  /// - Throws: `.usage` when it is the repository that is copied from.
  init(_ target: TargetAccess, _ world: World, not origin: Repository, for plan: CopyPlan) async throws {
    let lookup = try await VersionLookup(at: target, world, isReading: false)
    guard lookup.repository.id != origin.id else {
      throw OperationError(
        .usage, code: "sameRepository", "both targets hold the same repository, \(origin.id.hex)",
        hint: "Name the target of another repository with --to; make one with `sealift init`.")
    }
    repository = lookup.repository
    state = try StateFolder(world.stateFolder, repository: repository.id)
    closed = ClosedChains(repository, state, lookup.byChain)
    name = target.name
    self.world = world
    lanes = CopyLanes(repository.keys.keyring, now: world.now())
    forgotten = ForgottenCopies(in: state)
    let known = plan.chains.flatMap { chain in
      (chain.history.versions + chain.history.displaced).compactMap { facts in
        facts.version.map { (CopyIdentity($0), CopyLanes.Origin(facts)) }
      }
    }
    origins = Dictionary(known) { first, _ in first }
    let wanted = Set(plan.chains.flatMap(\.versions).compactMap { $0.version.map(CopyIdentity.init) })
    let databases = plan.databases
    let histories = try await lookup.histories { databases.contains(ChainOwner($0)) }
    for history in histories { try await note(history, wanted, plan, lookup) }
    forgotten.judge(Set(wanted.map(\.digest)), of: databases)
    remember()
  }

  /// Takes note of what a chain holds. Every version says what may come after it; only one that can be restored, and is
  /// not about to be deleted, is there.
  private func note(
    _ history: ChainHistory, _ wanted: Set<CopyIdentity>, _ plan: CopyPlan, _ lookup: VersionLookup
  ) async throws {
    let versions = history.versions.filter { facts in
      facts.version.map { plan.databases.contains(ChainOwner($0)) } ?? false
    }
    guard let newest = versions.last else { return }
    if let refusal = try await closed.refusal(of: history.chain),
      [.rolledBack, .stateFolder].contains(refusal.problem.code)
    {
      closedAtOnce.append((newest.version?.database ?? "", refusal))
    }
    let annotations = try await annotations(of: history, newest, lookup)
    words[history.chain] = annotations
    forgotten.look(at: history, versions, annotations)
    let completeness = try await Completeness(repository, chain: history.chain, state: state, atTarget: false)
    let asked = versions.filter { facts in
      facts.digest == newest.digest || facts.version.map { wanted.contains(CopyIdentity($0)) } ?? false
    }
    let found = try await completeness.look(at: asked, in: history)
    let findings = Dictionary(zip(asked.map(\.digest), found)) { first, _ in first }
    for facts in versions {
      let finding = findings[facts.digest]
      // Only the newest may be of a push that was cut before anybody was told: then its place is free. So is that of one that
      // was found damaged, as `latest` is to be the copy that makes up for it.
      if facts.digest == newest.digest, finding != .whole || annotations.isSpoilt(facts) {
        known.insert(facts.id)
        forgotten.seeUnsound(facts)
        continue
      }
      follow(facts)
      guard let finding else { continue }
      if history.isForgotten(facts) {
        // Of one that was damaged, or lacks packs, a copy makes up: a prune leaves no manifest without its packs.
        let isSound = finding != .incomplete && !annotations.isSpoilt(facts)
        if isSound { forgotten.seeForgotten(facts) } else { forgotten.seeUnsound(facts) }
        continue
      }
      guard finding != .incomplete, !annotations.isSpoilt(facts) else {
        forgotten.seeUnsound(facts)
        continue
      }
      note(facts, words: annotations)
      if annotations.damage(of: facts) != nil { unsound.insert(facts.id) }
    }
  }

  /// What is lost of them is told, and the rest is copied. What a word that is not listed says was found damaged is held for
  /// nothing that is there (`isSpoilt`).
  private func annotations(
    of history: ChainHistory, _ newest: VersionFacts, _ lookup: VersionLookup
  ) async throws -> Annotations {
    do {
      try await lookup.demandOwnWords(of: history)
      return try await lookup.everyAnnotation(of: history)
    } catch let error where error is RepositoryError || error is SealError {
      // A state folder that nobody can read has closed the chain, and that is told.
      let isClosed = closedAtOnce.contains { $0.refusal.chain == history.chain }
      if !isClosed || (error as? RepositoryError)?.code != .stateFolder {
        lostWords.append((newest.version?.database ?? "", error))
      }
      return try await lookup.annotations(of: history)
    }
  }

  /// Whether a version was there, and was forgotten there: who copies everything does not mean it.
  func hasForgotten(_ facts: VersionFacts) -> Bool {
    facts.version.map { forgotten.contains(CopyIdentity($0)) } ?? false
  }

  /// The version that is there, if it is: neither forgotten nor found damaged, and with all its packs.
  func holds(_ facts: VersionFacts) -> VersionSummary? { facts.version.flatMap { there[CopyIdentity($0)] } }

  /// What came along is as it was: where a drill found that it is no sound database, no copy of it is one, and `forget` must not
  /// rest on it.
  func noteDamage(_ damage: String?, of copy: VersionSummary) async throws {
    guard let damage, DrillProof.isOfImage(damage), let facts = copies[copy.id], !unsound.contains(facts.id) else {
      return
    }
    let said = try await repository.annotations(of: facts.chain, state: state)
    try await repository.annotate(
      facts, [.init(.foundDamaged, damage)], now: said.time(for: facts, now: world.now()), state: state)
    unsound.insert(facts.id)
    world.reporter.notice(
      "\(name): version \(copy.id.prefix(12)) is noted as found damaged, as its origin is: \(damage)")
  }

  /// A copy that is there is given the tags and the note that its origin was given since.
  /// - Returns: the copy, as it is then; `nil` where there is nothing to say.
  func carryWords(_ said: Annotations, of version: VersionFacts) async throws -> VersionSummary? {
    guard var copy = holds(version), let facts = copies[copy.id], let known = words[facts.chain],
      !CarriedWords(of: version, said, to: facts, known).items.isEmpty
    else { return nil }
    // Somebody may have said something since.
    let now = try await repository.annotations(of: facts.chain, state: state)
    let news = CarriedWords(of: version, said, to: facts, now)
    guard !news.items.isEmpty else { return nil }
    let time = now.time(for: facts, now: max(world.now(), news.time))
    try await repository.annotate(facts, news.items, now: time, state: state)
    retold += 1
    (copy.tags, copy.note) = (news.tags, news.note)
    if let core = version.version { there[CopyIdentity(core)] = copy }
    return copy
  }

  /// A copy has come to be there. It is remembered at once: a run that is cut later has seen it all the same.
  /// - Parameter words: what was said of it since it was pushed; `nil` where that was not read.
  func add(_ facts: VersionFacts, words: Annotations?) {
    note(facts, words: words)
    forgotten.settle(facts)
    remember()
  }

  private func note(_ facts: VersionFacts, words: Annotations?) {
    guard let version = facts.version else { return }
    there[CopyIdentity(version)] = VersionSummary(facts, target: name, words: words)
    copies[facts.id.hex] = facts
    follow(facts)
    forgotten.see(facts)
  }

  private func remember() {
    guard !forgotten.write(), !hasToldOblivion else { return }
    hasToldOblivion = true
    world.reporter.notice(
      "\(name): this machine cannot remember which copies it has seen there: \(state.path) cannot be written; what is forgotten there and pruned would be copied once more"
    )
  }

  /// Takes note of a version that has come to be there since.
  /// - Returns: whether it was news.
  func learns(of facts: VersionFacts) -> Bool {
    guard !known.contains(facts.id) else { return false }
    follow(facts)
    return true
  }

  /// What is copied to its chain from now on comes after it.
  private func follow(_ facts: VersionFacts) {
    guard let version = facts.version else { return }
    known.insert(facts.id)
    lanes.add(facts.chain, time: version.time, origin: origins[CopyIdentity(version)])
  }

  /// The chain that a version goes to, and its fork number there.
  func place(_ facts: VersionFacts, fork: UInt32) throws -> (chain: ChainID, fork: UInt32) {
    guard let version = facts.version else { throw RepositoryError(.damaged, "a partial manifest is no version") }
    return try lanes.place(
      host: version.host, database: version.database, fork: fork, time: version.time, origin: CopyLanes.Origin(facts))
  }

  /// Before a version is fetched for nothing: whether the chain that it goes to takes it.
  /// - Throws: `ClosedChains.Refusal`; `RepositoryError` `.locked`.
  func demandOpen(_ chain: ChainID) async throws {
    if let refusal = try await closed.refusal(of: chain) { throw refusal }
    _ = try ChainLock(chain, in: state)
  }

  /// - Throws: as `PushSession` does; `ClosedChains.Refusal` for what each next version would meet, too.
  func session(_ chain: ChainID) async throws -> PushSession {
    do {
      return try await PushSession(repository, chain: chain, state: state, policy: .init(now: world.now))
    } catch let problem as RepositoryError {
      if let refusal = closed.note(problem, of: chain) { throw refusal }
      throw problem
    }
  }

  /// The images of earlier copies of a chain, for deltas: of this run only.
  func bases(of chain: ChainID, _ core: Core, fork: UInt32, level: Int, in place: ScratchPlace) -> BaseFolder? {
    if let held = bases[chain] { return held }
    let source = DatabaseSource(
      name: core.database, path: "copy", compressionLevel: level, baseFolder: Self.bases(place), fork: fork)
    bases[chain] = BaseFolder(of: source, host: core.host, world)
    return bases[chain]
  }

  private static func bases(_ place: ScratchPlace) -> String { "\(place.path)/bases" }

  func forgetBases(in place: ScratchPlace) {
    bases = [:]
    try? FileManager.default.removeItem(atPath: Self.bases(place))
  }
}

extension Annotations {
  /// It was found damaged, and a copy of its content would make up for it. Where it was restored to the byte, and is no sound
  /// database, none would.
  fileprivate func isSpoilt(_ version: VersionFacts) -> Bool {
    isSpoilt(Subject(sequence: version.sequence, id: version.id))
  }

  func isSpoilt(_ version: Subject) -> Bool {
    if missesDamage(of: version) { return true }
    return damage(of: version).map { !DrillProof.isOfImage($0) } ?? false
  }
}
