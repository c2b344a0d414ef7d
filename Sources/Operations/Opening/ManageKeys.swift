import Repositories
import Sealing
import Storage

/// `sealift key`: the slots that open a repository.
package struct ManageKeys: Sendable {
  package struct Slot: Sendable {
    /// The first 8 hexadecimal digits of its hash.
    package var id: String
    /// `passphrase`, `key file` or `recovery key`; `damaged key` where no copy of it is whole.
    package var kind: String
    /// Milliseconds since 1970 UTC; `nil` of a damaged one.
    package var created: UInt64?
    /// The one the secret given now opens.
    package var current: Bool
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  package func list(at target: TargetAccess) async throws -> [Slot] {
    try await explained("listing the keys of", target) {
      // Slots and the keyring say all of it. A look lets no other repository in where what is remembered is spoilt.
      let repository = try await target.open(with: try await target.unlock(), world, isReading: true)
      return try await KeySlots(of: repository).list().map { Slot($0, in: repository) }
    }
  }

  /// Adds a slot for a passphrase or the content of a key file: written, read back, opened.
  package func add(_ secret: UnlockSecret, at target: TargetAccess) async throws -> Slot {
    try await explained("adding a key at", target) { try await add(secret.newSlotSecret(), at: target) }
  }

  /// Makes a recovery key, adds its slot and returns the text to print once.
  package func addRecoveryKey(at target: TargetAccess) async throws -> (slot: Slot, text: String) {
    try await explained("adding a recovery key at", target) {
      let key = try systemRandom(32)
      return (try await add(.recoveryKey(key), at: target), RecoveryKey.text(of: key))
    }
  }

  /// Removes a slot by an unambiguous prefix of its id; never the last one, nor the one in use unless `force`.
  package func remove(_ id: String, at target: TargetAccess, force: Bool) async throws -> Slot {
    try await explained("removing a key at", target) {
      let repository = try await target.open(world)
      let hiddenBefore = target.store.traits.hidden.count
      let slot = Slot(try await KeySlots(of: repository).remove(id, force: force), in: repository)
      if target.store.traits.hidden.count > hiddenBefore {
        world.reporter.notice(
          "\(target.name) keeps the slot as an older version: whoever may read those can open the repository with that key still"
        )
      }
      return slot
    }
  }

  private func add(_ secret: SlotSecret, at target: TargetAccess) async throws -> Slot {
    let repository = try await target.open(world)
    // Not before: the first that was typed may not have been the one that opened it.
    let current = try await target.unlock()
    let entry = try await KeySlots(of: repository).add(
      secret, current: current.slotSecret(), cost: SlotCost.current, now: world.now())
    return Slot(entry, in: repository)
  }

  private func explained<Result>(
    _ what: String, _ target: TargetAccess, _ body: () async throws -> Result
  ) async throws -> Result {
    do { return try await body() } catch { throw OperationError(error, doing: "\(what) \(target.name)") }
  }
}

extension ManageKeys.Slot {
  init(_ entry: KeySlots.Entry, in repository: Repository) {
    let kind =
      switch entry.derivation {
      case .passphrase: "passphrase"
      case .keyFile: "key file"
      case .recoveryKey: "recovery key"
      case nil: "damaged key"
      }
    self.init(id: entry.id, kind: kind, created: entry.createdAt, current: entry.name.digest == repository.slot.digest)
  }
}
