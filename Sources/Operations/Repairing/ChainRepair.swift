import Repositories
import Sealing
import Storage

/// Repairs one chain: the newest version first, then those before it, from what is left of them and from what is on this
/// machine.
struct ChainRepair {
  let chain: CheckedChain
  let repository: Repository
  let target: TargetAccess
  let request: RepairRepository.Request
  let world: World
  /// To look at what is here, and no more: by the name that it has in the chain.
  private let looking: World
  let state: StateFolder
  /// A database that may be the chain's, to look at.
  private let source: DatabaseSource?
  /// Whether it is, and this machine pushes the chain.
  private let isOwn: Bool
  /// Why nobody knows this machine's name.
  private let nameless: OperationError?
  /// The annotations that were there before the check began.
  let said: [ObjectInfo]
  /// Where else than in images lost content is looked for: in the companions, and a database that is kept as a
  /// file, as they are here, and in later packs.
  private var blocks: LocalBlocks?
  private var packs: WholePacks?
  private let nodes = LostNodes()
  private let fetched: FetchedPacks
  /// What the manifest that was seen last says of the version before its own: the target need not know it any more.
  private var predecessor: (sequence: UInt64, id: Digest)?
  /// Whether the database of the version that was tried last was read whole at the target.
  private var hasDatabase = false
  /// Packs that were met on the way, and are spoilt: the check was told of others, and read none of them.
  var unnamed: Set<Digest> = []
  /// Versions that are written anew, and the packs that they need now.
  var saved: [Needing] = []
  /// Of those of them that were harmed, what was known before, and does not hold any more.
  var takenBack: [Digest: TakenBack] = [:]
  /// Manifests that were spoilt, and are stored again as they were.
  var returned: [String: StoredManifest] = [:]

  /// A version, and the packs that it needs.
  struct Needing {
    let version: CheckedVersion
    let id: Digest?
    let packs: Set<Digest>
  }

  struct TakenBack {
    /// When the word at the target was taken back; `nil` where there was none.
    let time: UInt64?
    /// Whether no push of this machine was to build on it.
    let isDoubted: Bool
  }

  init(
    _ chain: CheckedChain, _ repository: Repository, _ target: TargetAccess, _ request: RepairRepository.Request,
    _ world: World, said: [ObjectInfo]
  ) throws {
    self.said = said
    self.chain = chain
    self.repository = repository
    self.target = target
    self.request = request
    self.world = world
    let room = (RestoreRoom.free(in: world.tables) ?? 0) / 4
    fetched = FetchedPacks(in: world.tables, room: min(room, 4 << 30))
    try StateFiles.makeFolder(world.stateFolder)
    state = try StateFolder(world.stateFolder, repository: repository.id)
    // What is had from here is what was pushed, by its hash. Where nobody knows this machine's name, the chain's own says which
    // database to look at. Nothing is called lost then, and nothing pushed: the chain may be another machine's.
    let (name, nameless) = HostName.asked(world)
    let host = name ?? chain.host
    var looking = world
    looking.host = host
    self.looking = looking
    source = request.databases.first { database in
      host.map { repository.keys.keyring.chainID(host: $0, database: database.name, fork: database.fork) }
        == chain.chain
    }
    isOwn = source != nil && name != nil
    self.nameless = nameless
  }

