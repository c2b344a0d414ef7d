import Repositories
import Sealing
import Storage

/// Repairs one chain: the newest version first, then those before it, from what is left of them and from what is on this
/// machine.
struct ChainRepair {
  private let chain: CheckedChain
  private let repository: Repository
  private let target: TargetAccess
  private let request: RepairRepository.Request
  private let world: World
  /// To look at what is here, and no more: by the name that it has in the chain.
  private let looking: World
  private let state: StateFolder
  /// A database that may be the chain's, to look at.
  private let source: DatabaseSource?
  /// Whether it is, and this machine pushes the chain.
  private let isOwn: Bool
  /// Why nobody knows this machine's name.
  private let nameless: OperationError?
  /// The annotations that were there before the check began.
  private let said: [ObjectInfo]
  /// Where else than in images lost content is looked for: in the companions, and a database that is kept as a
  /// file, as they are here, and in later packs.
  private var blocks: LocalBlocks?
  private var packs: WholePacks?
  private let nodes = LostNodes()
  /// What the manifest that was seen last says of the version before its own: the target need not know it any more.
  private var predecessor: (sequence: UInt64, id: Digest)?
  /// Whether the database of the version that was tried last was read whole at the target.
  private var hasDatabase = false
  /// Packs that were met on the way, and are spoilt: the check was told of others, and read none of them.
  private var unnamed: Set<Digest> = []
  /// Versions that are written anew, and the packs that they need now.
  private var saved: [Needing] = []
  /// Of those of them that were harmed, what was known before, and does not hold any more.
  private var takenBack: [Digest: TakenBack] = [:]
  /// Manifests that were spoilt, and are stored again as they were.
  private(set) var returned: [String: StoredManifest] = [:]

  /// A version, and the packs that it needs.
  private struct Needing {
    let version: CheckedVersion
    let id: Digest?
    let packs: Set<Digest>
  }

  private struct TakenBack {
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
        packs = WholePacks(of: newest, without: chain.damagedPacks, repository, state: state, tables: world.tables)
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

  /// Beside another manifest of its place a spoilt one harms no version that is known. It may be of another one, of a
  /// machine that pushes as this one, and then nobody else knows of it any more: also where a later revision passes for one
  /// of its version, and where it was cut.
  private mutating func returnManifests(_ outcome: inout RepairRepository.Outcome) async throws {
    let broken = chain.findings.filter { finding in
      [.damaged, .spare, .cut].contains(finding.kind) && ObjectName(finding.object).flatMap({ VersionName($0) }) != nil
    }
    guard !broken.isEmpty else { return }
    let kept = ManifestReturn(repository, chain: chain.chain, state: state)
    let harming = Set(chain.harmed.flatMap(\.objects))
    let forgotten = try await repository.forgotten(of: chain.chain, state: state)
    let versions = chain.versions
    for finding in broken where !harming.contains(finding.object) {
      let found = try await kept.run(finding.object, dryRun: request.dryRun) { manifest in
        guard finding.kind == .spare else { return true }
        // Of a version that stands there in a later revision, or is to go, it is spare indeed.
        let isWrittenAnew = versions.contains { version in
          version.id == manifest.id && version.facts?.revision ?? 0 > manifest.name.revision
        }
        guard !isWrittenAnew else { return false }
        return !forgotten.contains(manifest.id, at: manifest.name.sequence)
      }
      guard let manifest = found, let core = manifest.core else { continue }
      returned[finding.object] = manifest
      outcome.saved.append(
        CheckRepository.Version(
          id: manifest.id.hex, database: core.database, host: core.host, sequence: core.sequence, time: core.time,
          objects: [finding.object], damaged: core.flags.contains(.damaged)))
    }
  }

  /// Where two machines pushed as one, as it is now: to whom the manifest that is stored again was missing, the check told of
  /// a fork that is none any more, or is no damage. Of a dry run, as it would be.
  /// - Returns: also whether that is the only doubt.
  func forks() async -> (told: [RepositoryError], isContested: Bool) {
    let before = (told: chain.problems.filter { $0.code == .forked }, isContested: chain.isContested)
    guard !returned.isEmpty else { return before }
    let now = try? await repository.forks(of: chain.chain, with: Array(returned.values), state: state)
    return now ?? before
  }

