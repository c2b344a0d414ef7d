/// What an authentic record of a chain says, without the padding and the seals around it: a hundred bytes instead of four
/// thousand.
package struct RecordContent: Sendable {
  /// The hash of the object, which its name says.
  package let digest: Digest
  /// The key epoch it is sealed in.
  package let epoch: UInt32
  /// Its body.
  package let meta: ArraySlice<UInt8>

  init(digest: Digest, epoch: UInt32, meta: ArraySlice<UInt8>) {
    self.digest = digest
    self.epoch = epoch
    self.meta = meta
  }

  package init(_ object: OpenedObject, digest: Digest) {
    self.init(digest: digest, epoch: object.epoch, meta: object.directory.meta[...])
  }
}

extension RecordContent {
  /// The hash, the epoch and the length of the body.
  private static let least = 40

  /// Its part of what `encode` makes.
  package var encodedLength: Int { Self.least + meta.count }

  /// Records of one kind in one string of bytes, for this machine's own use.
  package static func encode(_ records: [RecordContent]) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(0))
    writer.write(UInt32(records.count))
    for record in records {
      writer.write(record.digest.bytes)
      writer.write(record.epoch)
      writer.write(UInt32(record.meta.count))
      writer.write(record.meta)
    }
    return writer.bytes
  }

  /// - Throws: `.malformed`, `.unsupported`: a program of another release kept it.
  package static func decode(_ bytes: [UInt8]) throws(SealError) -> [RecordContent] {
    var reader = ByteReader(bytes, "kept list of records")
    try reader.expectVersionZero()
    var records: [RecordContent] = []
    for _ in 0..<(try reader.readCount(UInt32.self, ofAtLeast: least)) { records.append(try RecordContent(&reader)) }
    try reader.expectEnd()
    return records
  }

  private init(_ reader: inout ByteReader) throws(SealError) {
    digest = try reader.readDigest()
    epoch = try reader.read()
    let length = Int(try reader.read(UInt32.self))
    meta = try reader.read(count: length)
  }
}
