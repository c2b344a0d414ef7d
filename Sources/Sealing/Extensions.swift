/// Room for what later versions add (`Docs/Format.md` §6.3): what is not known is passed over when it may be, else refused.
enum Extensions {
  static func encodeNone(into writer: inout ByteWriter) { writer.write(UInt16(0)) }

  static func skip(_ reader: inout ByteReader) throws(SealError) {
    var last = -1
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 6)) {
      let type = try reader.read(UInt16.self)
      guard Int(type) > last else { throw SealError(.malformed, "extensions are out of order") }
      last = Int(type)
      guard type < 0x8000 else {
        throw SealError(.unsupported, "extension \(type) is needed and not known", hint: "Install a newer sealift.")
      }
      let length = Int(try reader.read(UInt32.self))
      _ = try reader.read(count: length)
    }
  }
}