  /// What was said before the check began.
  private func saidBefore() async throws -> Annotations {
    let listed = RecordListing.byChain(said)[chain.chain.hex] ?? .empty
    return try await repository.annotations(of: chain.chain, listed: listed, state: state)
  }

  /// Versions that need some frame of damaged packs. As long as whole ones do, of which other frames are damaged, no prune
  /// takes such a pack, and every check finds it.
  private func versions(of all: [CheckedVersion], needing damaged: Set<Digest>) async throws -> [Needing] {
    guard !damaged.isEmpty else { return [] }
    var leaning: [Needing] = []
    for version in all {
      guard let facts = version.facts, let packs = try await repository.packs(of: facts, state: state) else { continue }
      if packs.contains(where: { damaged.contains($0.name) }) {
        leaning.append(Needing(version: version, id: facts.id, packs: Set(packs.map(\.name))))
      }
    }
    return leaning
  }

  /// Versions that were written anew before it was seen that packs which they need are spoilt: whether they need what is
  /// spoilt of them nobody has looked.
  private var withdrawn: [Needing] { saved.filter { !$0.packs.isDisjoint(with: unnamed) } }

  /// Says of the versions that were written anew what is known at the end: some later one may have been read from a pack
  /// that is spoilt, and that one of them needs.
  private mutating func settle(_ annotations: Annotations, _ outcome: inout RepairRepository.Outcome) async throws {
    let ids = Set(withdrawn.compactMap(\.id).map(\.hex))
    outcome.saved.removeAll { version in version.id.map { ids.contains($0) } ?? false }
    // None of these waits for another one: what fails is told when all were tried.
    var problem: (any Error)?
    do { try remember(withdrawn) } catch { problem = error }
    do { try await tellUnnamed(&outcome) } catch { problem = problem ?? error }
    do { try await tellSaved(annotations) } catch { problem = problem ?? error }
    if let problem { throw problem }
  }

  /// Takes back what was known of versions that are written anew. What was said of one of them stands again where a spoilt
  /// pack that it needs was met since.
  private mutating func tellSaved(_ annotations: Annotations) async throws {
    guard !request.dryRun else { return }
    for version in saved where version.version.isHarmed {
      guard let id = version.id else { continue }
      let isWhole = version.packs.isDisjoint(with: unnamed)
      if let before = takenBack[id] {
        guard !isWhole else { continue }
        try await putBack(before, of: version.version, id, annotations)
        takenBack[id] = nil
      } else if isWhole {
        takenBack[id] = try await takeBack(of: version.version, id, annotations)
      }
    }
  }

  private func takeBack(
    of version: CheckedVersion, _ id: Digest, _ annotations: Annotations
  ) async throws -> TakenBack {
    let doubted = try? DoubtedVersions(of: chain.chain, in: state, at: repository.place)
    takeBackDoubts(of: id)
    return TakenBack(time: try await unflag(version, annotations), isDoubted: doubted?.contains(id) ?? false)
  }

  /// That it is harmed this machine remembers by now. The word must be later than the one that took it back.
  private func putBack(
    _ before: TakenBack, of version: CheckedVersion, _ id: Digest, _ annotations: Annotations
  ) async throws {
    if before.isDoubted, var doubted = try? DoubtedVersions(of: chain.chain, in: state, at: repository.place) {
      try? doubted.add(id, of: chain.chain, in: state)
    }
    guard let time = before.time, let facts = version.facts, let damage = annotations.damage(of: facts) else { return }
    let now = annotations.time(for: facts, now: max(world.now(), time == .max ? time : time + 1))
    try await repository.annotate(facts, [.init(.foundDamaged, damage)], now: now, state: state)
  }