  mutating func run(_ outcome: inout RepairRepository.Outcome) async throws {
    let annotations = try await repository.annotations(of: chain.chain, state: state)
    let leaning = try await versions(of: chain.whole, needing: Set(chain.damagedPacks)).map(\.version)
    if !chain.harmed.isEmpty || !leaning.isEmpty {
      // What is known of other places is not found again here: where it cannot be read the run ends, and a dry one, too.
      var damaged = try DamagedPacks(of: chain.chain, in: state, at: repository.place)
      if !request.dryRun { try damaged.add(chain.damagedPacks, of: chain.chain, in: state) }
      let images = try await LocalImages(of: source, dryRun: request.dryRun, looking)
      defer { images.remove() }
      blocks = try await LocalCompanions.blocks(
        of: source, with: images.file, at: target, keys: repository.keys, world)
      if let newest = chain.whole.last(where: { $0.facts != nil })?.facts {
        packs = WholePacks(
          of: newest, without: chain.damagedPacks, repository, state: state, tables: world.tables, keeping: fetched)
      }
      var isNewestLost = false
      do {
        for version in chain.harmed.reversed() {
          let isLost = try await repair(version, images, annotations, &outcome)
          if isLost, version.sequence == chain.versions.last?.sequence { isNewestLost = true }
          // At once: a run that is cut says nothing any more, and `forget` lets go of what was found damaged.
          try await tellSaved(annotations)
        }
        for version in leaning.reversed() {
          // Where one cannot be written anew, it is whole all the same.
          _ = try await save(version, images, &outcome)
          try await tellSaved(annotations)
        }
      } catch {
        // What was written until then is judged all the same. What fails now, too, is not what ended it.
        try? await settle(annotations, &outcome)
        throw error
      }
      try await settle(annotations, &outcome)
      if isNewestLost, isOwn, !request.dryRun, let source {
        // Last: what it leaves on this machine takes the place of images that older versions may be saved from.
        images.releaseBases()
        try await push(source, &outcome)
      }
    }
    try await returnManifests(&outcome)
    guard request.packs.isEmpty else { return }
    let before = try await saidBefore()
    for version in chain.whole {
      // Somebody may have found it damaged after the check had read it: then that is what is known last.
      guard let facts = version.facts, annotations.damage(of: facts) == before.damage(of: facts) else { continue }
      if try await unflag(version, annotations) != nil { outcome.cleared.append(told(version)) }
    }
  }

  /// Saves it if it can be.
  /// - Returns: whether it is saved; `nil` for a failure that is of this version alone, and told in the outcome.
  private mutating func save(
    _ version: CheckedVersion, _ images: LocalImages, _ outcome: inout RepairRepository.Outcome
  ) async throws -> Bool? {
    let told = told(version)
    do {
      guard try await isSaved(version, images) else { return false }
      outcome.saved.append(told)
      return true
    } catch let error as RepositoryError where ![.locked, .stateFolder, .noSpace].contains(error.code) {
      // Somebody has forgotten it meanwhile, prunes were quicker each time, or it cannot be written as it was. The others
      // are repaired all the same.
      outcome.failures.append(OperationError(error, doing: target.name))
      return nil
    } catch let error as StoreError where error.code == .notFound {
      // And somebody may have pruned it by now.
      outcome.failures.append(OperationError(error, doing: target.name))
      return nil
    }
  }

  /// - Returns: whether it is lost.
  private mutating func repair(
    _ version: CheckedVersion, _ images: LocalImages, _ annotations: Annotations,
    _ outcome: inout RepairRepository.Outcome
  ) async throws -> Bool {
    var version = version
    guard let isSaved = try await save(version, images, &outcome) else { return false }
    guard !isSaved else { return false }
    // Who was told of packs has read no others: nothing but the try to save it says what the database lacks.
    let isRead = request.packs.isEmpty || hasDatabase
    version.sparesDatabase = version.sparesDatabase && isRead
    let told = told(version)
    if isOwn { outcome.lost.append(told) } else { leave(told, &outcome) }
    guard !request.dryRun else { return true }
    // Wherever the database is: `forget` must not rest on this version any more, nor the next push.
    try await flag(version, annotations)
    if let facts = version.facts { SourceMemory.forget(facts.id, world) }
    return true
  }

  /// Where nobody knows this machine's name, it may be this one that has to be asked.
  private func leave(_ version: CheckRepository.Version, _ outcome: inout RepairRepository.Outcome) {
    outcome.elsewhere.append(version)
    guard let nameless, !outcome.failures.contains(where: { $0.message == nameless.message }) else { return }
    outcome.failures.append(nameless)
  }

