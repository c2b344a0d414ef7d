/// Writes the encodings of `Docs/Format.md` §1: big-endian integers, strings with their length before them.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  mutating func write(_ integer: some FixedWidthInteger) {
    withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func write(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

  /// Cut to what `u16` can count; callers check lengths where that would lose something.
  mutating func write(string: String) {
    let text = Array(string.utf8.prefix(Int(UInt16.max)))
    write(UInt16(text.count))
    write(text)
  }

  mutating func writeZeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }
}
