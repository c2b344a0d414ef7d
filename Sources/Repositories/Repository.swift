package import Sealing
package import Storage

/// A repository that a secret has opened: a store, and the keys to what lies in it.
package struct Repository: Sendable {
  package let store: any ObjectStore
  package let keys: SealingKeys
  package let random: RandomSource
  /// The slot that the secret opened.
  package let slot: NumberedName
  /// The keyring that it opened, where it was opened at a store.
  package var keyring: NumberedName?
  /// Those before it that have the bytes of their names, and that its master key does not open: of a stranger.
  private(set) var strangeKeyrings: [NumberedName: SealError] = [:]
  /// The file that says there is a repository was lost, and the slots said it: `sealift repair` stores it anew.
  package var lacksFile = false
  /// The configuration that counts there.
  private(set) var configuration: SealedConfiguration?
  /// Why no configuration can be read, where it is opened all the same: nothing is written there.
  private(set) var configurationLoss: (any Error)?
  package var lacksConfiguration: Bool { configurationLoss != nil }
  /// Whether this machine may note what it sees there (`provesPlace`).
  package var isPlaceProved = true
  /// What this machine knows of one then: `bringBackConfiguration` writes it back.
  private(set) var rememberedConfiguration: SealedConfiguration?
  package var remembersConfiguration: Bool { rememberedConfiguration != nil }

  package var id: RepositoryID { keys.repository }

  init(
    store: any ObjectStore, keys: SealingKeys, random: @escaping RandomSource, slot: NumberedName,
    keyring: NumberedName? = nil, lacksFile: Bool = false
  ) {
    let witnesses = [RepositoryFileName(of: keys.repository).objectName, slot.objectName, keyring?.objectName]
    self.store = DoubtingStore(store, witnesses: witnesses.compactMap { $0 })
    self.keys = keys
    self.random = random
    self.slot = slot
    self.keyring = keyring
    self.lacksFile = lacksFile
  }

  /// Finds the repository at a store and opens it (`Docs/Format.md` §9, step 1).
  ///
  /// Where the repository file was lost and there are versions, the slots name the repository: 64 bytes must not stand
  /// between a machine that died and its versions. But what has no file counts by versions of its own alone: an init that
  /// was interrupted leaves all but the file, and its passphrase must not lead beside the repository that is meant.
  /// - Parameters:
  ///   - state: where this machine remembers which slot opened (`rememberSlot`): that one is tried first; and the
  ///     configuration (`rememberConfiguration`).
  ///   - lackingFile: open one without a repository file also where there are no versions.
  ///   - lackingConfiguration: open one of which no configuration can be read, for reading alone.
  ///   - opening: opens a slot; of tests that count how often.
  /// - Throws: `RepositoryError` `.noRepository`, `.wrongKey`, `.ambiguousRepository`, `.damaged`, `.unsupported`;
  ///   `SealError` `.failed`, without memory; `StoreError`.
  package static func open(
    at store: any ObjectStore, with secret: SlotSecret, random: @escaping RandomSource = systemRandom,
    state: String? = nil, lackingFile: Bool = false, lackingConfiguration: Bool = false,
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
        if let lost = loss, let state {
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

  /// The one with the highest number that is authentic; nothing older takes its place, which would bring back keys that
  /// were retired.
  /// - Parameter strange: gets those that are passed over though they are what their names say.
  private static func newestKeyring(
    _ names: [NumberedName], master: MasterKey, repository: RepositoryID, at store: any ObjectStore,
    passing strange: inout [NumberedName: SealError]
  ) async throws -> (Keyring, NumberedName) {
    var problem: (any Error)?
    for name in NumberedName.newestFirst(names) {
      guard let bytes = try await readKeyring(name, among: names, at: store) else { continue }
      do throws(SealError) {
        return (try Keyring.open(bytes, name: name.digest, master: master, repository: repository), name)
      } catch {
        guard OpenedObject.isAuthentic(bytes, despite: error) else {
          problem = error
          if Digest.sha256(of: bytes) == name.digest { strange[name] = error }
          continue
        }
        guard error.code == .unsupported else {
          throw RepositoryError.malformed("keyring", below: Layout.keyrings, error)
        }
        throw RepositoryError(
          .unsupported, "this program cannot read the keyring of the repository", hint: "Install a newer sealift.",
          cause: error)
      }
    }
    throw RepositoryError(
      .damaged, "the key opens the repository, but no keyring can be read",
      hint: "Bring back the objects below keyring/ from a copy of the target; without them nothing can be read.",
      cause: problem)
  }

  /// The keyring of a name, or `nil` when it is gone. Where it cannot be read, only a whole copy of its own bytes stands
  /// in: another keyring in its place might be an older one.
  private static func readKeyring(
    _ name: NumberedName, among names: [NumberedName], at store: any ObjectStore
  ) async throws -> [UInt8]? {
    var problem: StoreError?
    let bytes = try await store.present(name.objectName, &problem)
    guard let unread = problem else { return bytes }
    for other in names where other.digest == name.digest && other != name {
      let copy = try await store.present(other.objectName, &problem)
      if let copy, Digest.sha256(of: copy) == name.digest { return copy }
    }
    throw unread
  }

  /// Looks whether the repository asks for what this program does not know.
  /// - Returns: the configuration that counts, or why nothing tells.
  /// - Throws: `.unsupported`, `.damaged` for what the configuration that counts says; `StoreError`.
  private static func newestConfiguration(
    _ names: [NumberedName], keys: SealingKeys, at store: any ObjectStore
  ) async throws -> (configuration: SealedConfiguration?, loss: (any Error)?) {
    var problem: SealError?
    var unread: StoreError?
    for name in NumberedName.newestFirst(names) {
      guard let bytes = try await store.present(name.objectName, &unread) else { continue }
      do throws(SealError) {
        let configuration = try SealedConfiguration(bytes, named: name, keys: keys)
        return (configuration, nil)
      } catch {
        guard OpenedObject.isAuthentic(bytes, despite: error) else {
          // Anybody can write that a format is newer: it counts where nothing else can be read.
          if error.code == .unsupported { problem = error }
          continue
        }
        guard error.code == .unsupported else {
          throw RepositoryError.malformed("configuration", below: Layout.configurations, error)
        }
        throw RepositoryError.unsupported(error)
      }
    }
    if let problem { throw RepositoryError.unsupported(problem) }
    if let unread { return (nil, unread) }
    let loss = RepositoryError(
      .damaged, "no configuration of repository \(keys.repository.hex) can be read",
      hint:
        "Where another machine has pushed or read there, `sealift repair` on that one writes the objects below config/ back, as it remembers them. Else bring them back from a copy of the target, or go on at a new target: `sealift copy` brings the versions there. Until then versions are listed, checked and restored, and nothing is written there."
    )
    return (nil, loss)
  }

  /// The same loss, where this machine remembers what is lost.
  private static func broughtBack(_ loss: any Error) -> any Error {
    let hint =
      "`sealift repair` on this machine writes the objects below config/ back, as it remembers them. Until then versions are listed, checked and restored, and nothing is written there."
    if var told = loss as? RepositoryError {
      told.hint = hint
      return told
    }
    guard var told = loss as? StoreError else { return loss }
    told.hint = [told.hint, hint].compactMap { $0 }.joined(separator: " ")
    return told
  }

  /// Of who is to tell whether all is well.
  /// - Throws: where no configuration can be read.
  package func demandConfiguration() throws {
    if let configurationLoss { throw configurationLoss }
  }
}

extension RepositoryError {
  fileprivate static func unsupported(_ cause: SealError) -> RepositoryError {
    RepositoryError(
      .unsupported, "the repository uses a feature this program does not know", hint: "Install a newer sealift.",
      cause: cause)
  }

  /// Whoever wrote it had the key; nothing older takes its place all the same.
  fileprivate static func malformed(_ what: String, below prefix: String, _ cause: SealError) -> RepositoryError {
    RepositoryError(
      .damaged, "the \(what) of the repository breaks the rules of its format",
      hint: "A program that had the key wrote it so. Bring back the objects below \(prefix) from a copy of the target.",
      cause: cause)
  }
}

extension NumberedName {
  /// The one that counts, if it is authentic, comes first (`Docs/Format.md` §5).
  static func newestFirst(_ names: [NumberedName]) -> [NumberedName] {
    names.sorted { ($0.number, $0.objectName.text) > ($1.number, $1.objectName.text) }
  }
}

extension Array where Element == ObjectInfo {
  /// The numbered names of a listing whose objects are whole: others are puts that never ended.
  func whole(below prefix: String) -> [NumberedName] {
    compactMap { info in NumberedName(info.name, prefix: prefix).flatMap { $0.length == info.size ? $0 : nil } }
  }

  /// Those of the others.
  func cut(below prefix: String) -> [NumberedName] {
    compactMap { info in NumberedName(info.name, prefix: prefix).flatMap { $0.length == info.size ? nil : $0 } }
  }
}

extension ObjectStore {
  /// The object, or `nil` when there is none (it may go between a listing and this).
  func present(_ name: ObjectName) async throws(StoreError) -> [UInt8]? {
    do {
      return try await get(name, range: nil)
    } catch  where error.code == .notFound {
      return nil
    }
  }

  /// The same for whoever has another copy to try.
  /// - Parameter unread: why it cannot be read though it is there, unless another could not before.
  func present(_ name: ObjectName, _ unread: inout StoreError?) async throws(StoreError) -> [UInt8]? {
    do {
      return try await present(name)
    } catch  where error.code == .unreadable {
      unread = unread ?? error
      return nil
    }
  }

  /// The same for whoever judges what is there: of one that cannot be read no byte is as it should be.
  func left(of name: ObjectName) async throws(StoreError) -> [UInt8]? {
    do {
      return try await present(name)
    } catch  where error.code == .unreadable {
      return []
    }
  }
}
