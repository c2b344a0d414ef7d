/// Room for what later versions add (`Docs/Format.md` §6.3): what is not known is passed over when it may be, else refused.
enum Extensions {
  static func encodeNone(into writer: inout ByteWriter) { writer.write(UInt16(0)) }

  /// - Parameter extensions: by their types.
  static func encode(_ extensions: [UInt16: [UInt8]], into writer: inout ByteWriter) {
    writer.write(UInt16(extensions.count))
    for (type, bytes) in extensions.sorted(by: { $0.key < $1.key }) {
      writer.write(type)
      writer.write(UInt32(bytes.count))
      writer.write(bytes)
    }
  }

  static func skip(_ reader: inout ByteReader) throws(SealError) {
    _ = try read(&reader)
  }

  /// Of the types that a reader must know none is known yet.
  /// - Returns: all of them by their types, also those that nobody here knows.
  /// - Throws: `.malformed`, `.unsupported`.
  static func read(_ reader: inout ByteReader) throws(SealError) -> [UInt16: [UInt8]] {
    var found: [UInt16: [UInt8]] = [:]
    var last = -1
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 6)) {
      let type = try reader.read(UInt16.self)
      guard Int(type) > last else { throw SealError(.malformed, "extensions are out of order") }
      last = Int(type)
      guard type < 0x8000 else {
        throw SealError(.unsupported, "extension \(type) is needed and not known", hint: "Install a newer sealift.")
      }
      let length = Int(try reader.read(UInt32.self))
      found[type] = Array(try reader.read(count: length))
    }
    return found
  }
}