  /// Tells of packs that were found spoilt only while versions were read to be saved, as long as some version needs them.
  private func tellUnnamed(_ outcome: inout RepairRepository.Outcome) async throws {
    guard !unnamed.isEmpty else { return }
    let anew = Set(saved.map(\.version.sequence))
    let others = try await versions(of: chain.whole, needing: unnamed).filter { !anew.contains($0.version.sequence) }
    let lost = try await versions(of: chain.harmed, needing: unnamed).filter { !anew.contains($0.version.sequence) }
    for pack in unnamed.sorted() {
      let mendable = (others + withdrawn).filter { $0.packs.contains(pack) }
      // What is lost is told already: it names a pack that nothing else would.
      let needing = mendable.isEmpty ? lost.filter { $0.packs.contains(pack) } : mendable
      guard let first = needing.first else { continue }
      let id = first.id.map { String($0.hex.prefix(8)) } ?? "\(first.version.sequence)"
      let who = needing.count == 1 ? "version \(id) needs" : "version \(id) and \(needing.count - 1) more need"
      let object = Layout.pack(pack, of: chain.chain).text
      outcome.failures.append(
        OperationError(
          .verificationFailed, code: "damaged", "\(object) is damaged, too, and \(who) it still",
          hint: mendable.isEmpty
            ? "`sealift repair` reads all of that version, and says what of it is lost."
            : "`sealift --target \(shellWord(target.name)) repair --pack \(object)` writes anew what needs it."))
    }
  }

  /// Until somebody reads them whole, or they are written anew once more, they may be harmed. A dry run wrote none.
  private func remember(_ versions: [Needing]) throws {
    var found: [Digest: HarmedVersions.Harm] = [:]
    for version in versions {
      guard let id = version.id else { continue }
      found[id] = HarmedVersions.Harm(.content, by: version.packs.intersection(unnamed))
    }
    guard !found.isEmpty else { return }
    var harmed = try HarmedVersions(of: chain.chain, in: state, at: repository.place)
    try harmed.add(found, of: chain.chain, in: state)
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

  private func flag(_ version: CheckedVersion, _ annotations: Annotations) async throws {
    guard let facts = version.facts, try await isNews(version, annotations.damage(of: facts), facts) else { return }
    let objects = "damaged or missing: \(version.objects.joined(separator: ", "))"
    let text = version.sparesDatabase ? CompanionLoss.text(objects) : objects
    try await repository.annotate(
      facts, [.init(.foundDamaged, text)], now: annotations.time(for: facts, now: world.now()), state: state)
  }

  /// Whether what was found says more than what is known, or less: that the database is whole counts as a whole version
  /// does, where everything was read and nobody has found more since.
  private func isNews(_ version: CheckedVersion, _ known: String?, _ facts: VersionFacts) async throws -> Bool {
    guard let known else { return true }
    guard version.sparesDatabase else { return CompanionLoss.isMeant(by: known) }
    guard !CompanionLoss.isMeant(by: known), !DrillProof.isOfImage(known), request.packs.isEmpty else { return false }
    return try await saidBefore().damage(of: facts) == known
  }

  /// Takes back that a version was found damaged; the word must be later than that one, whatever the clocks say. That the
  /// bytes are those that were pushed says nothing of a database that failed a drill's check: only a drill takes that back.
  /// - Returns: when it is taken back; `nil` where there was nothing to take back.
  private func unflag(_ version: CheckedVersion, _ annotations: Annotations) async throws -> UInt64? {
    guard let facts = version.facts else { return nil }
    takeBackDoubts(of: facts.id)
    guard let damage = annotations.damage(of: facts), !DrillProof.isOfImage(damage) else { return nil }
    let now = annotations.time(for: facts, now: world.now())
    guard !request.dryRun else { return now }
    try await repository.annotate(facts, [.init(.foundDamaged)], now: now, state: state)
    return now
  }

  /// What a drill or a check on this machine found of it does not hold any more.
  private func takeBackDoubts(of version: Digest?) {
    guard !request.dryRun, let version else { return }
    let place = repository.place
    if var doubted = try? DoubtedVersions(of: chain.chain, in: state, at: place) { doubted.remove([version]) }
    if var harmed = try? HarmedVersions(of: chain.chain, in: state, at: place) { harmed.remove([version]) }
  }

  /// Writes the version anew, when all of its content can be had. It needs no pack then that is known to be damaged.
  private mutating func isSaved(_ version: CheckedVersion, _ images: LocalImages) async throws -> Bool {
    var rewrite = VersionRewrite(repository, chain: chain.chain, state: state, tables: world.tables)
    rewrite.nodes = nodes
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
    let isSaved = try await rewrite.run(
      manifest, from: local, blocks: blocks, packs: packs, dryRun: request.dryRun)
    if isSaved { saved.append(Needing(version: version, id: id(of: version), packs: rewrite.neededPacks)) }
    return isSaved
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
