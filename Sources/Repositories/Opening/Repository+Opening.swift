package import Sealing
package import Storage

extension Repository {
  /// Finds the repository at a store and opens it (`Docs/Format.md` §9, step 1).
  ///
  /// Where the repository file was lost and there are versions, the slots name the repository: 64 bytes must not stand
  /// between a machine that died and its versions. But what has no file counts by versions of its own alone: an init that
  /// was interrupted leaves all but the file, and its passphrase must not lead beside the repository that is meant.
  /// - Parameters:
  ///   - state: where this machine remembers which slot opened (`rememberSlot`): that one is tried first; and the
  ///     configuration (`rememberConfiguration`).
  ///   - memory: where it remembers the configuration, where that is elsewhere.
  ///   - lackingFile: open one without a repository file also where there are no versions.
  ///   - lackingConfiguration: open one of which no configuration can be read, for reading alone.
  ///   - opening: opens a slot; of tests that count how often.
  /// - Throws: `RepositoryError` `.noRepository`, `.wrongKey`, `.ambiguousRepository`, `.damaged`, `.unsupported`;
  ///   `SealError` `.failed`, without memory; `StoreError`.
  package static func open(
    at store: any ObjectStore, with secret: SlotSecret, random: @escaping RandomSource = systemRandom,
    state: String? = nil, memory: String? = nil, lackingFile: Bool = false, lackingConfiguration: Bool = false,
    opening: @escaping SlotOpening = { slot, secret, repository throws(SealError) in
      try KeySlot.open(slot, secret: secret, repository: repository)
    }
  ) async throws -> Repository {
    let bare = store
    let store = DoubtingStore(bare)
    async let slotListing = store.list(prefix: Layout.slots)
    async let keyringListing = store.list(prefix: Layout.keyrings)
    async let configurationListing = store.list(prefix: Layout.configurations)
    var (candidates, stranger) = try await RepositoryFiles.look(at: store)
    let listed = try await slotListing
    let slots = listed.whole(below: Layout.slots)
    var search = SlotSearch(
      slots, cut: listed.cut(below: Layout.slots), at: store, with: secret, opening: opening)
    let lacksFile = candidates.isEmpty
    // Nothing tells what was left of an init from what has lost its file and has no version yet.
    var isBare = false
    if lacksFile, !slots.isEmpty {
      isBare = try await !RepositoryFiles.areVersions(at: store)
      if !isBare || lackingFile {
        try await search.readAll()
        candidates = search.owners
      }
    }
    let keyrings = try await keyringListing.whole(below: Layout.keyrings)
    let configurations = try await configurationListing
    guard !candidates.isEmpty else {
      throw stranger
        ?? RepositoryError(
          .noRepository, "there is no repository at \(store.traits.location)",
          hint: "Make one with `sealift init`, or check the target's address.")
    }

    var opened: [Repository] = []
    var closed: Set<RepositoryID> { Set(candidates).subtracting(opened.map(\.id)) }
    var areLeftovers = false
    var unread: StoreError?
    func enter(_ found: [SlotSearch.Opened], lacksFile: Bool) async throws {
      for door in found {
        let (id, slot) = (door.slot.repository, door.slot.name)
        if lacksFile, !isBare {
          var problem: StoreError?
          guard try await RepositoryFiles.areVersions(of: id, at: store, &problem) else {
            areLeftovers = true
            unread = unread ?? problem
            continue
          }
        }
        var strange: [NumberedName: SealError] = [:]
        let (keyring, name) = try await newestKeyring(
          keyrings, master: door.master, repository: id, at: store, passing: &strange)
        let keys = SealingKeys(repository: id, keyring: keyring)
        let look = try await newestConfiguration(
          configurations.whole(below: Layout.configurations), keys: keys, at: store)
        var loss = look.loss
        var remembered: SealedConfiguration?
        if let lost = loss, let state = memory ?? state {
          let folder = StateFolder(reading: state, repository: id)
          remembered = SealedConfiguration(rememberedIn: folder, keys: keys, beside: configurations)
          if remembered != nil { loss = broughtBack(lost) }
        }
        if let loss, !lackingConfiguration { throw loss }
        var repository = Repository(
          store: loss == nil ? bare : ReadOnlyStore(bare), keys: keys, random: random, slot: slot, keyring: name,
          lacksFile: lacksFile)
        repository.strangeKeyrings = strange
        repository.configuration = look.configuration
        repository.configurationLoss = loss
        repository.rememberedConfiguration = remembered
        opened.append(repository)
      }
    }
    // Who has used one here looks for no other: anybody can plant the file of one, and slots that take time and memory.
    let last = try await search.openLast(of: candidates, in: state)
    // A memory that cannot be read names none: all are looked at, and who writes is refused for it later.
    let used = candidates.count > 1 ? state.flatMap { try? KnownRepositories(at: store, in: $0).used } ?? [] : []
    let familiar = last.filter { used.contains($0.slot.repository) }
    try await enter(familiar.isEmpty ? last : familiar, lacksFile: lacksFile)
    if familiar.isEmpty || opened.isEmpty, !closed.isEmpty {
      try await search.readAll()
      try await enter(search.open(closed, atMost: last.map(\.slot.work).min()), lacksFile: lacksFile)
      // What asks for more counts beside one that two inits at once left empty, or one init that was interrupted.
      while !opened.isEmpty || areLeftovers, search.hasUntried(closed), try await !areVersions(in: opened) {
        try await enter(search.open(closed, atMost: nil), lacksFile: lacksFile)
      }
      // The file of another repository beside the slots of one whose file was lost.
      let others = Set(search.owners).subtracting(candidates)
      while opened.isEmpty, !lacksFile, search.hasUntried(others) {
        try await enter(search.open(others, atMost: nil), lacksFile: true)
      }
      if opened.isEmpty, let refusal = search.refusal { throw refusal }
      if opened.isEmpty, let unread = search.unread ?? unread { throw unread }
    }
    guard let first = opened.first else {
      throw search.nothingOpens(candidates, in: state, at: store.traits.location)
    }
    return try await onlyOne(of: opened, first, at: store)
  }

