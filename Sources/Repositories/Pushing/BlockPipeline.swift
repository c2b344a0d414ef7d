import Sealing

/// About a MiB of a member, read and fingerprinted on another core: the unit of work, so that no page hops between tasks.
struct FingerprintedBlock: Sendable {
  /// Index of the first unit in the member.
  let first: Int
  let bytes: [UInt8]
  let unitSize: Int
  let fingerprints: [Fingerprint]
  /// Per unit: full length and nothing but zeros.
  let zeros: [Bool]
  /// Samples of the units, where the member will be a base: tag and number of the unit.
  let samples: [(tag: UInt32, unit: Int)]
  /// Of the units, where the member is still growing.
  let sums: [UnitSum]

  /// All fingerprints, joined.
  var fingerprintBytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(16 * fingerprints.count)
    for fingerprint in fingerprints {
      withUnsafeBytes(of: fingerprint.high.bigEndian) { bytes.append(contentsOf: $0) }
      withUnsafeBytes(of: fingerprint.low.bigEndian) { bytes.append(contentsOf: $0) }
    }
    return bytes
  }

  /// The bytes of a unit inside `bytes`.
  func range(of unit: Int) -> Range<Int> { unit * unitSize..<min((unit + 1) * unitSize, bytes.count) }
}

/// Reads a member ahead, a few blocks at once, and hands them out in order.
struct BlockPipeline: ~Copyable {
  private static let blockSize = 1 << 20
  private static let ahead = 3

  private let source: MemberSource
  private let workers: WorkerPool<Fingerprinter>
  private let samples: SampleTable?
  private let sums: UnitSums?
  private var nextOffset = 0
  private var queue: [Task<FingerprintedBlock?, any Error>] = []

  /// - Parameters:
  ///   - samples: says which samples to take, if any.
  ///   - sums: how to sum the units up, if so.
  init(
    _ source: MemberSource, workers: WorkerPool<Fingerprinter>, samples: SampleTable? = nil, sums: UnitSums? = nil
  ) {
    self.source = source
    self.workers = workers
    self.samples = samples
    self.sums = sums
  }

  deinit { for task in queue { task.cancel() } }

  /// The next block, or `nil` at the end. One of a member that grows is waited for.
  mutating func next() async throws -> FingerprintedBlock? {
    while queue.count < Self.ahead, source.growth != nil || nextOffset < source.length { startBlock() }
    guard !queue.isEmpty else { return nil }
    return try await queue.removeFirst().value
  }

  private mutating func startBlock() {
    let size = max(source.unitSize, Self.blockSize / source.unitSize * source.unitSize)
    let start = nextOffset
    nextOffset += size
    queue.append(
      Task { [source, workers, samples, sums] in
        var end = start + size
        if let growth = source.growth {
          if let length = try await growth(end) { end = min(end, length) }
        } else {
          end = min(end, source.length)
        }
        guard start < end else { return nil }
        return try Self.fingerprint(start..<end, of: source, workers, samples: samples, sums: sums)
      })
  }

  /// - Parameter range: whole units.
  static func fingerprint(
    _ range: Range<Int>, of source: MemberSource, _ workers: WorkerPool<Fingerprinter>, samples: SampleTable?,
    sums summing: UnitSums?
  ) throws -> FingerprintedBlock {
    try Task.checkCancellation()
    let bytes = try source.read(range)
    let unitSize = source.unitSize
    var fingerprints: [Fingerprint] = []
    var zeros: [Bool] = []
    var found: [(tag: UInt32, unit: Int)] = []
    var sums: [UnitSum] = []
    // Free pages of a page copy: all of them have the same.
    var ofZeros: Fingerprint?
    workers.with { fingerprinter in
      bytes.withUnsafeBytes { all in
        for start in stride(from: 0, to: all.count, by: unitSize) {
          let unit = UnsafeRawBufferPointer(rebasing: all[start..<min(start + unitSize, all.count)])
          let isZeros = unit.count == unitSize && unit.isAllZeros
          let fingerprint = isZeros ? ofZeros : nil
          let made = fingerprint ?? fingerprinter.fingerprint(source.unitType, unit)
          if isZeros { ofZeros = made }
          fingerprints.append(made)
          zeros.append(isZeros)
          if let summing { sums.append(summing.sum(of: unit)) }
          samples?.samples(of: unit) { found.append(($0, (range.lowerBound + start) / unitSize)) }
        }
      }
    }
    return FingerprintedBlock(
      first: range.lowerBound / unitSize, bytes: bytes, unitSize: unitSize, fingerprints: fingerprints, zeros: zeros,
      samples: found, sums: sums)
  }
}

extension UnsafeRawBufferPointer {
  var isAllZeros: Bool {
    var index = 0
    while index + 8 <= count {
      if loadUnaligned(fromByteOffset: index, as: UInt64.self) != 0 { return false }
      index += 8
    }
    while index < count {
      if self[index] != 0 { return false }
      index += 1
    }
    return true
  }
}
