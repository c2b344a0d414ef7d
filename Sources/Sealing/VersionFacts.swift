/// What lists and the hash chain need of an authentic manifest, without its riders, maps and pack table: a few hundred
/// bytes instead of a few thousand.
package struct VersionFacts: Sendable, Equatable {
  /// What a complete manifest says of its version.
  package struct Version: Sendable, Equatable {
    /// The version id: the core's hash.
    package let id: Digest
    package let previous: Digest
    /// Milliseconds since 1970 UTC.
    package let time: UInt64
    package let host: String
    package let database: String
    package let method: Core.Method
    package let flags: Core.Flags
    /// The content of the database: the first member.
    package let file: Core.FileContent
    /// See `Remarks.lacksCompanions`; `nil` where an earlier release kept the facts: not known.
    package let lacksCompanions: Bool?
  }

  package let chain: ChainID
  package let sequence: UInt64
  package let revision: UInt32
  /// The manifest's own hash and length in bytes, as its name says them.
  package let digest: Digest
  package let length: Int
  /// The key epoch it is sealed in.
  package let epoch: UInt32
  package let formatVersion: Int
  package let newBytes: UInt64
  package let tags: [String]
  package let note: String
  /// `nil` for a partial manifest.
  package let version: Version?

  package var isComplete: Bool { version != nil }
  /// The version id; of a partial manifest, zeros.
  package var id: Digest { version?.id ?? .zero }

  /// - Parameter core: of a complete manifest, with its hash.
  package init(
    digest: Digest, length: Int, epoch: UInt32, formatVersion: Int, body: ManifestBody, core: Core?, id: Digest
  ) {
    chain = body.chain
    sequence = body.sequence
    revision = body.revision
    self.digest = digest
    self.length = length
    self.epoch = epoch
    self.formatVersion = formatVersion
    newBytes = body.newBytes
    tags = body.tags
    note = body.note
    version = core.flatMap { core in
      core.members.first?.file.map { file in
        Version(
          id: id, previous: core.previous, time: core.time, host: core.host, database: core.database,
          method: core.method, flags: core.flags, file: file, lacksCompanions: body.remarks.lacksCompanions)
      }
    }
  }
}

extension VersionFacts {
  /// The version of the list. One of version 0 does not say whether companions are lacking.
  private static let newestList: UInt8 = 1

  /// The facts of one chain in one string of bytes, for this machine's own use.
  package static func encode(_ facts: [VersionFacts]) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(newestList)
    writer.write(UInt32(facts.count))
    for fact in facts { fact.encode(into: &writer) }
    return writer.bytes
  }

  /// - Throws: `.malformed`, `.unsupported`: a program of another release kept it.
  package static func decode(_ bytes: [UInt8], of chain: ChainID) throws(SealError) -> [VersionFacts] {
    var reader = ByteReader(bytes, "kept list of versions")
    let list = try reader.read(UInt8.self)
    guard list <= newestList else {
      throw SealError(.unsupported, "the kept list of versions is of version \(list)", hint: "Install a newer sealift.")
    }
    var facts: [VersionFacts] = []
    for _ in 0..<(try reader.readCount(UInt32.self, ofAtLeast: 64)) {
      facts.append(try VersionFacts(&reader, of: chain, list))
    }
    try reader.expectEnd()
    return facts
  }

  private func encode(into writer: inout ByteWriter) {
    writer.write(sequence)
    writer.write(revision)
    writer.write(digest.bytes)
    writer.write(UInt32(length))
    writer.write(epoch)
    writer.write(UInt8(formatVersion))
    writer.write(newBytes)
    writer.write(UInt16(tags.count))
    for tag in tags { writer.write(string: tag) }
    writer.write(string: note)
    writer.write(UInt8(version == nil ? 0 : 1))
    version?.encode(into: &writer)
  }

  private init(_ reader: inout ByteReader, of chain: ChainID, _ list: UInt8) throws(SealError) {
    self.chain = chain
    sequence = try reader.read()
    revision = try reader.read()
    digest = try reader.readDigest()
    length = Int(try reader.read(UInt32.self))
    epoch = try reader.read()
    formatVersion = Int(try reader.read(UInt8.self))
    newBytes = try reader.read()
    var tags: [String] = []
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 2)) { tags.append(try reader.readString()) }
    self.tags = tags
    note = try reader.readString()
    version = try reader.read(UInt8.self) == 0 ? nil : try Version(&reader, list)
  }
}

extension VersionFacts.Version {
  fileprivate func encode(into writer: inout ByteWriter) {
    writer.write(id.bytes)
    writer.write(previous.bytes)
    writer.write(time)
    writer.write(string: host)
    writer.write(string: database)
    writer.write(method.rawValue)
    writer.write(flags.rawValue)
    writer.write(file.unitType.rawValue)
    writer.write(file.unitSize)
    writer.write(file.unitCount)
    writer.write(file.length)
    writer.write(file.imageDigest.bytes)
    writer.write(file.sha256.bytes)
    let word: UInt8 = lacksCompanions.map { $0 ? 2 : 1 } ?? 0
    writer.write(word)
  }

  fileprivate init(_ reader: inout ByteReader, _ list: UInt8) throws(SealError) {
    id = try reader.readDigest()
    previous = try reader.readDigest()
    time = try reader.read()
    host = try reader.readString()
    database = try reader.readString()
    guard let method = Core.Method(rawValue: try reader.read()) else {
      throw SealError(.unsupported, "a kept version was made in a way this program does not know")
    }
    self.method = method
    flags = Core.Flags(rawValue: try reader.read())
    guard let unitType = UnitType(rawValue: try reader.read()) else {
      throw SealError(.unsupported, "a kept version is made of units this program does not know")
    }
    file = Core.FileContent(
      unitType: unitType, unitSize: try reader.read(), unitCount: try reader.read(), length: try reader.read(),
      imageDigest: try reader.readDigest(), sha256: try reader.readDigest())
    guard list > 0 else {
      lacksCompanions = nil
      return
    }
    let word = try reader.read(UInt8.self)
    guard word <= 2 else { throw SealError(.malformed, "a kept version says of its companions what nobody knows") }
    lacksCompanions = word == 0 ? nil : word == 2
  }
}

extension Keyring {
  /// Whether objects of this epoch open.
  package func holds(epoch: UInt32) -> Bool { roots[epoch] != nil }
}