  /// After a race of two inits several may open: the one with versions counts.
  private static func onlyOne(
    of opened: [Repository], _ first: Repository, at store: any ObjectStore
  ) async throws -> Repository {
    guard opened.count > 1 else { return first }
    var used: [Repository] = []
    for repository in opened where try await repository.hasVersions() { used.append(repository) }
    guard used.count < 2 else {
      throw RepositoryError(
        .ambiguousRepository, "\(used.count) repositories with versions lie at \(store.traits.location)",
        hint: wayToOne(of: used))
    }
    return used.first ?? opened.min { $0.id.hex < $1.id.hex } ?? first
  }

  /// Each opens while nothing else says that there is a repository.
  private static func wayToOne(of used: [Repository]) -> String {
    let files = used.map { RepositoryFileName(of: $0.id).objectName.text }.sorted().joined(separator: ", ")
    guard !used.contains(where: \.lacksFile) else {
      return "Bring back the file of the one that is meant from a copy of the target: \(files)."
    }
    return
      "Move all of these but one aside (64 bytes each), restore what that one holds, and put them back: \(files). `sealift copy` takes it to a target of its own."
  }

  private static func areVersions(in repositories: [Repository]) async throws -> Bool {
    for repository in repositories where try await repository.hasVersions() { return true }
    return false
  }

  private func hasVersions() async throws -> Bool {
    for info in try await store.list(prefix: Layout.versions) {
      guard let name = VersionName(info.name), name.length == info.size else { continue }
      do {
        _ = try await readManifest(name)
        return true
      } catch let error as StoreError where !error.isLoss {
        throw error
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        // Another repository's, or damaged: says nothing about this one.
        continue
      }
    }
    return false
  }
}
