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
  var strangeKeyrings: [NumberedName: SealError] = [:]
  /// The file that says there is a repository was lost, and the slots said it: `sealift repair` stores it anew.
  package var lacksFile = false
  /// The configuration that counts there.
  var configuration: SealedConfiguration?
  /// Why no configuration can be read, where it is opened all the same: nothing is written there.
  var configurationLoss: (any Error)?
  package var lacksConfiguration: Bool { configurationLoss != nil }
  /// Whether this machine may note what it sees there (`provesPlace`).
  package var isPlaceProved = true
  /// What this machine knows of one then: `bringBackConfiguration` writes it back.
  var rememberedConfiguration: SealedConfiguration?
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

  /// Of who is to tell whether all is well.
  /// - Throws: where no configuration can be read.
  package func demandConfiguration() throws {
    if let configurationLoss { throw configurationLoss }
  }
}
