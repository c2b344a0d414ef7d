import CZstd

/// Compresses frames, with one context kept for all. One thread at a time.
package final class FrameEncoder {
  /// Less than this level finds too little in a prefix.
  private static let leastDeltaLevel: Int32 = 3
  /// In the form of cells a delta is worth a harder look: those of rows that have moved are found by short matches.
  private static let cellDeltaLevel: Int32 = 6
  /// Levels above `cellDeltaLevel` are slow, most of all where there is nothing to find: a quick look comes first, and may
  /// suffice.
  private static let quickLevel: Int32 = 3

  /// `nil` without memory for it: told when a frame needs it.
  private let context: OpaquePointer?
  private let level: Int32
  /// What zstd writes into, so that a frame keeps no more memory than its payload needs.
  private let output: UnsafeMutableRawBufferPointer
  private var form = CellFormEncoder()
  private var prefixForm = CellFormEncoder()
  private var inPlace = PagesInPlace()
  private let expander = FrameExpander()
  private let expanded: UnsafeMutableRawBufferPointer

  /// - Parameter level: zstd's; 0 stores everything as it is.
  package init(level: Int32) {
    context = ZSTD_createCCtx()
    self.level = level
    let longest = max(CellForm.limit(pages: Limits.framePlaintext / 512, pageSize: 512), Limits.framePlaintext)
    output = .allocate(byteCount: ZSTD_compressBound(longest), alignment: 16)
    expanded = .allocate(byteCount: Limits.framePlaintext, alignment: 16)
    if let context { ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0) }
  }

  deinit {
    ZSTD_freeCCtx(context)
    output.deallocate()
    expanded.deallocate()
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

  /// What a frame that rests on nothing would take of an object, sealed. Bytes.
  /// - Parameters:
  ///   - units: all units, joined; at most 256 KiB.
  ///   - unitLengths: in bytes; their sum is the length of `units`.
  package func wholeLength(
    type: UnitType, units: UnsafeRawBufferPointer, unitLengths: [Int]
  ) throws(SealError) -> Int {
    let lengths = UnitLengths(unitLengths)
    precondition(units.count <= Limits.framePlaintext && lengths.total == units.count)
    return try whole(type, units, lengths).payload.count + 16
  }

  /// A delta frame, or a whole one where a delta does not pay.
  /// - Parameters:
  ///   - prefix: base units, joined; at most 1 MiB.
  ///   - isInPlace: nearly all units hold most of what their base units hold, in the same places.
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
    if isSlow, Self.isNearlyNoise(try compress(units, .delta(Self.quickLevel), prefix: prefix), of: units.count) {
      return try encode(type: type, units: units, unitLengths: unitLengths, fingerprints: fingerprints)
    }
    var best = try delta(type, units, lengths, prefix, isInPlace: isInPlace)
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
    func compressed(_ level: Int32) throws(SealError) -> Int {
      inCells ? try compress(form.form, .cells(level)) : try compress(units, .plain(level))
    }
    var count = try compressed(isSlow ? Self.quickLevel : level)
    if isSlow, !Self.isNearlyNoise(count, of: units.count) { count = try compressed(level) }
    guard count < units.count else { return (.raw, Array(units)) }
    return (inCells ? .cells : .zstd, Array(output[..<count]))
  }

  private var isSlow: Bool { level > Self.cellDeltaLevel }

  /// A quick look saved less than a sixteenth: a hard one would find hardly more.
  private static func isNearlyNoise(_ count: Int, of length: Int) -> Bool { count > length - length / 16 }

  /// Pages that stayed in place are more alike as they are. Where that is known to be so, by `isInPlace`, taking them apart
  /// is only tried when they come to more than a sixteenth; where a look at a few words says so, to a sixty-fourth.
  private func delta(
    _ type: UnitType, _ units: UnsafeRawBufferPointer, _ lengths: UnitLengths, _ prefix: UnsafeRawBufferPointer,
    isInPlace: Bool
  ) throws(SealError) -> Coded {
    let answer: PagesInPlace.Answer =
      isInPlace || type != .page ? .most : inPlace.look(units, prefix, pageSize: lengths[0])
    var plain: Coded?
    if answer == .most {
      let coded = try compressPlain(units, prefix)
      if coded.payload.count <= units.count / (isInPlace ? 16 : 64) { return coded }
      plain = coded
    }
    guard takeApart(type, units, lengths) else {
      if let plain { return plain }
      return try compressPlain(units, prefix)
    }
    prefixForm.encode(prefix, pageSize: lengths[0])
    let count = try compress(form.form, .delta(max(level, Self.cellDeltaLevel)), prefix: prefixForm.form)
    if let plain, plain.payload.count <= count { return plain }
    let best: Coded = (.cellsWithPrefix, Array(output[..<count]))
    if answer == .some, count > units.count / 32 {
      let plain = try compressPlain(units, prefix)
      if plain.payload.count < best.payload.count { return plain }
    }
    return best
  }

  private func compressPlain(
    _ units: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer
  ) throws(SealError) -> Coded {
    let count = try compress(units, .delta(max(level, Self.leastDeltaLevel)), prefix: prefix)
    return (.zstdWithPrefix, Array(output[..<count]))
  }

  /// Pages in the form of cells, when most of them are b-tree pages.
  private func takeApart(_ type: UnitType, _ units: UnsafeRawBufferPointer, _ lengths: UnitLengths) -> Bool {
    guard type == .page else { return false }
    return form.encode(units, pageSize: lengths[0]) * 2 >= lengths.count
  }

  /// - Returns: how many bytes of `output` are the zstd frame.
  private func compress(
    _ bytes: UnsafeRawBufferPointer, _ effort: Effort, prefix: UnsafeRawBufferPointer? = nil
  ) throws(SealError) -> Int {
    guard let context else { throw .noMemory("zstd could not begin to compress") }
    ZSTD_CCtx_reset(context, ZSTD_reset_session_only)
    effort.set(context)
    // Raw content by definition of the call, also when it begins with a dictionary's magic.
    if let prefix { ZSTD_CCtx_refPrefix(context, prefix.baseAddress, prefix.count) }
    let result = ZSTD_compress2(context, output.baseAddress, output.count, bytes.baseAddress, bytes.count)
    guard ZSTD_isError(result) == 0 else { throw .noMemory("zstd could not compress") }
    return result
  }

  /// Expands what was coded as a reader would, and compares.
  private func check(
    _ coded: Coded, _ units: UnsafeRawBufferPointer, _ lengths: UnitLengths, prefix: UnsafeRawBufferPointer?
  ) throws(SealError) {
    let plain = UnsafeMutableRawBufferPointer(rebasing: expanded[..<lengths.total])
    // The form of the prefix is that of the same bytes, whoever makes it: once is enough.
    let form = coded.codec == .cellsWithPrefix ? prefixForm.form : nil
    let isSame = coded.payload.withUnsafeBytes { payload in
      do throws(SealError) {
        try expander.expand(
          payload, codec: coded.codec, lengths, prefix: prefix.map { .init(units: $0, form: form) }, into: plain)
        return UnsafeRawBufferPointer(plain).holdsSame(as: units)
      } catch { return false }
    }
    guard isSame else {
      throw SealError(
        .failed, "a frame that was just compressed does not expand to what it was made from",
        hint: "Nothing was stored. This machine's memory may be failing; run a memory test.")
    }
  }
}

/// What zstd is told of a frame; 0 leaves it to the level.
private struct Effort {
  let level: Int32
  var windowLog: Int32 = 0
  var hashLog: Int32 = 0
  var minMatch: Int32 = 0

  static func plain(_ level: Int32) -> Effort { Effort(level: level) }

  static func cells(_ level: Int32) -> Effort {
    // Cells are short and alike: at level 1 a table half as large, of five bytes, finds as much in less time.
    level == 1 ? Effort(level: 1, hashLog: 13, minMatch: 5) : Effort(level: level)
  }

  static func delta(_ level: Int32) -> Effort { Effort(level: level, windowLog: Limits.windowLog) }

  /// Sets all that ever differ, so that none is left from the frame before.
  func set(_ context: OpaquePointer) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, windowLog)
    ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, hashLog)
    ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, minMatch)
  }
}

extension UnsafeRawBufferPointer {
  func holdsSame(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let base = baseAddress, let otherBase = other.baseAddress else { return true }
    return sl_are_same(base, otherBase, count) != 0
  }
}
