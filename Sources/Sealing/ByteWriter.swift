/// Writes the encodings of `Docs/Format.md` §1: big-endian integers, strings with their length before them.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  mutating func write(_ integer: some FixedWidthInteger) {
    withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func write(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

  /// Cut, between characters, to what `u16` can count; callers check lengths where that would lose something.
  mutating func write(string: String) {
    var text = string.unicodeScalars[...]
    while Substring(text).utf8.count > Int(UInt16.max) {
      // A scalar has at most four bytes, so at least this many have to go.
      text = text.dropLast(max(1, (Substring(text).utf8.count - Int(UInt16.max)) / 4))
    }
    let bytes = Array(Substring(text).utf8)
    write(UInt16(bytes.count))
    write(bytes)
  }

  mutating func writeZeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }
}
