/// The first 128 bytes of a sealed object (`Docs/Format.md` §4.1).
struct Header: Sendable, Equatable {
  static let length = 128
  static let magic: [UInt8] = [0x89, 0x53, 0x4C, 0x46, 0x54, 0x0D, 0x0A, 0x1A]

  var version: UInt8 = UInt8(ObjectFormat.version)
  var aead: UInt8 = 1
  let kind: ObjectKind
  var kem: UInt8 = 0
  let epoch: UInt32
  let repository: RepositoryID
  let salt: [UInt8]
  /// Zeros, while the KEM is 0. Kept as read, because the commitment is over what stands there.
  private var reserved = [UInt8](repeating: 0, count: 32)

  init(kind: ObjectKind, epoch: UInt32, repository: RepositoryID, salt: [UInt8]) {
    self.kind = kind
    self.epoch = epoch
    self.repository = repository
    self.salt = salt
  }

  /// Everything before the commitment: what the object's keys are derived from.
  var encodedForKeys: [UInt8] {
    var writer = ByteWriter()
    writer.write(Self.magic)
    writer.write([version, aead, kind.rawValue, kem])
    writer.write(epoch)
    writer.write(repository.bytes)
    writer.write(salt)
    writer.write(reserved)
    return writer.bytes
  }

  /// Checked once the commitment fits, for until then a byte there may just be damage.
  /// - Throws: `.malformed`.
  func checkReserved() throws(SealError) {
    guard reserved.allSatisfy({ $0 == 0 }) else {
      throw SealError(.malformed, "the header has bytes where zeros must be")
    }
  }

  /// Reads a header and its commitment. What it says is a claim until the commitment fits, so a breach of form is
  /// damage here, not malformation.
  /// - Throws: `.truncated`, `.damaged`, `.unsupported`.
  static func decode(_ bytes: ArraySlice<UInt8>) throws(SealError) -> (header: Header, commitment: [UInt8]) {
    guard bytes.count >= length else { throw SealError(.truncated, "the object is shorter than a header") }
    var reader = ByteReader(bytes.prefix(length), "header")
    guard try Array(reader.read(count: 8)) == magic else { throw SealError(.damaged, "this is no sealed object") }
    let version = try reader.read(UInt8.self)
    let aead = try reader.read(UInt8.self)
    let kindByte = try reader.read(UInt8.self)
    let kem = try reader.read(UInt8.self)
    guard version == UInt8(ObjectFormat.version), aead == 1, kem == 0, let kind = ObjectKind(rawValue: kindByte) else {
      throw SealError(
        .unsupported,
        "the object is of format version \(version), cipher \(aead), kind \(kindByte), key wrapping \(kem)",
        hint: "Install a newer sealift.")
    }
    let epoch = try reader.read(UInt32.self)
    guard (epoch == 0) == (kind == .keyring) else {
      throw SealError(.damaged, "the key epoch \(epoch) is impossible")
    }
    guard let repository = RepositoryID(try reader.read(count: 16)) else {
      throw SealError(.truncated, "the header is cut")
    }
    let salt = Array(try reader.read(count: 32))
    var header = Header(kind: kind, epoch: epoch, repository: repository, salt: salt)
    header.reserved = Array(try reader.read(count: 32))
    return (header, Array(try reader.read(count: 32)))
  }
}
