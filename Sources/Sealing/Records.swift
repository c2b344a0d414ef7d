/// Packs and manifests that a prune is about to delete: none is ever referenced anew (`Docs/Format.md` §8.1).
package struct CondemnedRecord: Sendable, Equatable {
  package let chain: ChainID
  /// Milliseconds since 1970 UTC.
  package let time: UInt64
  /// Names of packs and of manifests.
  package let packs: [Digest]

  package init(chain: ChainID, time: UInt64, packs: [Digest]) {
    self.chain = chain
    self.time = time
    self.packs = packs
  }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(0))
    writer.write(chain.bytes)
    writer.write(time)
    writer.write(UInt32(packs.count))
    for pack in packs {
      writer.write(UInt8(1))
      writer.write(pack.bytes)
    }
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "condemned record")
    chain = try reader.readRecordStart()
    time = try reader.read()
    var packs: [Digest] = []
    for _ in 0..<(try reader.readCount(UInt32.self, ofAtLeast: 33)) {
      guard try reader.read(UInt8.self) == 1 else {
        throw SealError(
          .unsupported, "a condemned record names things this program does not know", hint: "Install a newer sealift.")
      }
      packs.append(try reader.readDigest())
    }
    self.packs = packs
    try reader.expectEnd()
  }
}

/// Versions that were forgotten on purpose (`Docs/Format.md` §8.2).
package struct Tombstone: Sendable, Equatable {
  package struct Range: Sendable, Equatable {
    package let first: UInt64
    package let last: UInt64
    package let previousOfFirst: Digest
    package let coreHashOfLast: Digest

    package init(first: UInt64, last: UInt64, previousOfFirst: Digest, coreHashOfLast: Digest) {
      self.first = first
      self.last = last
      self.previousOfFirst = previousOfFirst
      self.coreHashOfLast = coreHashOfLast
    }
  }

  package let chain: ChainID
  /// Milliseconds since 1970 UTC.
  package let time: UInt64
  package let ranges: [Range]

  package init(chain: ChainID, time: UInt64, ranges: [Range]) {
    self.chain = chain
    self.time = time
    self.ranges = ranges
  }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(0))
    writer.write(chain.bytes)
    writer.write(time)
    writer.write(UInt32(ranges.count))
    for range in ranges {
      writer.write(range.first)
      writer.write(range.last)
      writer.write(range.previousOfFirst.bytes)
      writer.write(range.coreHashOfLast.bytes)
    }
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "tombstone")
    chain = try reader.readRecordStart()
    time = try reader.read()
    var ranges: [Range] = []
    for _ in 0..<(try reader.readCount(UInt32.self, ofAtLeast: 80)) {
      let range = Range(
        first: try reader.read(), last: try reader.read(), previousOfFirst: try reader.readDigest(),
        coreHashOfLast: try reader.readDigest())
      // Written so that no sum can overflow: a range begins at least two after the one before ends.
      let before = ranges.last?.last ?? 0
      guard range.first > 0, range.last >= range.first,
        ranges.isEmpty || (range.first > before && range.first - before > 1)
      else {
        throw SealError(.malformed, "the ranges of a tombstone are out of order")
      }
      ranges.append(range)
    }
    self.ranges = ranges
    try reader.expectEnd()
  }
}

/// What people, or a drill, said of a version later (`Docs/Format.md` §8.3).
package struct Annotation: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    case addTag = 1
    case removeTag = 2
    case note = 3
    case pin = 4
    case unpin = 5
    case drill = 6
    case foundDamaged = 7
    /// The names of tombstones, 32 bytes each, that do not count for this version any more.
    case unforget = 8
  }

  package struct Item: Sendable, Equatable {
    package let kind: Kind
    package let bytes: [UInt8]

    package init(kind: Kind, bytes: [UInt8]) {
      self.kind = kind
      self.bytes = bytes
    }
  }

  package let chain: ChainID
  package let sequence: UInt64
  package let coreHash: Digest
  /// Milliseconds since 1970 UTC.
  package let time: UInt64
  package let items: [Item]

  package init(chain: ChainID, sequence: UInt64, coreHash: Digest, time: UInt64, items: [Item]) {
    self.chain = chain
    self.sequence = sequence
    self.coreHash = coreHash
    self.time = time
    self.items = items
  }

  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt8(0))
    writer.write(chain.bytes)
    writer.write(sequence)
    writer.write(coreHash.bytes)
    writer.write(time)
    writer.write(UInt16(items.count))
    for item in items {
      writer.write(item.kind.rawValue)
      writer.write(UInt32(item.bytes.count))
      writer.write(item.bytes)
    }
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "annotation")
    chain = try reader.readRecordStart()
    sequence = try reader.read()
    guard sequence > 0 else { throw SealError(.malformed, "an annotation is said of version 0: they count from 1") }
    coreHash = try reader.readDigest()
    time = try reader.read()
    var items: [Item] = []
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 5)) {
      guard let kind = Kind(rawValue: try reader.read()) else {
        throw SealError(
          .unsupported, "an annotation is of a kind this program does not know", hint: "Install a newer sealift.")
      }
      let length = Int(try reader.read(UInt32.self))
      let bytes = Array(try reader.read(count: length))
      let isText = kind == .addTag || kind == .removeTag || kind == .note
      guard !isText || String(validating: bytes, as: UTF8.self) != nil else {
        throw SealError(.malformed, "an annotation holds text that is not UTF-8")
      }
      items.append(Item(kind: kind, bytes: bytes))
    }
    self.items = items
    try reader.expectEnd()
  }
}

extension ByteReader {
  /// The version byte and the chain that every record begins with.
  mutating func readRecordStart() throws(SealError) -> ChainID {
    try expectVersionZero()
    guard let chain = ChainID(try read(count: 16)) else { throw SealError(.malformed, "a record is cut") }
    return chain
  }
}
