/// Bytes that a machine keeps for itself, sealed with the root key of the current epoch: who lacks it reads and forges
/// nothing, and after a rotation what was kept before does not open any more.
///
/// ```
/// kept = salt 32 (random) ‖ AEAD(key, nonce = 12 zeros, aad = salt, plaintext)
/// key  = HKDF(root key of the current epoch, salt, "sealift local" ‖ repository id ‖ purpose, 32)
/// ```
/// Never at a target, so no part of the format. The key is used once, for its salt is fresh, so the zero nonce is safe.
package enum LocalSeal {
  private static let saltLength = 32
  private static let nonce = [UInt8](repeating: 0, count: 12)

  /// - Parameter purpose: what the bytes are, and of what: what was sealed for another purpose does not open.
  package static func seal(
    _ plain: [UInt8], purpose: String, keys: SealingKeys, random: RandomSource
  ) throws(SealError) -> [UInt8] {
    var sealed = try random(saltLength)
    let salt = sealed
    guard let key = key(purpose, salt, keys) else { throw SealError(.failed, "the keyring lacks its current key") }
    try AuthenticatedCipher(key: key).seal(plain, nonce: nonce, additional: salt, into: &sealed)
    return sealed
  }

  /// - Returns: `nil` unless this repository sealed exactly these bytes for that purpose, or without memory to tell.
  package static func open(_ sealed: [UInt8], purpose: String, keys: SealingKeys) -> [UInt8]? {
    guard sealed.count >= saltLength else { return nil }
    let salt = Array(sealed[..<saltLength])
    guard let key = key(purpose, salt, keys) else { return nil }
    return (try? AuthenticatedCipher(key: key).open(sealed[saltLength...], nonce: nonce, additional: salt)) ?? nil
  }

  private static func key(_ purpose: String, _ salt: [UInt8], _ keys: SealingKeys) -> SecretKey? {
    guard let root = keys.keyring.roots[keys.keyring.currentEpoch] else { return nil }
    let info = Array("sealift local".utf8) + keys.repository.bytes + Array(purpose.utf8)
    var material = hkdf(root.bytes, salt: salt, info: info, count: 32)
    defer { wipe(&material) }
    return SecretKey(material)
  }
}
