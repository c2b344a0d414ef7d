import Sealing

/// How much pages shrink in whole frames, by a look at some of them: what a first push of an image would store is guessed
/// from that where frames at hand, of older content perhaps, are not enough to go by.
struct PageDensity {
  /// A window for each so many bytes of the image, but never fewer or more than so many of them.
  private static let spacing = 4 << 20
  private static let counts = 32...128

  /// Bytes of pages that were looked at, and what frames of them take.
  private var plain = 0
  private var sealed = 0

  /// Sealed bytes for each byte; `nil` for an image of zeros.
  var value: Double? { plain > 0 ? Double(sealed) / Double(plain) : nil }

  /// Compresses whole frames' worth of pages in windows that lie evenly over the image, on all cores.
  /// - Parameter length: of the image, in bytes; it is finished.
  /// - Throws: what reading the image throws; `SealError` without memory.
  static func look(
    at source: MemberSource, length: Int, _ encoders: WorkerPool<FrameEncoder>
  ) async throws -> PageDensity {
    try await withThrowingTaskGroup(of: PageDensity.self) { group in
      for window in windows(over: length, unitSize: source.unitSize) {
        group.addTask { try look(at: source, window, encoders) }
      }
      return try await group.reduce(into: PageDensity()) { all, one in
        all.plain += one.plain
        all.sealed += one.sealed
      }
    }
  }

  /// In bytes: each begins with a page, and holds as many as a frame does.
  static func windows(over length: Int, unitSize: Int) -> [Range<Int>] {
    let units = length / unitSize
    let frame = Limits.framePlaintext / unitSize
    let count = min(max(length / spacing, counts.lowerBound), counts.upperBound)
    guard units > count * frame else { return everything(of: units, by: frame, unitSize) }
    return (0..<count).map { index in
      let first = index * (units - frame) / (count - 1)
      return first * unitSize..<(first + frame) * unitSize
    }
  }

  private static func everything(of units: Int, by frame: Int, _ unitSize: Int) -> [Range<Int>] {
    stride(from: 0, to: units, by: frame).map { $0 * unitSize..<min($0 + frame, units) * unitSize }
  }

  private static func look(
    at source: MemberSource, _ window: Range<Int>, _ encoders: WorkerPool<FrameEncoder>
  ) throws -> PageDensity {
    try Task.checkCancellation()
    let bytes = try source.read(window)
    var pages: [UInt8] = []
    pages.reserveCapacity(bytes.count)
    bytes.withUnsafeBytes { all in
      for start in stride(from: 0, to: all.count, by: source.unitSize) {
        let page = UnsafeRawBufferPointer(rebasing: all[start..<start + source.unitSize])
        // Zeros cost nothing, and are not counted as content.
        if !page.isAllZeros { pages.append(contentsOf: page) }
      }
    }
    guard !pages.isEmpty else { return PageDensity() }
    let lengths = Array(repeating: source.unitSize, count: pages.count / source.unitSize)
    let sealed = try encoders.with { encoder in
      try pages.withUnsafeBytes {
        try encoder.wholeLength(type: source.unitType, units: $0, unitLengths: lengths)
      }
    }
    return PageDensity(plain: pages.count, sealed: sealed)
  }
}
