import CZstd

/// Expands the payload of frames (`Docs/Format.md` §4.4). Keeps its contexts. One thread at a time.
final class FrameExpander {
  private let context: OpaquePointer
  private var cellDecoder = CellFormDecoder()
  private var cellEncoder = CellFormEncoder()
  private var prefixForm: [UInt8] = []

  init() {
    guard let context = ZSTD_createDCtx() else { preconditionFailure("out of memory") }
    self.context = context
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Limits.windowLog)
  }

  deinit { ZSTD_freeDCtx(context) }

  /// The units of a frame, joined.
  /// - Parameter prefix: base units, joined; `nil` for a frame that rests on nothing.
  /// - Throws: `.malformed`.
  func expand(
    _ payload: [UInt8], codec: Codec, _ lengths: UnitLengths, prefix: UnsafeRawBufferPointer?
  ) throws(SealError) -> [UInt8] {
    guard codec.hasPrefix == (prefix != nil), (prefix?.count ?? 0) <= Limits.prefix else {
      throw SealError(.malformed, "the prefix of a delta frame is missing or too long")
    }
    switch codec {
    case .raw: return payload
    case .zstd, .zstdWithPrefix: return try decompress(payload, lengths.total...lengths.total, prefix: prefix)
    case .cells, .cellsWithPrefix:
      let pageSize = lengths[0]
      let form: [UInt8]
      if let prefix {
        guard prefix.count % pageSize == 0 else {
          throw SealError(.malformed, "the prefix of a delta frame is no pages of its size")
        }
        cellEncoder.encode(prefix, pageSize: pageSize, into: &prefixForm)
        form = try decompressForm(payload, lengths)
      } else {
        form = try decompress(payload, 1...CellForm.limit(pages: lengths.count, pageSize: pageSize), prefix: nil)
      }
      return try putTogether(form, lengths)
    }
  }

  private func decompressForm(_ payload: [UInt8], _ lengths: UnitLengths) throws(SealError) -> [UInt8] {
    var outcome: Result<[UInt8], SealError> = .success([])
    let limit = CellForm.limit(pages: lengths.count, pageSize: lengths[0])
    prefixForm.withUnsafeBytes { prefix in
      outcome = Result { () throws(SealError) in try decompress(payload, 1...limit, prefix: prefix) }
    }
    return try outcome.get()
  }

  private func putTogether(_ form: [UInt8], _ lengths: UnitLengths) throws(SealError) -> [UInt8] {
    var outcome: Result<[UInt8], SealError> = .success([])
    form.withUnsafeBytes { form in
      outcome = Result { () throws(SealError) in
        try cellDecoder.decode(form, pages: lengths.count, pageSize: lengths[0])
      }
    }
    return try outcome.get()
  }

  /// One zstd frame, its header checked before a byte is allocated for what it claims.
  private func decompress(
    _ payload: [UInt8], _ allowed: ClosedRange<Int>, prefix: UnsafeRawBufferPointer?
  ) throws(SealError) -> [UInt8] {
    guard let length = payload.withUnsafeBytes({ ZstdFrame.allowedLength($0, allowed) }) else {
      throw SealError(.malformed, "a compressed frame does not say what its record says")
    }
    var result = 0
    let plain = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      payload.withUnsafeBytes { bytes in
        // Raw content by definition of the call, also when it begins with a dictionary's magic.
        if let prefix { ZSTD_DCtx_refPrefix(context, prefix.baseAddress, prefix.count) }
        result = ZSTD_decompressDCtx(context, buffer.baseAddress, buffer.count, bytes.baseAddress, bytes.count)
        ZSTD_DCtx_reset(context, ZSTD_reset_session_only)
      }
      count = ZSTD_isError(result) != 0 ? 0 : min(result, length)
    }
    guard ZSTD_isError(result) == 0, plain.count == length else {
      throw SealError(.malformed, "a compressed frame cannot be decompressed")
    }
    return plain
  }
}
