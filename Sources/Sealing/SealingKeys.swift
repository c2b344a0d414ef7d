/// All that sealing and opening needs, but for slots: the repository's id and its keyring.
package struct SealingKeys: Sendable {
  package let repository: RepositoryID
  package let keyring: Keyring

  package init(repository: RepositoryID, keyring: Keyring) {
    self.repository = repository
    self.keyring = keyring
  }

  /// The key of a kind of object in an epoch (`Docs/Format.md` §2).
  func kindKey(_ kind: ObjectKind, epoch: UInt32) throws(SealError) -> [UInt8] {
    guard let root = keyring.roots[epoch] else {
      throw SealError(.damaged, "an object says it was sealed in key epoch \(epoch), which the keyring does not know")
    }
    return hkdf(
      root.bytes, salt: repository.bytes, info: Array("sealift kind".utf8) + [kind.rawValue], count: 32)
  }
}