  /// Writes the version anew, when all of its content can be had. It needs no pack then that is known to be damaged.
  private mutating func isSaved(_ version: CheckedVersion, _ images: LocalImages) async throws -> Bool {
    var rewrite = VersionRewrite(repository, chain: chain.chain, state: state, tables: world.tables)
    rewrite.nodes = nodes
    rewrite.fetched = fetched
    let found = try await manifest(of: version, rewrite)
    predecessor = found?.core?.predecessor
    hasDatabase = false
    guard let manifest = found, let file = manifest.core?.members.first?.file else { return false }
    let local = try images.pages(of: Int(file.unitSize), keys: repository.keys, tables: world.tables)
    defer {
      unnamed.formUnion(rewrite.spoiltPacks.subtracting(chain.damagedPacks))
      hasDatabase = rewrite.hasDatabase
      // Who is killed before the end has told nobody else.
      try? remember(withdrawn)
    }
    rewrite.onProgress = progress(of: manifest)
    let isSaved: Bool
    do {
      isSaved = try await rewrite.run(
        manifest, from: local, blocks: blocks, packs: packs, dryRun: request.dryRun)
    } catch let error as RepositoryError where error.code == .noSpace && fetched.giveUp() {
      // What the members need comes first: packs are fetched again, as often as it takes.
      isSaved = try await rewrite.run(
        manifest, from: local, blocks: blocks, packs: packs, dryRun: request.dryRun)
    }
    if isSaved { saved.append(Needing(version: version, id: id(of: version), packs: rewrite.neededPacks)) }
    return isSaved
  }

  private func progress(of manifest: StoredManifest) -> @Sendable (VersionRewrite.Step, Int) -> Void {
    let (reporter, subject) = (world.reporter, manifest.core?.database ?? target.name)
    let total = manifest.core?.members.map { Int(clamping: $0.file?.length ?? 0) }.clampedSum
    return { step, done in
      let stage: Progress.Stage = step == .salvaging ? .fetching : .sealing
      reporter.progress(Progress(stage, subject: subject, bytesDone: done, bytesTotal: total))
    }
  }

  private func manifest(of version: CheckedVersion, _ rewrite: VersionRewrite) async throws -> StoredManifest? {
    if let facts = version.facts { return try await repository.readManifest(facts.name, state: state) }
    let names = version.objects.compactMap { ObjectName($0).flatMap(VersionName.init) }
    return names.lazy.compactMap { rewrite.kept($0) }.first { $0.isComplete }
      ?? rewrite.keptManifest(sequence: version.sequence, id: id(of: version))
  }

  /// Of a version whose manifest is gone, what the one behind it says, which may be kept on this machine alone.
  private func id(of version: CheckedVersion) -> Digest? {
    version.id ?? predecessor.flatMap { $0.sequence == version.sequence ? $0.id : nil }
  }

  private func told(_ version: CheckedVersion) -> CheckRepository.Version {
    var told = CheckRepository.Version(version, in: chain)
    told.id = id(of: version)?.hex
    return told
  }

  /// A fresh version, whole, that rests on nothing that is there.
  private func push(_ source: DatabaseSource, _ outcome: inout RepairRepository.Outcome) async throws {
    var push = Push.Request(database: source, targets: [target])
    push.rebuildBase = true
    do {
      let pushed = try await Push(world).run(push)
      if pushed.interruption != nil { throw CancellationError() }
      outcome.pushed += pushed.pushed.map(\.version)
      outcome.failures += pushed.failures.map(\.error) + [pushed.damage].compactMap { $0 }
    } catch let error as OperationError where error.kind != .cancelled {
      outcome.failures.append(error)
    }
  }
}

extension Core {
  /// Which version stands before it, as far as its push could say.
  fileprivate var predecessor: (sequence: UInt64, id: Digest)? {
    guard sequence > 1, previous != chain.unknown(at: sequence - 1) else { return nil }
    return (sequence - 1, previous)
  }
}
