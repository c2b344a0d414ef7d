package import Storage

/// A target a person named, with what opens it. The secret is asked for when it is needed, never earlier: a push of
/// an unchanged database needs no key.
package struct TargetAccess: Sendable {
  /// The name from the configuration, or the target's URL without secrets.
  package var name: String
  package var store: any ObjectStore
  package var unlock: @Sendable () async throws -> UnlockSecret
  /// Finds out what the target's server will ask for, and what opens the repository, before work is done that would be in
  /// vain without.
  package var prepare: @Sendable () async throws -> Void = {}
  /// Whether somebody typed the secret, and it has not been tried: who typed it is there to type it again. True once.
  package var isUntried: @Sendable () async -> Bool = { false }
  /// Another secret in the place of one that does not open the repository; `nil` where nobody can be asked.
  package var unlockAgain: @Sendable () async throws -> UnlockSecret? = { nil }

  package init(name: String, store: any ObjectStore, unlock: @escaping @Sendable () async throws -> UnlockSecret) {
    self.name = name
    self.store = store
    self.unlock = unlock
  }
}
