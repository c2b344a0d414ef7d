import Sealing

/// Gathers new units into frames and compresses them on other cores; frames come out in the order they were begun.
struct FrameMaker: ~Copyable {
  /// Plaintext of a frame, at most (`Docs/Format.md` §4.3).
  static let frameSize = 262_144
  private static let ahead = 3

  private let type: UnitType
  private let encoders: WorkerPool<FrameEncoder>
  private var bytes: [UInt8] = []
  private var lengths: [Int] = []
  private var fingerprints: [Fingerprint] = []
  private var ordinal: UInt32
  private var queue: [Task<EncodedFrame, any Error>] = []

  /// - Parameter firstOrdinal: the number of the first frame begun here, among all new frames of the push.
  init(_ type: UnitType, encoders: WorkerPool<FrameEncoder>, firstOrdinal: UInt32 = 0) {
    self.type = type
    self.encoders = encoders
    ordinal = firstOrdinal
  }

  deinit { for task in queue { task.cancel() } }

  /// True when frames should be taken before more units come.
  var isBusy: Bool { queue.count >= Self.ahead }

  /// Adds a unit and says where it will lie.
  mutating func add(_ unit: some Collection<UInt8>, _ fingerprint: Fingerprint) -> UnitLocation {
    if bytes.count + unit.count > Self.frameSize { endFrame() }
    let location = UnitLocation(pack: UnitLocation.newFrame, frame: ordinal, unit: UInt16(lengths.count))
    bytes.append(contentsOf: unit)
    lengths.append(unit.count)
    fingerprints.append(fingerprint)
    return location
  }

  /// The oldest frame begun, once it is encoded.
  mutating func next() async throws -> EncodedFrame? {
    guard !queue.isEmpty else { return nil }
    return try await queue.removeFirst().value
  }

  mutating func endFrame() {
    guard !lengths.isEmpty else { return }
    let frame = (type, bytes, lengths, fingerprints)
    queue.append(
      Task { [encoders] in
        try Task.checkCancellation()
        return try encoders.with { encoder in
          try frame.1.withUnsafeBytes {
            try encoder.encode(type: frame.0, units: $0, unitLengths: frame.2, fingerprints: frame.3)
          }
        }
      })
    ordinal += 1
    bytes = []
    bytes.reserveCapacity(Self.frameSize)
    lengths = []
    fingerprints = []
  }
}
