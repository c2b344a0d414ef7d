import CZstd

/// Compresses frames, with one context kept for all. One thread at a time.
package final class FrameEncoder {
  /// Less than this level finds too little in a prefix.
  private static let leastDeltaLevel: Int32 = 3
  /// A delta that is not small at first is worth a harder look.
  private static let hardDeltaLevel: Int32 = 6

  private let context: OpaquePointer
  private let level: Int32
  /// What zstd writes into, so that a frame keeps no more memory than its payload needs.
  private let output: UnsafeMutableRawBufferPointer
  private var cells = CellFormEncoder()
  private let expander = FrameExpander()
  private var form: [UInt8] = []
  private var prefixForm: [UInt8] = []

  /// - Parameter level: zstd's; 0 stores everything as it is.
  package init(level: Int32) {
    guard let context = ZSTD_createCCtx() else { preconditionFailure("out of memory") }
    self.context = context
    self.level = level
    let longest = max(CellForm.limit(pages: Limits.framePlaintext / 512, pageSize: 512), Limits.framePlaintext)
    output = .allocate(byteCount: ZSTD_compressBound(longest), alignment: 16)
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0)
  }

  deinit {
    ZSTD_freeCCtx(context)
    output.deallocate()
  }

  /// A frame that rests on nothing. Units that do not shrink are stored as they are. What comes out was expanded again
  /// and compared.
  /// - Parameters:
  ///   - units: all units, joined; at most 256 KiB.
  ///   - unitLengths: in bytes; their sum is the length of `units`.
  package func encode(
    type: UnitType, units: UnsafeRawBufferPointer, unitLengths: [Int], fingerprints: [Fingerprint]
  ) throws(SealError) -> EncodedFrame {
    let lengths = UnitLengths(unitLengths)
    precondition(
      units.count <= Limits.framePlaintext && lengths.total == units.count && lengths.count == fingerprints.count)
    let coded = try whole(type, units, lengths)
    try check(coded, units, lengths, prefix: nil)
    return EncodedFrame(
      codec: coded.codec, type: type, unitLengths: lengths, fingerprints: fingerprints, payload: coded.payload)
  }

  /// A delta frame, or a whole one where a delta does not pay.
  /// - Parameters:
  ///   - prefix: base units, joined; at most 1 MiB.
  ///   - overhead: bytes that naming the bases costs.
  package func encode(
    type: UnitType, units: UnsafeRawBufferPointer, unitLengths: [Int], fingerprints: [Fingerprint],
    prefix: UnsafeRawBufferPointer, isInPlace: Bool = false, overhead: Int
  ) throws(SealError) -> EncodedFrame {
    guard level != 0, !prefix.isEmpty else {
      return try encode(type: type, units: units, unitLengths: unitLengths, fingerprints: fingerprints)
    }
    let lengths = UnitLengths(unitLengths)
    precondition(
      units.count <= Limits.framePlaintext && lengths.total == units.count && lengths.count == fingerprints.count
        && prefix.count <= Limits.prefix)
    var best = try isInPlace ? deltaInPlace(type, units, lengths, prefix) : delta(type, units, lengths, prefix)
    var prefix: UnsafeRawBufferPointer? = prefix
    if best.payload.count > units.count / 8 {
      let whole = try whole(type, units, lengths)
      // A whole frame is worth more: others can rest on it, and it is read alone.
      if (best.payload.count + overhead) * 8 >= whole.payload.count * 7 {
        best = whole
        prefix = nil
      }
    }
    try check(best, units, lengths, prefix: prefix)
    return EncodedFrame(
      codec: best.codec, type: type, unitLengths: lengths, fingerprints: fingerprints, payload: best.payload)
  }

  private typealias Coded = (codec: Codec, payload: [UInt8])

  private func whole(
    _ type: UnitType, _ units: UnsafeRawBufferPointer, _ lengths: UnitLengths
  ) throws(SealError) -> Coded {
    guard level != 0 else { return (.raw, Array(units)) }
    let inCells = takeApart(type, units, lengths)
    let count = inCells ? try compressForm(level, prefix: false) : try compress(units, level, prefix: nil)
    guard count < units.count else { return (.raw, Array(units)) }
    return (inCells ? .cells : .zstd, Array(output[..<count]))
  }

  /// Pages that were changed in place are more alike as they are: where that is so, nothing is taken apart.
  private func deltaInPlace(
    _ type: UnitType, _ units: UnsafeRawBufferPointer, _ lengths: UnitLengths, _ prefix: UnsafeRawBufferPointer
  ) throws(SealError) -> Coded {
    let count = try compress(units, max(level, Self.leastDeltaLevel), prefix: prefix)
    if count <= units.count / 16 { return (.zstdWithPrefix, Array(output[..<count])) }
    return try delta(type, units, lengths, prefix)
  }

  private func delta(
    _ type: UnitType, _ units: UnsafeRawBufferPointer, _ lengths: UnitLengths, _ prefix: UnsafeRawBufferPointer
  ) throws(SealError) -> Coded {
    let first = max(level, Self.leastDeltaLevel)
    guard takeApart(type, units, lengths) else {
      return (.zstdWithPrefix, Array(output[..<(try compress(units, first, prefix: prefix))]))
    }
    cells.encode(prefix, pageSize: lengths[0], into: &prefixForm)
    let count = try compressForm(first, prefix: true)
    var best: Coded = (.cellsWithPrefix, Array(output[..<count]))
    guard count > units.count / 32 else { return best }
    let harder = try compressForm(max(level, Self.hardDeltaLevel), prefix: true)
    if harder < best.payload.count { best.payload = Array(output[..<harder]) }
    // Pages that were changed in place are more alike as they are.
    let plain = try compress(units, first, prefix: prefix)
    if plain < best.payload.count { best = (.zstdWithPrefix, Array(output[..<plain])) }
    return best
  }

  /// Pages in the form of cells, when most of them are b-tree pages.
  private func takeApart(_ type: UnitType, _ units: UnsafeRawBufferPointer, _ lengths: UnitLengths) -> Bool {
    guard type == .page else { return false }
    return cells.encode(units, pageSize: lengths[0], into: &form) * 2 >= lengths.count
  }

  private func compressForm(_ level: Int32, prefix: Bool) throws(SealError) -> Int {
    var outcome: Result<Int, SealError> = .success(0)
    form.withUnsafeBytes { form in
      prefixForm.withUnsafeBytes { prefixForm in
        outcome = Result { () throws(SealError) in try compress(form, level, prefix: prefix ? prefixForm : nil) }
      }
    }
    return try outcome.get()
  }

  /// - Returns: how many bytes of `output` are the zstd frame.
  private func compress(
    _ bytes: UnsafeRawBufferPointer, _ level: Int32, prefix: UnsafeRawBufferPointer?
  ) throws(SealError) -> Int {
    ZSTD_CCtx_reset(context, ZSTD_reset_session_only)
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
    if let prefix {
      ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, Limits.windowLog)
      // Raw content by definition of the call, also when it begins with a dictionary's magic.
      ZSTD_CCtx_refPrefix(context, prefix.baseAddress, prefix.count)
    } else {
      ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 0)
    }
    let result = ZSTD_compress2(context, output.baseAddress, output.count, bytes.baseAddress, bytes.count)
    guard ZSTD_isError(result) == 0 else { throw SealError(.failed, "zstd could not compress") }
    return result
  }

  /// Expands what was coded as a reader would, and compares.
  private func check(
    _ coded: Coded, _ units: UnsafeRawBufferPointer, _ lengths: UnitLengths, prefix: UnsafeRawBufferPointer?
  ) throws(SealError) {
    let expanded = try? expander.expand(coded.payload, codec: coded.codec, lengths, prefix: prefix)
    guard let expanded, expanded.withUnsafeBytes({ $0.holdsSame(as: units) }) else {
      throw SealError(
        .failed, "a frame that was just compressed does not expand to what it was made from",
        hint: "Nothing was stored. This machine's memory may be failing; run a memory test.")
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Compares eight bytes at a time.
  func holdsSame(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    var difference: UInt64 = 0
    var index = 0
    while index + 8 <= count {
      difference |=
        loadUnaligned(fromByteOffset: index, as: UInt64.self)
        ^ other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < count {
      difference |= UInt64(self[index] ^ other[index])
      index += 1
    }
    return difference == 0
  }
}
