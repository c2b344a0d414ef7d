/// What an object holds: the last frame of every object (`Docs/Format.md` §4.3).
package struct Directory: Sendable {
  /// A directory that lists nothing, and its tag.
  static let shortestFrame = 11 + AuthenticatedCipher.tagLength
  /// A run tells a base pack by 16 bits, of which 0xFFFF is the object itself.
  package static let mostBasePacks = 0xFFFF

  package let basePacks: [Digest]
  package let frames: [FrameRecord]
  package let meta: [UInt8]

  /// The encoding without padding.
  static func encode(basePacks: [Digest], frames: [EncodedFrame], meta: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(0))
    writer.write(UInt16(basePacks.count))
    for name in basePacks { writer.write(name.bytes) }
    writer.write(UInt32(frames.count))
    for frame in frames {
      writer.write(UInt32(frame.payload.count + AuthenticatedCipher.tagLength))
      writer.write([frame.codec.rawValue, frame.type.rawValue])
      writer.write(UInt16(frame.unitLengths.count))
      frame.unitLengths.encode(into: &writer)
      guard frame.codec.hasPrefix else {
        for fingerprint in frame.fingerprints {
          writer.write(fingerprint.high)
          writer.write(fingerprint.low)
        }
        continue
      }
      writer.write(frame.frameID.bytes)
      writer.write(UInt16(frame.bases.count))
      for run in frame.bases {
        writer.write(run.pack ?? 0xFFFF)
        writer.write(run.frame)
        writer.write(run.firstUnit)
        writer.write(run.count)
      }
    }
    writer.write(UInt32(meta.count))
    writer.write(meta)
    return writer.bytes
  }

  /// - Parameter end: where the directory frame begins: frames must fill the object from the header to there.
  init(decoding bytes: [UInt8], kind: ObjectKind, end: Int) throws(SealError) {
    var reader = ByteReader(bytes, "directory")
    try reader.expectVersionZero()
    let baseCount = try reader.readCount(UInt16.self, ofAtLeast: 32)
    var basePacks: [Digest] = []
    for _ in 0..<baseCount { basePacks.append(try reader.readDigest()) }
    guard Set(basePacks).count == baseCount else { throw SealError(.malformed, "a base pack is named twice") }

    let frameCount = try reader.readCount(UInt32.self, ofAtLeast: 28)
    guard frameCount == 0 || kind.hasFrames else { throw SealError(.malformed, "an object of this kind has no frames") }
    var frames: [FrameRecord] = []
    var depths: [Int] = []
    var offset = Header.length
    for index in 0..<frameCount {
      let frame = try Self.decodeFrame(&reader, at: offset, index: index, basePacks: baseCount)
      guard !frame.codec.hasPrefix || frame.type != .node, !frame.codec.isCells || frame.type == .page else {
        throw SealError(.malformed, "a frame of units of type \(frame.type) cannot be of codec \(frame.codec)")
      }
      offset += Int(frame.sealedLength)
      guard offset <= end else { throw SealError(.malformed, "frames run into the directory") }
      depths.append(try Self.depth(of: frame, on: frames, depths))
      frames.append(frame)
    }
    guard offset == end else { throw SealError(.malformed, "there is a gap before the directory") }
    let used = Set(frames.lazy.flatMap(\.bases).compactMap(\.pack))
    guard used.count == baseCount else { throw SealError(.malformed, "a base pack is named but not used") }

    let metaLength = Int(try reader.read(UInt32.self))
    meta = Array(try reader.read(count: metaLength))
    guard kind != .pack || meta.isEmpty else { throw SealError(.malformed, "a pack has no body") }
    try reader.expectPadding()
    self.basePacks = basePacks
    self.frames = frames
  }

  /// Checks the runs of a delta frame as far as this object alone can tell: what lies in other packs is checked when
  /// their directories are known.
  /// - Returns: the least depth the frame can have.
  private static func depth(
    of frame: FrameRecord, on earlier: [FrameRecord], _ depths: [Int]
  ) throws(SealError) -> Int {
    guard frame.codec.hasPrefix else { return 0 }
    var depth = 1
    for run in frame.bases where run.pack == nil {
      let base = earlier[Int(run.frame)]
      guard base.type == frame.type, Int(run.firstUnit) + Int(run.count) <= base.unitLengths.count,
        base.type != .page || base.unitLengths[0] == frame.unitLengths[0]
      else { throw SealError(.malformed, "a delta frame names bases that cannot be its own") }
      depth = max(depth, depths[Int(run.frame)] + 1)
    }
    guard depth <= Limits.depth else { throw SealError(.malformed, "a delta frame has depth \(depth)") }
    guard frame.type != .page || frame.bases.reduce(0, { $0 + Int($1.count) }) * frame.unitLengths[0] <= Limits.prefix
    else { throw SealError(.malformed, "the prefix of a delta frame is too long") }
    return depth
  }

  private static func decodeFrame(
    _ reader: inout ByteReader, at offset: Int, index: Int, basePacks: Int
  ) throws(SealError) -> FrameRecord {
    let sealedLength = try reader.read(UInt32.self)
    let codecByte = try reader.read(UInt8.self)
    let typeByte = try reader.read(UInt8.self)
    guard let codec = Codec(rawValue: codecByte) else {
      throw SealError(.unsupported, "a frame is of codec \(codecByte)", hint: "Install a newer sealift.")
    }
    guard let type = UnitType(rawValue: typeByte) else {
      throw SealError(.unsupported, "a frame holds units of type \(typeByte)", hint: "Install a newer sealift.")
    }
    let count = codec.hasPrefix ? Int(try reader.read(UInt16.self)) : try reader.readCount(UInt16.self, ofAtLeast: 16)
    guard count > 0 else { throw SealError(.malformed, "a frame has no units") }
    let lengths = try UnitLengths.decode(&reader, count: count, type: type)
    guard sealedLength > AuthenticatedCipher.tagLength,
      codec != .raw || Int(sealedLength) == lengths.total + AuthenticatedCipher.tagLength
    else { throw SealError(.malformed, "a frame cannot be \(sealedLength) bytes long") }
    var fingerprints: [Fingerprint] = []
    var bases: [BaseRun] = []
    let frameID: Digest
    if codec.hasPrefix {
      frameID = try reader.readDigest()
      bases = try decodeBases(&reader, frame: index, basePacks: basePacks)
    } else {
      // They are hashed as they stand there.
      let written = try reader.read(count: 16 * count)
      fingerprints = written.withUnsafeBytes { bytes in (0..<count).map { Fingerprint(bytes, at: 16 * $0) } }
      frameID = .sha256(ofSlice: written)
    }
    return FrameRecord(
      offset: offset, sealedLength: sealedLength, codec: codec, type: type, unitLengths: lengths, frameID: frameID,
      fingerprints: fingerprints, bases: bases)
  }

  private static func decodeBases(
    _ reader: inout ByteReader, frame index: Int, basePacks: Int
  ) throws(SealError) -> [BaseRun] {
    let count = try reader.readCount(UInt16.self, ofAtLeast: 10)
    var runs: [BaseRun] = []
    for _ in 0..<count {
      let pack = try reader.read(UInt16.self)
      let run = BaseRun(
        pack: pack == 0xFFFF ? nil : pack, frame: try reader.read(), firstUnit: try reader.read(),
        count: try reader.read())
      guard run.count > 0 else { throw SealError(.malformed, "a delta frame names no units of a base") }
      if let pack = run.pack {
        guard Int(pack) < basePacks else {
          throw SealError(.malformed, "a delta frame names a base pack that is not listed")
        }
      } else {
        guard Int(run.frame) < index else { throw SealError(.malformed, "a delta frame rests on a later one") }
      }
      runs.append(run)
    }
    let distinct = Set(runs.map { UInt64($0.pack ?? 0xFFFF) << 32 | UInt64($0.frame) })
    guard !runs.isEmpty, distinct.count <= Limits.prefixFrames else {
      throw SealError(.malformed, "a delta frame rests on \(distinct.count) frames")
    }
    return runs
  }
}
