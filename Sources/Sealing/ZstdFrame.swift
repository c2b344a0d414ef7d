import CZstd

/// What a zstd frame says of itself before anything is decompressed (RFC 8878 §3.1.1.1).
///
/// Read by hand because libzstd's own reader of headers is not part of its stable interface, takes the formats of its
/// youth as well, and checks no window when it decompresses at once.
struct ZstdFrame: Equatable {
  private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  /// `nil` when the frame does not state it.
  let contentSize: UInt64?
  let hasDictionaryID: Bool
  /// In bytes.
  let windowSize: UInt64

  /// `nil` when these bytes do not begin with a zstd frame.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 6, bytes.prefix(4).elementsEqual(Self.magic) else { return nil }
    let descriptor = bytes[4]
    guard descriptor & 0b0000_1000 == 0 else { return nil }
    let isSingleSegment = descriptor & 0b0010_0000 != 0
    let dictionaryBytes = [0, 1, 2, 4][Int(descriptor & 3)]
    let sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][Int(descriptor >> 6)]
    var offset = 5
    guard bytes.count >= offset + (isSingleSegment ? 0 : 1) + dictionaryBytes + sizeBytes else { return nil }

    var window: UInt64?
    if !isSingleSegment {
      let base = UInt64(1) << (10 + UInt64(bytes[offset] >> 3))
      window = base + base / 8 * UInt64(bytes[offset] & 7)
      offset += 1
    }
    offset += dictionaryBytes
    let size = bytes[offset..<offset + sizeBytes].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    contentSize = sizeBytes == 0 ? nil : sizeBytes == 2 ? size + 256 : size
    hasDictionaryID = dictionaryBytes > 0
    windowSize = window ?? contentSize ?? 0
  }

  /// How long the content is, if a reader may decompress these bytes: one frame and nothing else, within bounds.
  static func allowedLength(_ bytes: UnsafeRawBufferPointer, _ lengths: ClosedRange<Int>) -> Int? {
    guard let frame = ZstdFrame(bytes), let size = frame.contentSize, let length = Int(exactly: size),
      lengths.contains(length), !frame.hasDictionaryID, frame.windowSize <= 1 << UInt64(Limits.windowLog),
      ZSTD_findFrameCompressedSize(bytes.baseAddress, bytes.count) == bytes.count
    else { return nil }
    return length
  }
}
