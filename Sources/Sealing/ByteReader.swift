/// Reads the encodings of `Docs/Format.md` §1, never beyond the end and never allocating more than is there.
struct ByteReader {
  private let bytes: ArraySlice<UInt8>
  private var index: Int
  /// What is being read, for messages.
  private let subject: String

  init(_ bytes: some Collection<UInt8>, _ subject: String) {
    self.bytes = ArraySlice(bytes)
    index = self.bytes.startIndex
    self.subject = subject
  }

  var remaining: Int { bytes.endIndex - index }

  mutating func read<Value: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ type: Value.Type = Value.self
  ) throws(SealError) -> Value {
    try read(count: Value.bitWidth / 8).withUnsafeBytes { Value(bigEndian: $0.loadUnaligned(as: Value.self)) }
  }

  mutating func read(count: Int) throws(SealError) -> ArraySlice<UInt8> {
    guard count >= 0, count <= remaining else {
      throw SealError(.malformed, "the \(subject) ends \(count - remaining) bytes too early")
    }
    defer { index += count }
    return bytes[index..<index + count]
  }

  mutating func readString() throws(SealError) -> String {
    let length = Int(try read(UInt16.self))
    guard let text = String(validating: try read(count: length), as: UTF8.self) else {
      throw SealError(.malformed, "the \(subject) holds text that is not UTF-8")
    }
    return text
  }

  mutating func readDigest() throws(SealError) -> Digest { Digest(known: try read(count: 32)) }

  /// A count of things that take at least `size` bytes each: refused when they cannot all be there.
  mutating func readCount<Value: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ type: Value.Type, ofAtLeast size: Int
  ) throws(SealError) -> Int {
    let count = try read(type)
    guard UInt64(count) <= UInt64(remaining / max(1, size)) else {
      throw SealError(.malformed, "the \(subject) counts more than it holds")
    }
    return Int(count)
  }

  /// - Throws: `.malformed` unless the first byte, the version of this structure, is 0.
  mutating func expectVersionZero() throws(SealError) {
    let version = try read(UInt8.self)
    guard version == 0 else {
      throw SealError(.unsupported, "the \(subject) is of version \(version)", hint: "Install a newer sealift.")
    }
  }

  /// - Throws: `.malformed` unless all that is left are zeros.
  func expectPadding() throws(SealError) {
    let areZeros = bytes[index...].withUnsafeBytes { padding in
      var (place, seen) = (0, UInt8(0))
      while place < padding.count {
        seen |= padding[place]
        place += 1
      }
      return seen == 0
    }
    guard areZeros else { throw SealError(.malformed, "the padding is not zeros") }
  }

  func expectEnd() throws(SealError) {
    guard remaining == 0 else {
      throw SealError(.malformed, "the \(subject) is followed by \(remaining) bytes too many")
    }
  }
}
