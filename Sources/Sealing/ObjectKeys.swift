/// The keys of one object: never used for another one (`Docs/Format.md` §4.2).
package struct ObjectKeys: Sendable {
  /// The index of the directory frame.
  static let directoryIndex: UInt32 = 0xFFFF_FFFF

  let key: SecretKey
  let commitment: [UInt8]
  private let baseNonce: [UInt8]

  init(header: Header, kindKey: [UInt8]) {
    var material = hkdf(
      kindKey, salt: header.salt, info: Array("sealift object".utf8) + header.encodedForKeys, count: 76)
    key = SecretKey(material[0..<32])
    commitment = Array(material[32..<64])
    baseNonce = Array(material[64..<76])
    wipe(&material)
  }

  func cipher() throws(SealError) -> AuthenticatedCipher { try AuthenticatedCipher(key: key) }

  /// Final flag and index, so no nonce is used twice under the object's key and no frame can take another's place.
  func nonce(_ index: UInt32, final: Bool) -> [UInt8] {
    var nonce = baseNonce
    if final { nonce[0] ^= 1 }
    for byte in 0..<4 { nonce[8 + byte] ^= UInt8(truncatingIfNeeded: index >> UInt32(24 - 8 * byte)) }
    return nonce
  }

  static func additionalData(
    _ index: UInt32, final: Bool, plaintextLength: Int, codec: Codec, frameID: Digest
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(index)
    writer.write(UInt8(final ? 1 : 0))
    writer.write(UInt32(plaintextLength))
    writer.write(codec.rawValue)
    writer.write(frameID.bytes)
    return writer.bytes
  }

  static func directoryAdditionalData(plaintextLength: Int) -> [UInt8] {
    additionalData(directoryIndex, final: true, plaintextLength: plaintextLength, codec: .raw, frameID: .zero)
  }
}
