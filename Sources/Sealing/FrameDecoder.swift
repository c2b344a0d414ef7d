import CZstd

/// Opens, decompresses and checks frames (`Docs/Format.md` §4.4). One thread at a time.
package final class FrameDecoder {
  private let fingerprinter: Fingerprinter
  private let context: OpaquePointer
  /// The cipher of the object whose frames come now: they mostly come in rows.
  private var cipher: (key: SecretKey, cipher: AuthenticatedCipher)?

  package init(keys: SealingKeys) {
    fingerprinter = Fingerprinter(keys)
    guard let context = ZSTD_createDCtx() else { preconditionFailure("out of memory") }
    self.context = context
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Limits.windowLog)
  }

  deinit { ZSTD_freeDCtx(context) }

  /// The units of a frame, joined; each proved by its fingerprint.
  /// - Parameters:
  ///   - sealed: ciphertext and tag.
  ///   - index: of the frame in its object.
  ///   - prefix: the base units of a frame with prefix, joined; `nil` for others.
  /// - Throws: `.truncated`, `.damaged`, `.malformed`.
  package func decode(
    _ sealed: ArraySlice<UInt8>, record: FrameRecord, index: Int, objectKeys: ObjectKeys, prefix: [UInt8]?
  ) throws(SealError) -> [UInt8] {
    guard sealed.count == Int(record.sealedLength) else {
      throw SealError(.truncated, "frame \(index) has \(sealed.count) of \(record.sealedLength) bytes")
    }
    let additional = ObjectKeys.additionalData(
      UInt32(index), final: false, plaintextLength: record.plaintextLength, codec: record.codec, frameID: record.frameID
    )
    guard
      let payload = cipher(for: objectKeys).open(
        sealed, nonce: objectKeys.nonce(UInt32(index), final: false), additional: additional)
    else { throw SealError(.damaged, "frame \(index) is damaged or forged") }
    let plain: [UInt8]
    switch record.codec {
    case .raw: plain = payload
    case .zstd: plain = try decompress(payload, record.plaintextLength, prefix: nil)
    case .zstdWithPrefix:
      guard let prefix, prefix.count <= Limits.prefix else {
        throw SealError(.malformed, "the prefix of a delta frame is missing or too long")
      }
      plain = try decompress(payload, record.plaintextLength, prefix: prefix)
    }
    guard plain.count == record.plaintextLength else {
      throw SealError(.malformed, "frame \(index) has another length")
    }
    try checkFingerprints(of: plain, record, index)
    return plain
  }

  private func cipher(for keys: ObjectKeys) -> AuthenticatedCipher {
    if let cipher, cipher.key === keys.key { return cipher.cipher }
    let made = keys.cipher()
    cipher = (keys.key, made)
    return made
  }

  /// One zstd frame, its header checked before a byte is allocated for what it claims.
  private func decompress(_ payload: [UInt8], _ length: Int, prefix: [UInt8]?) throws(SealError) -> [UInt8] {
    guard payload.withUnsafeBytes({ ZstdFrame.isAllowed($0, length: length) }) else {
      throw SealError(.malformed, "a compressed frame does not say what its record says")
    }
    var result = 0
    let plain = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      payload.withUnsafeBytes { bytes in
        if let prefix {
          prefix.withUnsafeBytes { prefix in
            // Raw content by definition of the call, also when it begins with a dictionary's magic.
            ZSTD_DCtx_refPrefix(context, prefix.baseAddress, prefix.count)
            result = decompressFrame(bytes, into: buffer)
          }
        } else {
          result = decompressFrame(bytes, into: buffer)
        }
      }
      count = ZSTD_isError(result) != 0 ? 0 : min(result, length)
    }
    guard ZSTD_isError(result) == 0 else { throw SealError(.malformed, "a compressed frame cannot be decompressed") }
    return plain
  }

  private func decompressFrame(_ bytes: UnsafeRawBufferPointer, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    defer { ZSTD_DCtx_reset(context, ZSTD_reset_session_only) }
    return ZSTD_decompressDCtx(context, buffer.baseAddress, buffer.count, bytes.baseAddress, bytes.count)
  }

  private func checkFingerprints(of plain: [UInt8], _ record: FrameRecord, _ index: Int) throws(SealError) {
    let fits = plain.withUnsafeBytes { bytes in
      var offset = 0
      for (unit, fingerprint) in record.fingerprints.enumerated() {
        let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + record.unitLengths[unit]])
        if fingerprinter.fingerprint(record.type, slice) != fingerprint { return false }
        offset += slice.count
      }
      return true
    }
    guard fits else { throw SealError(.damaged, "frame \(index) holds another content than its directory says") }
  }
}
