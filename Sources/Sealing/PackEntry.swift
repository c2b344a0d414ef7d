/// What a pack table says of a pack: all that derives its keys, so that any frame can be read by range
/// (`Docs/Format.md` §7.3). 84 bytes.
package struct PackEntry: Hashable, Sendable {
  package static let length = 84

  package let number: UInt32
  package let name: Digest
  /// Of the object, in bytes.
  package let length: UInt32
  /// Of its directory frame, in bytes.
  package let directoryLength: UInt32
  let version: UInt8
  let aead: UInt8
  let kem: UInt8
  package let epoch: UInt32
  let salt: [UInt8]

  init(
    number: UInt32, name: Digest, length: UInt32, directoryLength: UInt32, version: UInt8, aead: UInt8, kem: UInt8,
    epoch: UInt32, salt: [UInt8]
  ) {
    self.number = number
    self.name = name
    self.length = length
    self.directoryLength = directoryLength
    self.version = version
    self.aead = aead
    self.kem = kem
    self.epoch = epoch
    self.salt = salt
  }

  package init(decoding bytes: some Collection<UInt8>) throws(SealError) {
    var reader = ByteReader(bytes, "pack entry")
    try self.init(&reader)
    try reader.expectEnd()
  }

  init(_ reader: inout ByteReader) throws(SealError) {
    number = try reader.read()
    name = try reader.readDigest()
    length = try reader.read()
    directoryLength = try reader.read()
    version = try reader.read()
    aead = try reader.read()
    kem = try reader.read()
    let zero = try reader.read(UInt8.self)
    epoch = try reader.read()
    salt = Array(try reader.read(count: 32))
    guard version == UInt8(ObjectFormat.version), aead == 1, kem == 0 else {
      throw SealError(
        .unsupported, "a pack is of format version \(version), cipher \(aead)", hint: "Install a newer sealift.")
    }
    let room = Int(length) - Header.length - 4
    guard zero == 0, number > 0, number < 0xFFFF_FFFE, epoch > 0,
      (Limits.objectMinimum...Limits.object).contains(Int(length)),
      directoryLength >= Directory.shortestFrame, Int(directoryLength) <= room
    else { throw SealError(.malformed, "an entry of the pack table is impossible") }
  }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(number)
    writer.write(name.bytes)
    writer.write(length)
    writer.write(directoryLength)
    writer.write([version, aead, kem, 0])
    writer.write(epoch)
    writer.write(salt)
    return writer.bytes
  }
}

extension PackEntry {
  /// About how many units packs have: 16 bytes of a directory say what a unit is, and a few what its frame is. Most of a
  /// directory may be padding.
  package static func likelyUnits(in packs: [PackEntry]) -> Int {
    max(0, packs.reduce(0) { $0 + Int($1.directoryLength) - Padding.mean(in: Int($1.length)) }) / 17
  }
}

/// Reads parts of a pack by range: the entry is authentic, so its keys are known without the header.
package struct PackReader: Sendable {
  package let entry: PackEntry
  package let objectKeys: ObjectKeys

  /// - Throws: `.damaged` when the entry's epoch is unknown.
  package init(entry: PackEntry, keys: SealingKeys) throws(SealError) {
    self.entry = entry
    let header = Header(kind: .pack, epoch: entry.epoch, repository: keys.repository, salt: entry.salt)
    objectKeys = ObjectKeys(header: header, kindKey: try keys.kindKey(.pack, epoch: entry.epoch))
  }

  /// - Parameter sealed: the directory frame: the `directoryLength` bytes that end 4 before the pack does.
  package func openDirectory(_ sealed: [UInt8]) throws(SealError) -> Directory {
    guard sealed.count == Int(entry.directoryLength) else {
      throw SealError(.truncated, "the directory of pack \(entry.name.hex.prefix(12)) is cut")
    }
    return try OpenedObject.openDirectory(
      sealed[...], keys: objectKeys, kind: .pack, end: Int(entry.length) - 4 - sealed.count)
  }
}
