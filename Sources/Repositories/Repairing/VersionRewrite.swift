package import Sealing
package import Storage

/// Writes a version of the past anew: the same core, and so the same id, as its next revision, with locations in packs
/// that are whole. Locked, checked and acknowledged as a push is; when it is cut, the next one goes on from what it stored.
package struct VersionRewrite: Sendable {
  private static let attempts = 5

  private let repository: Repository
  private let chain: ChainID
  private let state: StateFolder
  private let folder: String
  /// By which listings that are late are waited for.
  package var clock: StoreClock = .system
  /// What is lost of maps, for all versions of the chain that are written anew.
  package var nodes = LostNodes()
  /// What was fetched for one of them.
  package var fetched: FetchedPacks
  /// Gets how many bytes of the members were gone through so far.
  package var onProgress: @Sendable (Step, Int) -> Void = { _, _ in }

  package enum Step: Sendable {
    /// Whatever is left is put together.
    case salvaging
    /// It is sealed anew.
    case writing
  }

  private let found = Locked<Set<Digest>>([])
  private let needed = Locked<Set<Digest>>([])
  private let database = Locked(false)

  /// - Parameter folder: for files without names.
  package init(_ repository: Repository, chain: ChainID, state: StateFolder, tables folder: String) {
    self.repository = repository
    self.chain = chain
    self.state = state
    self.folder = folder
    fetched = FetchedPacks(in: folder)
  }

  /// Packs in which something was lost, of the version or of the later one, whether or not it was had elsewhere. Who was
  /// told of other packs has read none to find them.
  package var spoiltPacks: Set<Digest> { found.withLock { $0 } }
  /// Those that the version needs now that it is written anew.
  package var neededPacks: Set<Digest> { needed.withLock { $0 } }
  /// The version's first member, which is the database, was read whole at the target, whatever became of the others.
  package var hasDatabase: Bool { database.withLock { $0 } }

  /// - Parameters:
  ///   - manifest: of the version, from wherever it can still be had.
  ///   - local: images on this machine that may hold what is lost.
  ///   - blocks: files on this machine, of its companions; the database too, where it is kept as a file.
  ///   - packs: of a later version, that may hold it, too.
  ///   - dryRun: only find out whether it can be done.
  /// - Returns: false when the content of the version cannot be had.
  /// - Throws: `.locked`, `.conflict`, `.stateFolder`; `StoreError`.
  package func run(
    _ manifest: StoredManifest, from local: LocalPages?, blocks: LocalBlocks? = nil, packs: WholePacks? = nil,
    dryRun: Bool
  ) async throws -> Bool {
    let salvage = Salvage(manifest, repository, state: state, tables: folder, besides: nodes, keeping: fetched)
    let sources = SalvageSources(pages: local, blocks: blocks, packs: packs)
    guard let core = manifest.core else { return false }
    var spoilt: Set<Digest> = []
    let salvaged: [ScratchMember]?
    do {
      salvaged = try await salvage.members(
        from: sources, noting: &spoilt,
        onWhole: { member in if member == 0 { database.withLock { $0 = true } } },
        onProgress: { onProgress(.salvaging, $0) })
    } catch {
      // What was met until then is spoilt, whatever ended it. That it cannot be noted is not what ended it.
      try? note(spoilt.union(packs?.spoilt ?? []), dryRun: dryRun)
      throw error
    }
    try note(spoilt.union(packs?.spoilt ?? []), dryRun: dryRun)
    guard let members = salvaged else { return false }
    if !dryRun { try await write(manifest, core, members) }
    return true
  }

  /// Before anything is written: what is written refers to nothing in them.
  private func note(_ spoilt: Set<Digest>, dryRun: Bool) throws(RepositoryError) {
    found.withLock { $0.formUnion(spoilt) }
    guard !dryRun else { return }
    var damaged = try DamagedPacks(of: chain, in: state, at: repository.place)
    try damaged.add(spoilt.sorted(), of: chain, in: state)
  }

  /// Whether a manifest that the target lost is kept on this machine.
  package func keptManifest(sequence: UInt64, id: Digest?) -> StoredManifest? {
    let facts = KeptVersions(chain, in: state, keys: repository.keys).facts.values
    let names = facts.filter { $0.sequence == sequence && (id == nil || $0.id == id) && $0.isComplete }
      .sorted { $0.revision > $1.revision }.map(\.name)
    return names.lazy.compactMap { kept($0) }.first ?? id.flatMap { unlisted(sequence: sequence, id: $0) }
  }

  /// Who pushes and never lists has kept the manifests that it stored, and no list of them.
  private func unlisted(sequence: UInt64, id: Digest) -> StoredManifest? {
    let found = state.keptNames.lazy.compactMap(Layout.digest).compactMap { digest -> StoredManifest? in
      guard let bytes = state.kept(digest.hex) else { return nil }
      return try? repository.openManifest(bytes, digest: digest)
    }
    return found.filter { $0.name.chain == chain && $0.name.sequence == sequence && $0.id == id && $0.isComplete }
      .max { $0.name.revision < $1.name.revision }
  }

  /// The manifest of that name, as it is kept on this machine.
  package func kept(_ name: VersionName) -> StoredManifest? {
    guard let bytes = state.kept(name.digest.hex) else { return nil }
    return try? repository.openManifest(bytes, name: name)
  }

  private func write(_ manifest: StoredManifest, _ core: Core, _ members: [ScratchMember]) async throws {
    let lock = try ChainLock(chain, in: state)
    defer { withExtendedLifetime(lock) {} }
    let packs = try RepairedPacks(of: chain, in: state)
    let objects = try await repository.store.list(prefix: Layout.versions(of: chain))
    let listing = ChainListing(chain: chain, objects: objects)
    let newest = try await repository.newest(of: listing, state: state).newest
    var presence = try await Presence(repository, chain: chain, state: state)
    // Also of what was cut: a name stands for one object for ever.
    let revisions = objects.compactMap { VersionName($0.name) }.filter { $0.sequence == core.sequence }
    var revision = (revisions.map(\.revision).max() ?? 0) + 1
    var next: UInt32 = 1
    let rewritten = draft(manifest, core, members)
    var manner = Manner(level: rewritten.deltas.level)
    let listings = LateListing(repository: repository, chain: chain, state: state, clock: clock)
    var attemptsLeft = Self.attempts
    while attemptsLeft > 0 {
      let found = try await find(newest, manifest, packs, presence)
      next = max(next, found.nextNumber)
      let attempt = try await attempt(rewritten, found, manner, packs, next: &next, revision: revision)
      // What one that was too dear has stored is used by the next, and would be stored again where it is not seen.
      let own = packs.names
      presence = try await listings.presence(
        of: attempt?.packs ?? packs.leftovers.filter { own.contains($0.name) }, attempt?.manifest.name.digest, own: own)
      guard let written = attempt else {
        manner = try manner.below()
        continue
      }
      attemptsLeft -= 1
      // A prune may be about to delete the manifest itself.
      if presence.holds(written.packs), !presence.condemns(written.manifest.name.digest) {
        guard try await !repository.forgotten(of: chain, state: state).contains(written.manifest.facts) else {
          throw forgottenMeanwhile(written.manifest)
        }
        try OwnWords.add(written.manifest, in: state)
        if core.sequence < newest?.name.sequence ?? 0 { state.dropLong(written.manifest.name) }
        needed.withLock { $0 = Set(written.packs.map(\.name)) }
        return packs.end(with: written.packs)
      }
      revision += 1
    }
    throw RepositoryError(
      .conflict, "prunes took packs of this version away \(Self.attempts) times in a row",
      hint: "Let the prune that is running end, then repair again.")
  }

  private func forgottenMeanwhile(_ manifest: StoredManifest) -> RepositoryError {
    let id = manifest.id.hex.prefix(12)
    return RepositoryError(
      .conflict, "version \(id) was forgotten while it was repaired",
      hint: "All of it is there: `sealift unforget \(id)` takes it back; else a prune deletes it.")
  }

  /// What the version may refer to.
  private struct Found {
    let known: KnownPacks
    /// Of these, packs that no version needs yet.
    let leftovers: [PackEntry]
    /// Above every number that was given.
    let nextNumber: UInt32
  }

  private func find(
    _ newest: StoredManifest?, _ manifest: StoredManifest, _ packs: RepairedPacks, _ presence: Presence
  ) async throws -> Found {
    var loader = try KnownPacksLoader(repository, chain: chain, state: state, presence: presence)
    _ = try await loader.add(versionIn: newest)
    _ = try await loader.add(versionIn: manifest)
    let needed = Set(loader.known.entries.keys)
    try await loader.add(packs.leftovers, areLeftovers: true)
    return Found(
      known: loader.known, leftovers: loader.known.entries.values.filter { !needed.contains($0.number) },
      nextNumber: loader.nextNumber)
  }

  /// What an attempt refers to: less than the one before, where that one was too dear to restore.
  private struct Manner {
    var level: DeltaLevel
    /// What was stored and no version needs yet is used; at the lowest level nothing else is.
    var reusesLeftovers = true

    func below() throws(RepositoryError) -> Manner {
      if let below = level.below { return Manner(level: below) }
      guard reusesLeftovers else { throw RepositoryError(.damaged, "the version was not written") }
      return Manner(level: level, reusesLeftovers: false)
    }
  }

  /// - Parameter next: the number of the first new pack; behind the last one when it returns.
  /// - Returns: `nil` when the version would be too dear to restore. What was stored for it is noted.
  private func attempt(
    _ draft: VersionDraft, _ found: Found, _ manner: Manner, _ packs: RepairedPacks, next: inout UInt32,
    revision: UInt32
  ) async throws -> VersionWriter.Written? {
    guard revision <= VersionName.lastRevision else {
      throw RepositoryError(.conflict, "version \(draft.sequence) has been written anew too often")
    }
    var policy = PushSession.Policy(now: { 0 })
    policy.packsPerPartial = .max
    policy.millisecondsPerPartial = .max
    var writer = try VersionWriter(
      draft, level: manner.level, repository: repository, state: state, known: found.known, resumed: found.leftovers,
      reusesLeftovers: manner.reusesLeftovers, nextPackNumber: next,
      partials: PartialManifests(policy, nextRevision: revision), dryRun: false,
      onPackStored: { entry in try packs.add(entry) },
      // However late, it arrives as one more revision of the same version.
      onManifest: { _ in })
    writer.carried = packs.names
    do {
      guard
        let written = try await writer.write(after: nil, evenIfEqual: true, onProgress: { onProgress(.writing, $0) })
      else {
        throw RepositoryError(.damaged, "the version was not written")
      }
      next = written.nextPackNumber
      var damaged = try DamagedPacks(of: chain, in: state)
      try damaged.raise(next, of: chain, in: state)
      return written
    } catch is VersionWriter.Deviation {
      throw RepositoryError(.damaged, "what was to be written anew is not the version that was pushed")
    } catch is VersionWriter.TooDear {
      next = writer.packs.nextNumber
      return nil
    }
  }

  private func draft(_ manifest: StoredManifest, _ core: Core, _ members: [ScratchMember]) -> VersionDraft {
    let database = zip(core.members, members).prefix(1).map { member, scratch in
      MemberSource(
        content: member.file?.unitType == .page ? .image(pageSize: Int(member.file?.unitSize ?? 0)) : .file,
        path: member.path, mode: member.mode, modified: member.modified, length: scratch.length,
        read: { try scratch.read($0) })
    }
    var rest = members.dropFirst()
    let companions = core.members.dropFirst().map { member in
      let scratch = member.file == nil ? nil : rest.popFirst()
      return CompanionSource(rebuilding: member) { scratch.map { RebuiltFile(member, $0) } }
    }
    var draft = VersionDraft(
      chain: chain, sequence: core.sequence, previous: core.previous, time: core.time, host: core.host,
      database: core.database, method: core.method, flags: core.flags, members: database, tags: manifest.body.tags,
      note: manifest.body.note, compressionLevel: 1)
    let remarks = manifest.body.remarks
    draft.companions = { companions }
    draft.lateRows = { remarks.rows }
    draft.origin = remarks.origin
    draft.lateStore = { remarks.store }
    draft.lateCapture = { remarks.capture }
    draft.otherRemarks = remarks.others
    draft.expectedCore = manifest.body.core
    return draft
  }
}

/// A companion that was put together again.
private final class RebuiltFile: CompanionFile {
  let mode: UInt32
  let modified: UInt64
  private let content: ScratchMember
  var length: Int { content.length }

  init(_ member: Core.Member, _ content: ScratchMember) {
    mode = member.mode
    modified = member.modified
    self.content = content
  }

  func read(_ range: Range<Int>) throws -> [UInt8] { try content.read(range) }
  func isSettled() -> Bool { true }
  func keptUnsettled() {}
}

extension CompanionSource {
  /// A member as it was, to be sealed anew.
  /// - Parameter file: opens its content, for a file.
  package init(rebuilding member: Core.Member, _ file: @escaping @Sendable () throws -> (any CompanionFile)?) {
    let content: Content =
      switch member.content {
      case .folder: .folder
      case .link(let target): .link(target: target)
      case .database, .file: .file(file)
      }
    self.init(path: member.path, mode: member.mode, modified: member.modified, content: content)
  }
}
