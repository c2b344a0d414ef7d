extension Remarks {
  /// What a Core Data store says of itself, and what its references to external files led to, when it was pushed
  /// (`Docs/Format.md` §6.4, type 3).
  package struct Store: Sendable, Equatable {
    package struct EntityHash: Sendable, Equatable {
      package let entity: String
      package let hash: [UInt8]

      package init(entity: String, hash: [UInt8]) {
        self.entity = entity
        self.hash = hash
      }
    }

    /// So many names are noted of what is missing, or belongs to nothing.
    package static let mostNames = 20
    /// Bytes of a text, or a hash, at most; entities and identifiers, at most.
    static let longest = 1024
    static let mostEntries = 2000

    package let uuid: String
    /// `SQLite`.
    package let type: String
    /// There are tables of persistent history.
    package let hasHistory: Bool
    /// The member that is the folder of external files; empty where there is none.
    package let supportFolder: String
    package let identifiers: [String]
    /// Ascending by the bytes of the entities' names.
    package let hashes: [EntityHash]
    /// References to external files in rows; how many of those files were not there; how many files no row refers to.
    package let references: UInt64
    package let missing: UInt64
    package let orphaned: UInt64
    /// The first of them.
    package let missingNames: [String]
    package let orphanedNames: [String]

    /// What is too long, or too much, to be noted is left out.
    package init(
      uuid: String, type: String, hasHistory: Bool, supportFolder: String, identifiers: [String],
      hashes: [EntityHash], references: UInt64, missing: UInt64, orphaned: UInt64, missingNames: [String],
      orphanedNames: [String]
    ) {
      func fits(_ text: String) -> Bool { text.utf8.count <= Self.longest }
      self.uuid = fits(uuid) ? uuid : ""
      self.type = fits(type) ? type : ""
      self.hasHistory = hasHistory
      self.supportFolder = fits(supportFolder) ? supportFolder : ""
      self.identifiers = Array(identifiers.filter(fits).prefix(Self.mostEntries))
      self.hashes = Array(
        hashes.filter { fits($0.entity) && $0.hash.count <= Self.longest }
          .sorted { $0.entity.utf8.lexicographicallyPrecedes($1.entity.utf8) }.prefix(Self.mostEntries))
      self.references = references
      self.missing = missing
      self.orphaned = orphaned
      self.missingNames = Array(missingNames.filter(fits).prefix(Self.mostNames))
      self.orphanedNames = Array(orphanedNames.filter(fits).prefix(Self.mostNames))
    }
  }
}

extension Remarks.Store {
  func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(string: uuid)
    writer.write(string: type)
    writer.write(UInt8(hasHistory ? 1 : 0))
    writer.write(string: supportFolder)
    Self.write(identifiers, into: &writer)
    writer.write(UInt16(hashes.count))
    for one in hashes {
      writer.write(string: one.entity)
      writer.write(UInt16(one.hash.count))
      writer.write(one.hash)
    }
    writer.write(references)
    writer.write(missing)
    writer.write(orphaned)
    Self.write(missingNames, into: &writer)
    Self.write(orphanedNames, into: &writer)
    return writer.bytes
  }

  init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "remark on a Core Data store")
    uuid = try reader.readString()
    type = try reader.readString()
    let flags = try reader.read(UInt8.self)
    guard flags <= 1 else { throw SealError(.malformed, "the remark on a Core Data store has unknown flags") }
    hasHistory = flags == 1
    supportFolder = try reader.readString()
    identifiers = try Self.readTexts(&reader)
    var hashes: [EntityHash] = []
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 4)) {
      let entity = try reader.readString()
      let length = Int(try reader.read(UInt16.self))
      hashes.append(EntityHash(entity: entity, hash: Array(try reader.read(count: length))))
    }
    self.hashes = hashes
    references = try reader.read()
    missing = try reader.read()
    orphaned = try reader.read()
    missingNames = try Self.readTexts(&reader)
    orphanedNames = try Self.readTexts(&reader)
    try reader.expectEnd()
  }

  private static func write(_ texts: [String], into writer: inout ByteWriter) {
    writer.write(UInt16(texts.count))
    for text in texts { writer.write(string: text) }
  }

  private static func readTexts(_ reader: inout ByteReader) throws(SealError) -> [String] {
    var texts: [String] = []
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 2)) { texts.append(try reader.readString()) }
    return texts
  }
}
