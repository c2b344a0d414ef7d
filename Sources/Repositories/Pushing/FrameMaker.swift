import Sealing

/// Gathers new units into frames and compresses them on other cores; frames come out in the order they were begun.
struct FrameMaker: ~Copyable {
  /// Plaintext of a frame, at most (`Docs/Format.md` §4.3).
  static let frameSize = 262_144
  /// Units of a frame, at most: its record lists their lengths and fingerprints.
  private static let mostUnits = 4096
  private static let ahead = 3

  private let type: UnitType
  private let encoders: WorkerPool<FrameEncoder>
  private let bases: (any FrameBases)?
  /// Whether there is something that the units added from now on may rest on, themselves. They share no frame with those
  /// that have nothing: a frame is a delta, or whole, for all of its units.
  var haveBase = true
  private var frameHasBase = true
  private var bytes: [UInt8] = []
  private var lengths: [Int] = []
  private var fingerprints: [Fingerprint] = []
  private var positions: [Int] = []
  private var ordinal: UInt32
  private var queue: [Task<MadeFrame, any Error>] = []

  /// - Parameters:
  ///   - bases: for delta frames; `nil` for whole ones.
  ///   - firstOrdinal: the number of the first frame begun here, among all new frames of the push.
  init(
    _ type: UnitType, encoders: WorkerPool<FrameEncoder>, bases: (any FrameBases)? = nil, firstOrdinal: UInt32 = 0
  ) {
    self.type = type
    self.encoders = encoders
    self.bases = bases
    ordinal = firstOrdinal
  }

  deinit { for task in queue { task.cancel() } }

  /// True when frames should be taken before more units come.
  var isBusy: Bool { queue.count >= Self.ahead }

  /// Adds a unit and says where it will lie.
  /// - Parameter position: its number in its member.
  mutating func add(_ unit: ArraySlice<UInt8>, _ fingerprint: Fingerprint, position: Int) -> UnitLocation {
    let isFull = bytes.count + unit.count > Self.frameSize || lengths.count == Self.mostUnits
    if isFull || haveBase != frameHasBase { endFrame() }
    frameHasBase = haveBase
    let location = UnitLocation(pack: UnitLocation.newFrame, frame: ordinal, unit: UInt16(lengths.count))
    bytes.append(contentsOf: unit)
    lengths.append(unit.count)
    fingerprints.append(fingerprint)
    positions.append(position)
    return location
  }

  /// The oldest frame begun, once it is encoded.
  mutating func next() async throws -> MadeFrame? {
    guard !queue.isEmpty else { return nil }
    return try await queue.removeFirst().value
  }

  mutating func endFrame() {
    guard !lengths.isEmpty else { return }
    let work = Work(type: type, bytes: bytes, lengths: lengths, fingerprints: fingerprints, positions: positions)
    queue.append(
      Task { [encoders, bases] in
        try Task.checkCancellation()
        let frame = try encoders.with { try work.encode(with: $0, bases) }
        bases?.note(frame, positions: work.positions, lengths: work.lengths)
        return frame
      })
    ordinal += 1
    bytes = []
    bytes.reserveCapacity(Self.frameSize)
    lengths = []
    fingerprints = []
    positions = []
  }

  private struct Work: Sendable {
    let type: UnitType
    let bytes: [UInt8]
    let lengths: [Int]
    let fingerprints: [Fingerprint]
    let positions: [Int]

    func encode(with encoder: FrameEncoder, _ bases: (any FrameBases)?) throws(SealError) -> MadeFrame {
      var outcome: Result<MadeFrame, SealError>?
      bytes.withUnsafeBytes { units in
        outcome = Result { () throws(SealError) in try encode(units, with: encoder, bases) }
      }
      guard let outcome else { throw SealError(.failed, "a frame could not be encoded") }
      return try outcome.get()
    }

    private func encode(
      _ units: UnsafeRawBufferPointer, with encoder: FrameEncoder, _ bases: (any FrameBases)?
    ) throws(SealError) -> MadeFrame {
      let choice = bases?.choose(for: units, positions: positions, fingerprints: fingerprints) ?? .init()
      guard !choice.bases.isEmpty else {
        return MadeFrame(
          try encoder.encode(type: type, units: units, unitLengths: lengths, fingerprints: fingerprints))
      }
      var outcome: Result<EncodedFrame, SealError>?
      choice.prefix.withUnsafeBytes { prefix in
        outcome = Result { () throws(SealError) in
          // What a delta's record costs more than a whole frame's: the frame id and runs instead of fingerprints.
          try encoder.encode(
            type: type, units: units, unitLengths: lengths, fingerprints: fingerprints, prefix: prefix,
            isInPlace: choice.isInPlace, overhead: 34 + 10 * choice.bases.count - 16 * lengths.count)
        }
      }
      guard let outcome else { throw SealError(.failed, "a frame could not be encoded") }
      return MadeFrame(try outcome.get(), bases: choice.bases)
    }
  }
}
