import CZstd

/// Expands the payload of frames (`Docs/Format.md` §4.4). Keeps its contexts and buffers. One thread at a time.
final class FrameExpander {
  /// What a delta frame rests on.
  struct Prefix {
    /// Base units, joined.
    let units: UnsafeRawBufferPointer
    /// Their form, where it was made already.
    var form: UnsafeRawBufferPointer?
  }

  /// `nil` without memory for it: told when a frame needs it.
  private let context: OpaquePointer?
  private var cellDecoder = CellFormDecoder()
  private var prefixForm = CellFormEncoder()
  private var form = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  init() {
    context = ZSTD_createDCtx()
    if let context { ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Limits.windowLog) }
  }

  deinit {
    ZSTD_freeDCtx(context)
    form.deallocate()
  }

  /// The units of a frame, joined.
  /// - Parameters:
  ///   - prefix: `nil` for a frame that rests on nothing.
  ///   - output: as long as the units together; holds anything when this throws.
  /// - Throws: `.malformed`; `.failed` without memory.
  func expand(
    _ payload: UnsafeRawBufferPointer, codec: Codec, _ lengths: UnitLengths, prefix: Prefix?,
    into output: UnsafeMutableRawBufferPointer
  ) throws(SealError) {
    guard codec.hasPrefix == (prefix != nil), (prefix?.units.count ?? 0) <= Limits.prefix else {
      throw SealError(.malformed, "the prefix of a delta frame is missing or too long")
    }
    switch codec {
    case .raw:
      guard payload.count == output.count else { throw SealError(.malformed, "a frame has another length") }
      output.copyMemory(from: payload)
    case .zstd, .zstdWithPrefix: try decompress(payload, prefix: prefix?.units, into: output)
    case .cells, .cellsWithPrefix:
      let pageSize = lengths[0]
      let prefix = try prefix.map { prefix throws(SealError) in try formOf(prefix, pageSize: pageSize) }
      let limit = CellForm.limit(pages: lengths.count, pageSize: pageSize)
      let length = try contentLength(of: payload, within: 1...limit)
      if form.count < length {
        form.deallocate()
        form = .allocate(byteCount: limit, alignment: 16)
      }
      let form = UnsafeMutableRawBufferPointer(rebasing: form[..<length])
      try decompress(payload, prefix: prefix, into: form)
      try cellDecoder.decode(UnsafeRawBufferPointer(form), pages: lengths.count, pageSize: pageSize, into: output)
    }
  }

  /// The same, into memory of its own.
  func expand(
    _ payload: [UInt8], codec: Codec, _ lengths: UnitLengths, prefix: UnsafeRawBufferPointer?
  ) throws(SealError) -> [UInt8] {
    if codec == .raw, prefix == nil, payload.count == lengths.total { return payload }
    var failure: SealError?
    let plain = [UInt8](unsafeUninitializedCapacity: lengths.total) { buffer, count in
      let output = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<lengths.total])
      failure = payload.withUnsafeBytes { payload in
        do throws(SealError) {
          try expand(payload, codec: codec, lengths, prefix: prefix.map { Prefix(units: $0) }, into: output)
          return nil
        } catch { return error }
      }
      count = failure == nil ? lengths.total : 0
    }
    if let failure { throw failure }
    return plain
  }

  private func formOf(_ prefix: Prefix, pageSize: Int) throws(SealError) -> UnsafeRawBufferPointer {
    guard prefix.units.count % pageSize == 0 else {
      throw SealError(.malformed, "the prefix of a delta frame is no pages of its size")
    }
    if let form = prefix.form { return form }
    prefixForm.encode(prefix.units, pageSize: pageSize)
    return prefixForm.form
  }

  /// One zstd frame, its header checked before a byte is written.
  private func decompress(
    _ payload: UnsafeRawBufferPointer, prefix: UnsafeRawBufferPointer?, into output: UnsafeMutableRawBufferPointer
  ) throws(SealError) {
    _ = try contentLength(of: payload, within: output.count...output.count)
    guard let context else { throw .noMemory("zstd could not begin to decompress") }
    // Raw content by definition of the call, also when it begins with a dictionary's magic.
    if let prefix, ZSTD_isError(ZSTD_DCtx_refPrefix(context, prefix.baseAddress, prefix.count)) != 0 {
      throw .noMemory("zstd could not take a prefix")
    }
    let result = ZSTD_decompressDCtx(context, output.baseAddress, output.count, payload.baseAddress, payload.count)
    ZSTD_DCtx_reset(context, ZSTD_reset_session_only)
    guard ZSTD_getErrorCode(result) != ZSTD_error_memory_allocation else {
      throw .noMemory("zstd could not decompress")
    }
    guard ZSTD_isError(result) == 0, result == output.count else {
      throw SealError(.malformed, "a compressed frame cannot be decompressed")
    }
  }

  /// What the zstd frame says of its own length, before anything is allocated for it.
  private func contentLength(
    of payload: UnsafeRawBufferPointer, within allowed: ClosedRange<Int>
  ) throws(SealError) -> Int {
    guard let length = ZstdFrame.allowedLength(payload, allowed) else {
      throw SealError(.malformed, "a compressed frame does not say what its record says")
    }
    return length
  }
}
