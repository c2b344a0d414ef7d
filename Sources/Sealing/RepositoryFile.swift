/// The one object in the clear: it says that a repository is here, and its id (`Docs/Format.md` §5).
package struct RepositoryFile: Sendable, Equatable {
  package static let length = 64
  private static let magic: [UInt8] = [0x89, 0x53, 0x4C, 0x52, 0x50, 0x0D, 0x0A, 0x1A]

  package let repository: RepositoryID

  package init(repository: RepositoryID) { self.repository = repository }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(Self.magic)
    writer.writeZeros(8)
    writer.write(repository.bytes)
    writer.writeZeros(32)
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    guard bytes.count >= Self.length else { throw SealError(.truncated, "the repository file is cut") }
    guard bytes.count == Self.length, Array(bytes[..<8]) == Self.magic else {
      throw SealError(.malformed, "this is no repository file")
    }
    guard bytes[8] == 0 else {
      throw SealError(.unsupported, "the repository is of format version \(bytes[8])", hint: "Install a newer sealift.")
    }
    guard bytes[9..<16].allSatisfy({ $0 == 0 }), bytes[32...].allSatisfy({ $0 == 0 }),
      let id = RepositoryID(bytes[16..<32])
    else {
      throw SealError(.malformed, "the repository file has bytes where zeros must be")
    }
    repository = id
  }
}

/// What a repository is set to: features a reader must know, algorithms (`Docs/Format.md` §5.2).
package struct RepositoryConfiguration: Sendable, Equatable {
  /// Milliseconds since 1970 UTC.
  package let createdAt: UInt64

  package init(createdAt: UInt64) { self.createdAt = createdAt }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(0))
    writer.write(UInt64(0))
    writer.write([1, 1, 1])
    writer.write(createdAt)
    Extensions.encodeNone(into: &writer)
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "configuration")
    try reader.expectVersionZero()
    let features = try reader.read(UInt64.self)
    let algorithms = Array(try reader.read(count: 3))
    guard features == 0, algorithms == [1, 1, 1] else {
      throw SealError(
        .unsupported, "the repository uses features this program does not know", hint: "Install a newer sealift.")
    }
    createdAt = try reader.read()
    try Extensions.skip(&reader)
    try reader.expectEnd()
  }
}
