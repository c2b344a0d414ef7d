/// Units a delta frame takes its prefix from (`Docs/Format.md` §4.3).
package struct BaseRun: Sendable, Equatable, BitwiseCopyable {
  /// Index into the directory's base packs; `nil` is the object itself.
  package let pack: UInt16?
  package let frame: UInt32
  package let firstUnit: UInt16
  package let count: UInt16

  package init(pack: UInt16?, frame: UInt32, firstUnit: UInt16, count: UInt16) {
    self.pack = pack
    self.frame = frame
    self.firstUnit = firstUnit
    self.count = count
  }
}

/// What a directory says of one frame.
package struct FrameRecord: Sendable, Equatable {
  /// Where the frame begins in the object, in bytes.
  package let offset: Int
  /// Ciphertext and tag, in bytes.
  package let sealedLength: UInt32
  package let codec: Codec
  package let type: UnitType
  /// Length of each unit, in bytes.
  package let unitLengths: UnitLengths
  /// Binds the frame to its content: hashed over the fingerprints of its units.
  package let frameID: Digest
  /// Of each unit; empty for a delta frame, whose directory states the frame id alone.
  package let fingerprints: [Fingerprint]
  package let bases: [BaseRun]

  package var plaintextLength: Int { unitLengths.total }

  /// Where ciphertext and tag lie in the object.
  package var sealedRange: Range<Int> { offset..<offset + Int(sealedLength) }

  package init(
    offset: Int, sealedLength: UInt32, codec: Codec, type: UnitType, unitLengths: UnitLengths, frameID: Digest,
    fingerprints: [Fingerprint], bases: [BaseRun]
  ) {
    self.offset = offset
    self.sealedLength = sealedLength
    self.codec = codec
    self.type = type
    self.unitLengths = unitLengths
    self.frameID = frameID
    self.fingerprints = fingerprints
    self.bases = bases
  }

  /// Where a unit begins in the decoded frame.
  package func unitOffset(_ unit: Int) -> Int { unitLengths.offset(of: unit) }

  package static func frameID(of fingerprints: [Fingerprint]) -> Digest {
    var writer = ByteWriter()
    for fingerprint in fingerprints {
      writer.write(fingerprint.high)
      writer.write(fingerprint.low)
    }
    return .sha256(of: writer.bytes)
  }
}

/// The lengths of a frame's units: mostly all the same.
package struct UnitLengths: Sendable, Equatable, RandomAccessCollection {
  /// Of each, in bytes; 0 where they differ.
  package let uniform: Int
  /// Where each unit begins, and the last one ends; empty where all are of one length.
  private let bounds: [Int]
  package let count: Int
  package let total: Int

  package init(_ lengths: [Int]) {
    count = lengths.count
    total = lengths.reduce(0, +)
    let first = lengths.first ?? 0
    uniform = lengths.allSatisfy { $0 == first } ? first : 0
    var bounds: [Int] = []
    if uniform == 0 {
      bounds.append(0)
      for length in lengths { bounds.append(bounds[bounds.count - 1] + length) }
    }
    self.bounds = bounds
  }

  package init(uniform length: Int, count: Int) {
    uniform = length
    bounds = []
    self.count = count
    total = length * count
  }

  package var startIndex: Int { 0 }
  package var endIndex: Int { count }
  package subscript(_ unit: Int) -> Int { uniform == 0 ? bounds[unit + 1] - bounds[unit] : uniform }

  func offset(of unit: Int) -> Int { uniform == 0 ? bounds[unit] : unit * uniform }

  func encode(into writer: inout ByteWriter) {
    writer.write(UInt32(uniform))
    if uniform == 0 { for length in self { writer.write(UInt32(length)) } }
  }

  /// - Throws: `.malformed` for lengths that units of this type cannot have, and for the long form where the short one does.
  static func decode(_ reader: inout ByteReader, count: Int, type: UnitType) throws(SealError) -> UnitLengths {
    let uniform = Int(try reader.read(UInt32.self))
    if uniform > 0 {
      try check(uniform, type)
      guard uniform * count <= Limits.framePlaintext else { throw SealError(.malformed, "a frame is too long") }
      return UnitLengths(uniform: uniform, count: count)
    }
    guard type != .page else { throw SealError(.malformed, "the pages of a frame differ in length") }
    var lengths: [Int] = []
    var total = 0
    for _ in 0..<count {
      let length = Int(try reader.read(UInt32.self))
      try check(length, type)
      total += length
      guard total <= Limits.framePlaintext else { throw SealError(.malformed, "a frame is too long") }
      lengths.append(length)
    }
    let decoded = UnitLengths(lengths)
    guard decoded.uniform == 0 else { throw SealError(.malformed, "equal unit lengths are written one by one") }
    return decoded
  }

  private static func check(_ length: Int, _ type: UnitType) throws(SealError) {
    guard (1...Limits.unit).contains(length), type != .page || (length >= 512 && length & (length - 1) == 0) else {
      throw SealError(.malformed, "a unit cannot be \(length) bytes long")
    }
  }
}

/// The numbers of `Docs/Format.md` that bound what a decoder takes in.
package enum Limits {
  package static let objectMinimum = 4096
  package static let object = 67_108_864
  package static let framePlaintext = 262_144
  package static let unit = 65_536
  package static let prefix = 1_048_576
  package static let prefixFrames = 64
  package static let depth = 8
  package static let windowLog: Int32 = 21
}
