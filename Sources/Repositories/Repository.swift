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
  /// The file that says there is a repository was lost, and the slots said it: `sealift repair` stores it anew.
  package var lacksFile = false

  package var id: RepositoryID { keys.repository }

  init(
    store: any ObjectStore, keys: SealingKeys, random: @escaping RandomSource, slot: NumberedName,
    keyring: NumberedName? = nil, lacksFile: Bool = false
  ) {
    self.store = DoubtingStore(store)
    self.keys = keys
    self.random = random
    self.slot = slot
    self.keyring = keyring
    self.lacksFile = lacksFile
  }

  /// Finds the repository at a store and opens it (`Docs/Format.md` §9, step 1).
  ///
  /// Where the repository file was lost and there are versions, the slots name the repository: 64 bytes must not stand
  /// between a machine that died and its versions.
  /// - Parameters:
  ///   - state: where this machine remembers which slot opened (`rememberSlot`): that one is tried first.
  ///   - lackingFile: open one without a repository file also where there are no versions.
  /// - Throws: `RepositoryError` `.noRepository`, `.wrongKey`, `.ambiguousRepository`, `.damaged`, `.unsupported`;
  ///   `SealError` `.failed`, without memory; `StoreError`.
  package static func open(
    at store: any ObjectStore, with secret: SlotSecret, random: @escaping RandomSource = systemRandom,
    state: String? = nil, lackingFile: Bool = false
  ) async throws -> Repository {
    let bare = store
    let store = DoubtingStore(bare)
    async let slotListing = store.list(prefix: Layout.slots)
    async let keyringListing = store.list(prefix: Layout.keyrings)
    async let configurationListing = store.list(prefix: Layout.configurations)
    var (candidates, stranger) = try await RepositoryFiles.look(at: store)
    let slots = try await slotListing.whole(below: Layout.slots)
    let lacksFile = candidates.isEmpty
    if lacksFile, !slots.isEmpty, try await lackingFile ? true : RepositoryFiles.areVersions(at: store) {
      candidates = try await repositories(named: slots, at: store)
    }
    let keyrings = try await keyringListing.whole(below: Layout.keyrings)
    let configurations = try await configurationListing.whole(below: Layout.configurations)
    guard !candidates.isEmpty else {
      throw stranger
        ?? RepositoryError(
          .noRepository, "there is no repository at \(store.traits.location)",
          hint: "Make one with `sealift init`, or check the target's address.")
    }

    var opened: [Repository] = []
    var seen = SlotsSeen()
    func open(_ candidates: [RepositoryID], lacksFile: Bool) async throws {
      for candidate in candidates {
        let last = state.flatMap { SlotMemory(in: StateFolder(reading: $0, repository: candidate)).remembered }
        guard
          let (master, slot) = try await openSlot(slots, with: secret, of: candidate, last: last, at: store, &seen)
        else { continue }
        let (keyring, name) = try await newestKeyring(keyrings, master: master, repository: candidate, at: store)
        let keys = SealingKeys(repository: candidate, keyring: keyring)
        try await checkConfiguration(configurations, keys: keys, at: store)
        opened.append(
          Repository(store: bare, keys: keys, random: random, slot: slot, keyring: name, lacksFile: lacksFile))
      }
    }
    try await open(candidates, lacksFile: lacksFile)
    // The file of another repository beside the slots of one whose file was lost.
    let others = seen.owners.subtracting(candidates).sorted { $0.hex < $1.hex }
    if opened.isEmpty, !lacksFile { try await open(others, lacksFile: true) }
    guard seen.whole > 0 else {
      throw RepositoryError(
        .damaged, "no key slot of the repository at \(store.traits.location) can be read",
        hint: "Bring back the objects below keys/ from a copy of the target; without them nothing can be read.")
    }
    return try await onlyOne(of: opened, at: store)
  }

  /// The ids that slots are bound to, ascending.
  private static func repositories(
    named slots: [NumberedName], at store: any ObjectStore
  ) async throws -> [RepositoryID] {
    var found: Set<RepositoryID> = []
    for name in slots where name.length == KeySlot.length {
      guard let bytes = try await store.present(name.objectName), Digest.sha256(of: bytes) == name.digest,
        let description = try? KeySlot.describe(bytes)
      else { continue }
      found.insert(description.repository)
    }
    return found.sorted { $0.hex < $1.hex }
  }

  /// After a race of two inits several may open: the one with versions counts.
  private static func onlyOne(of opened: [Repository], at store: any ObjectStore) async throws -> Repository {
    guard let first = opened.first else {
      throw RepositoryError(
        .wrongKey, "no key slot of the repository at \(store.traits.location) opens with this key",
        hint:
          "Check the passphrase or key file; a printed recovery key goes into a file for --recovery-key-file. `sealift key list`, with a key that works, shows every slot that exists."
      )
    }
    guard opened.count > 1 else { return first }
    var used: [Repository] = []
    for repository in opened where try await repository.hasVersions() { used.append(repository) }
    guard used.count < 2 else {
      throw RepositoryError(
        .ambiguousRepository, "\(used.count) repositories with versions lie at \(store.traits.location)",
        hint: "Move one of them to a target of its own: \(used.map(\.id.hex).joined(separator: ", ")).")
    }
    return used.first ?? opened.min { $0.id.hex < $1.id.hex } ?? first
  }

  private func hasVersions() async throws -> Bool {
    for info in try await store.list(prefix: Layout.versions) {
      guard let name = VersionName(info.name), name.length == info.size else { continue }
      do {
        _ = try await readManifest(name)
        return true
      } catch let error as StoreError where error.code != .notFound {
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

  /// What was found while slots were tried.
  private struct SlotsSeen {
    /// Slots that are whole, of the repositories that were asked for.
    var whole = 0
    var owners: Set<RepositoryID> = []
  }

  /// - Parameter last: the slot that this machine opened last.
  private static func openSlot(
    _ slots: [NumberedName], with secret: SlotSecret, of repository: RepositoryID, last: Digest?,
    at store: any ObjectStore, _ seen: inout SlotsSeen
  ) async throws -> (MasterKey, NumberedName)? {
    if let opened = try await openLast(slots, last, with: secret, of: repository, at: store) {
      seen.whole += 1
      return opened
    }
    // Each slot lies there twice.
    var found: [Digest: (name: NumberedName, bytes: [UInt8], work: Int)] = [:]
    for name in slots.sorted(by: { $0.number > $1.number })
    where name.length == KeySlot.length && found[name.digest] == nil {
      guard let bytes = try await store.present(name.objectName), Digest.sha256(of: bytes) == name.digest,
        let description = try? KeySlot.describe(bytes)
      else { continue }
      seen.owners.insert(description.repository)
      guard description.repository == repository else { continue }
      seen.whole += 1
      found[name.digest] = (name, bytes, description.cost.work)
    }
    // To try one costs a second, and memory. What asks for more than others comes last: who can write to the target could
    // have planted it.
    var refusal: SealError?
    for slot in found.values.sorted(by: { ($0.work, $1.name.number) < ($1.work, $0.name.number) }) {
      // A slot of another secret, another repository or a damaged one is passed over: one must open.
      do throws(SealError) {
        return (try KeySlot.open(slot.bytes, secret: secret, repository: repository), slot.name)
      } catch  where error.code == .failed {
        refusal = refusal ?? error
      } catch {
        continue
      }
    }
    // Not tried is not wrong: a person would look for another key.
    if let refusal { throw refusal }
    return nil
  }

  /// Opens the slot that opened last; `nil` where it is gone, damaged or opens with another secret.
  private static func openLast(
    _ slots: [NumberedName], _ last: Digest?, with secret: SlotSecret, of repository: RepositoryID,
    at store: any ObjectStore
  ) async throws -> (MasterKey, NumberedName)? {
    for name in slots where name.digest == last && name.length == KeySlot.length {
      guard let bytes = try await store.present(name.objectName), Digest.sha256(of: bytes) == name.digest
      else { continue }
      return (try? KeySlot.open(bytes, secret: secret, repository: repository)).map { ($0, name) }
    }
    return nil
  }

  /// The one with the highest number that is authentic; nothing older takes its place, which would bring back keys that
  /// were retired.
  private static func newestKeyring(
    _ names: [NumberedName], master: MasterKey, repository: RepositoryID, at store: any ObjectStore
  ) async throws -> (Keyring, NumberedName) {
    var problem: (any Error)?
    for name in NumberedName.newestFirst(names) {
      guard let bytes = try await store.present(name.objectName) else { continue }
      let meta: [UInt8]
      do throws(SealError) {
        meta = try Keyring.meta(of: bytes, name: name.digest, master: master, repository: repository)
      } catch {
        problem = error
        continue
      }
      do throws(SealError) {
        return (try Keyring(decoding: meta), name)
      } catch {
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

  private static func checkConfiguration(
    _ names: [NumberedName], keys: SealingKeys, at store: any ObjectStore
  ) async throws {
    var problem: SealError?
    for name in NumberedName.newestFirst(names) {
      guard let bytes = try await store.present(name.objectName) else { continue }
      let object: OpenedObject
      do throws(SealError) {
        object = try OpenedObject.open(bytes, kind: .configuration, name: name.digest, keys: keys)
      } catch {
        // Anybody can write that a format is newer: it counts where nothing else can be read.
        if error.code == .unsupported { problem = error }
        continue
      }
      do throws(SealError) {
        _ = try RepositoryConfiguration(decoding: object.directory.meta)
        return
      } catch {
        throw RepositoryError.unsupported(error)
      }
    }
    if let problem { throw RepositoryError.unsupported(problem) }
    throw RepositoryError(
      .damaged, "no configuration of repository \(keys.repository.hex) can be read",
      hint: "Bring back the objects below config/ from a copy of the target.")
  }
}

extension RepositoryError {
  fileprivate static func unsupported(_ cause: SealError) -> RepositoryError {
    RepositoryError(
      .unsupported, "the repository uses a feature this program does not know", hint: "Install a newer sealift.",
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
}
