/// `sealift key`: the slots that open a repository.
package struct ManageKeys: Sendable {
  package struct Slot: Sendable {
    /// The first 8 hexadecimal digits of its hash.
    package var id: String
    /// `passphrase`, `key file` or `recovery key`.
    package var kind: String
    /// Milliseconds since 1970 UTC.
    package var created: UInt64
    /// The one the secret given now opens.
    package var current: Bool
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  package func list(at target: TargetAccess) async throws -> [Slot] { throw OperationError(.failed, "not here yet") }

  /// Adds a slot for a passphrase or the content of a key file: written, read back, opened.
  package func add(_ secret: UnlockSecret, at target: TargetAccess) async throws -> Slot {
    throw OperationError(.failed, "not here yet")
  }

  /// Makes a recovery key, adds its slot and returns the text to print once.
  package func addRecoveryKey(at target: TargetAccess) async throws -> (slot: Slot, text: String) {
    throw OperationError(.failed, "not here yet")
  }

  /// Removes a slot by an unambiguous prefix of its id; never the last one, nor the one in use unless `force`.
  package func remove(_ id: String, at target: TargetAccess, force: Bool) async throws -> Slot {
    throw OperationError(.failed, "not here yet")
  }
}
