import CZstd

/// Units joined and compressed, ready to be sealed.
package struct EncodedFrame: Sendable {
  package let codec: Codec
  package let type: UnitType
  package let unitLengths: UnitLengths
  package let fingerprints: [Fingerprint]
  package let bases: [BaseRun]
  package let payload: [UInt8]

  package init(
    codec: Codec, type: UnitType, unitLengths: UnitLengths, fingerprints: [Fingerprint], bases: [BaseRun] = [],
    payload: [UInt8]
  ) {
    self.codec = codec
    self.type = type
    self.unitLengths = unitLengths
    self.fingerprints = fingerprints
    self.bases = bases
    self.payload = payload
  }

  package var plaintextLength: Int { unitLengths.total }
}

/// Compresses frames, with one context kept for all. One thread at a time.
package final class FrameEncoder {
  private let context: OpaquePointer
  private let level: Int32
  /// What zstd writes into, so that a frame keeps no more memory than its payload needs.
  private let output: UnsafeMutableRawBufferPointer

  /// - Parameter level: zstd's; 0 stores everything as it is.
  package init(level: Int32) {
    guard let context = ZSTD_createCCtx() else { preconditionFailure("out of memory") }
    self.context = context
    self.level = level
    output = .allocate(byteCount: ZSTD_compressBound(Limits.framePlaintext), alignment: 16)
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0)
  }

  deinit {
    ZSTD_freeCCtx(context)
    output.deallocate()
  }

  /// Units that do not shrink are stored as they are.
  /// - Parameters:
  ///   - units: all units, joined; at most 256 KiB.
  ///   - unitLengths: in bytes; their sum is the length of `units`.
  package func encode(
    type: UnitType, units: UnsafeRawBufferPointer, unitLengths: [Int], fingerprints: [Fingerprint]
  ) throws(SealError) -> EncodedFrame {
    let lengths = UnitLengths(unitLengths)
    precondition(
      units.count <= Limits.framePlaintext && lengths.total == units.count && lengths.count == fingerprints.count)
    var compressed: [UInt8]?
    if level != 0 {
      let result = ZSTD_compress2(context, output.baseAddress, output.count, units.baseAddress, units.count)
      guard ZSTD_isError(result) == 0 else { throw SealError(.failed, "zstd could not compress") }
      if result < units.count { compressed = Array(output[..<result]) }
    }
    return EncodedFrame(
      codec: compressed == nil ? .raw : .zstd, type: type, unitLengths: lengths, fingerprints: fingerprints,
      payload: compressed ?? Array(units))
  }
}
