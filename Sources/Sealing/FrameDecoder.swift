/// Opens, decompresses and checks frames (`Docs/Format.md` §4.4). One thread at a time.
package final class FrameDecoder {
  private let fingerprinter: Fingerprinter
  private let expander = FrameExpander()
  /// The cipher of the object whose frames come now: they mostly come in rows.
  private var cipher: (key: SecretKey, cipher: AuthenticatedCipher)?
  /// Of the units of the frame decoded and proved last: 16 bytes each. Empty when it was not proved.
  package private(set) var fingerprints: [UInt8] = []

  package init(keys: SealingKeys) { fingerprinter = Fingerprinter(keys) }

  /// The units of a frame, joined; proved by their fingerprints. They are authentic either way.
  /// - Parameters:
  ///   - sealed: ciphertext and tag.
  ///   - index: of the frame in its object.
  ///   - prefix: the base units of a frame with prefix, joined; `nil` for others.
  ///   - proving: false for a caller that computes all fingerprints later, from where it put the units. Only they prove
  ///     that the prefix was the right one, and that nothing went wrong since the units were read.
  /// - Throws: `.truncated`, `.damaged`, `.malformed`, `.failed`.
  package func decode(
    _ sealed: ArraySlice<UInt8>, record: FrameRecord, index: Int, objectKeys: ObjectKeys, prefix: [UInt8]?,
    proving: Bool = true
  ) throws(SealError) -> [UInt8] {
    let payload = try open(sealed, record: record, index: index, objectKeys: objectKeys)
    let plain: [UInt8]
    if let prefix, record.codec.hasPrefix {
      var outcome: Result<[UInt8], SealError> = .success([])
      prefix.withUnsafeBytes { prefix in
        outcome = Result { () throws(SealError) in
          try expander.expand(payload, codec: record.codec, record.unitLengths, prefix: prefix)
        }
      }
      plain = try outcome.get()
    } else {
      plain = try expander.expand(payload, codec: record.codec, record.unitLengths, prefix: nil)
    }
    guard plain.count == record.plaintextLength else {
      throw SealError(.malformed, "frame \(index) has another length")
    }
    fingerprints = []
    if proving { try checkFingerprints(of: plain, record, index) }
    return plain
  }

  /// The payload of a frame, authentic but not expanded.
  func open(
    _ sealed: ArraySlice<UInt8>, record: FrameRecord, index: Int, objectKeys: ObjectKeys
  ) throws(SealError) -> [UInt8] {
    guard sealed.count == Int(record.sealedLength) else {
      throw SealError(.truncated, "frame \(index) has \(sealed.count) of \(record.sealedLength) bytes")
    }
    let additional = ObjectKeys.additionalData(
      UInt32(index), final: false, plaintextLength: record.plaintextLength, codec: record.codec, frameID: record.frameID
    )
    guard
      let payload = try cipher(for: objectKeys).open(
        sealed, nonce: objectKeys.nonce(UInt32(index), final: false), additional: additional)
    else { throw SealError(.damaged, "frame \(index) is damaged or forged") }
    return payload
  }

  private func cipher(for keys: ObjectKeys) throws(SealError) -> AuthenticatedCipher {
    if let cipher, cipher.key === keys.key { return cipher.cipher }
    let made = try keys.cipher()
    cipher = (keys.key, made)
    return made
  }

  private func checkFingerprints(of plain: [UInt8], _ record: FrameRecord, _ index: Int) throws(SealError) {
    var writer = ByteWriter()
    plain.withUnsafeBytes { bytes in
      var offset = 0
      for length in record.unitLengths {
        let unit = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
        let fingerprint = fingerprinter.fingerprint(record.type, unit)
        writer.write(fingerprint.high)
        writer.write(fingerprint.low)
        offset += length
      }
    }
    fingerprints = writer.bytes
    guard Digest.sha256(of: fingerprints) == record.frameID else {
      throw SealError(.damaged, "frame \(index) holds another content than its directory says")
    }
  }
}
