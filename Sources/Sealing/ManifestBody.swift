/// The body of a manifest: the core, where its content lies, and what people said about it (`Docs/Format.md` §6.2).
package struct ManifestBody: Sendable, Equatable {
  package enum State: UInt8, Sendable {
    case complete = 1
    /// Only protects packs; never counts as a version.
    case partial = 2
  }

  /// Where a leaf of the pack table is.
  package enum LeafReference: Sendable, Equatable {
    case here(frame: UInt32, unit: UInt16)
    case inPack(PackEntry, frame: UInt32, unit: UInt16)
  }

  /// Where the map of a member begins.
  package struct MapRoot: Sendable, Equatable {
    package let depth: UInt8
    package let location: Location

    package init(depth: UInt8, location: Location) {
      self.depth = depth
      self.location = location
    }
  }

  package let state: State
  package let chain: ChainID
  package let sequence: UInt64
  package let revision: UInt32
  /// Empty when partial.
  package let core: [UInt8]
  package let bytesDecoded: UInt64
  package let bytesFetched: UInt64
  package let newBytes: UInt64
  package let nextPackNumber: UInt32
  package let tags: [String]
  package let note: String
  package let packTable: [LeafReference]
  package let maps: [MapRoot]
  package let remarks: Remarks

  package init(
    state: State, chain: ChainID, sequence: UInt64, revision: UInt32, core: [UInt8], bytesDecoded: UInt64,
    bytesFetched: UInt64, newBytes: UInt64, nextPackNumber: UInt32, tags: [String], note: String,
    packTable: [LeafReference], maps: [MapRoot], remarks: Remarks = .none
  ) {
    self.state = state
    self.chain = chain
    self.sequence = sequence
    self.revision = revision
    self.core = core
    self.bytesDecoded = bytesDecoded
    self.bytesFetched = bytesFetched
    self.newBytes = newBytes
    self.nextPackNumber = nextPackNumber
    self.tags = tags
    self.note = note
    self.packTable = packTable
    self.maps = maps
    self.remarks = remarks
  }

  /// What 16 bits count: tags, and bytes of each and of the note.
  static let mostTags = Int(UInt16.max)
  static let longestText = Int(UInt16.max)

  package static func holds(_ text: String) -> Bool { text.utf8.count <= longestText }

  /// Those of a version's tags that a body holds: annotations may add more, and longer ones.
  package static func held(_ tags: [String]) -> [String] { Array(tags.filter(holds).prefix(mostTags)) }

  /// Asked before `encode`, which would cut texts.
  /// - Throws: `.malformed`.
  package func demandFittingTexts() throws(SealError) {
    guard Self.held(tags).count == tags.count, Self.holds(note) else {
      throw SealError(.malformed, "a version has more or longer tags, or a longer note, than a manifest holds")
    }
  }

  /// - Precondition: the texts fit (`demandFittingTexts`).
  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    writer.write([0, state.rawValue])
    writer.write(chain.bytes)
    writer.write(sequence)
    writer.write(revision)
    writer.write(UInt32(core.count))
    writer.write(core)
    writer.write(bytesDecoded)
    writer.write(bytesFetched)
    writer.write(newBytes)
    writer.write(nextPackNumber)
    writer.write(UInt16(tags.count))
    for tag in tags { writer.write(string: tag) }
    writer.write(string: note)
    writer.write(UInt32(packTable.count))
    for reference in packTable {
      switch reference {
      case .here(let frame, let unit):
        writer.write(UInt8(0))
        writer.write(frame)
        writer.write(unit)
      case .inPack(let entry, let frame, let unit):
        writer.write(UInt8(1))
        writer.write(entry.encode())
        writer.write(frame)
        writer.write(unit)
      }
    }
    writer.write(UInt32(maps.count))
    for map in maps {
      writer.write(map.depth)
      map.location.encode(into: &writer)
    }
    remarks.encode(into: &writer)
    return writer.bytes
  }

  /// - Throws: `.malformed`, `.unsupported`.
  package init(decoding bytes: [UInt8]) throws(SealError) {
    var reader = ByteReader(bytes, "manifest")
    try reader.expectVersionZero()
    guard let state = State(rawValue: try reader.read()), let chain = ChainID(try reader.read(count: 16)) else {
      throw SealError(
        .unsupported, "the manifest is in a state this program does not know", hint: "Install a newer sealift.")
    }
    self.state = state
    self.chain = chain
    sequence = try reader.read()
    revision = try reader.read()
    let coreLength = Int(try reader.read(UInt32.self))
    core = Array(try reader.read(count: coreLength))
    guard (state == .partial) == core.isEmpty else {
      throw SealError(.malformed, "a version without core, or a core without version")
    }
    bytesDecoded = try reader.read()
    bytesFetched = try reader.read()
    newBytes = try reader.read()
    nextPackNumber = try reader.read()
    var tags: [String] = []
    for _ in 0..<(try reader.readCount(UInt16.self, ofAtLeast: 2)) { tags.append(try reader.readString()) }
    self.tags = tags
    note = try reader.readString()
    var packTable: [LeafReference] = []
    for _ in 0..<(try reader.readCount(UInt32.self, ofAtLeast: 7)) { packTable.append(try Self.readReference(&reader)) }
    self.packTable = packTable
    var maps: [MapRoot] = []
    for _ in 0..<(try reader.readCount(UInt32.self, ofAtLeast: 11)) {
      let depth = try reader.read(UInt8.self)
      maps.append(MapRoot(depth: depth, location: try Location(&reader)))
      guard depth <= 4 else { throw SealError(.malformed, "a map of depth \(depth) is impossible") }
    }
    self.maps = maps
    remarks = try Remarks(&reader)
    try reader.expectEnd()
    try checkNumbers()
    try checkCore()
  }

  /// Packs are counted from 1; the last two numbers mean something else.
  private func checkNumbers() throws(SealError) {
    guard sequence > 0, (1...0xFFFF_FFFE).contains(nextPackNumber) else {
      throw SealError(.malformed, "the manifest counts versions or packs impossibly")
    }
    let named = packTable.compactMap { reference in
      if case .inPack(let entry, _, _) = reference { return entry.number }
      return nil
    }
    guard (named + maps.map(\.location.pack)).allSatisfy({ $0 < nextPackNumber }) else {
      throw SealError(.malformed, "the manifest names a pack beyond its own next one")
    }
    let none = Location(pack: 0, frame: 0, unit: 0)
    guard maps.allSatisfy({ $0.depth > 0 || $0.location == none }) else {
      throw SealError(.malformed, "a map of nothing lies somewhere")
    }
  }

  /// The core must be of this version, and there is one map for each member that has content.
  private func checkCore() throws(SealError) {
    guard state == .complete else {
      guard maps.isEmpty else { throw SealError(.malformed, "a partial manifest has maps") }
      return
    }
    let core = try Core(decoding: core)
    guard core.chain == chain, core.sequence == sequence else {
      throw SealError(.malformed, "the manifest and its core are of different versions")
    }
    let files = core.members.compactMap(\.file)
    guard files.map({ Self.mapDepth(units: $0.unitCount) }) == maps.map(\.depth) else {
      throw SealError(.malformed, "the maps of the manifest do not fit its members")
    }
  }

  /// The least depth of a map that holds so many units: 1,024 in a leaf, 256 children in a branch.
  private static func mapDepth(units: UInt64) -> UInt8 {
    guard units > 0 else { return 0 }
    var depth: UInt8 = 1
    var capacity: UInt64 = 1024
    while capacity < units {
      capacity *= 256
      depth += 1
    }
    return depth
  }

  private static func readReference(_ reader: inout ByteReader) throws(SealError) -> LeafReference {
    switch try reader.read(UInt8.self) {
    case 0: return .here(frame: try reader.read(), unit: try reader.read())
    case 1:
      let entry = try PackEntry(&reader)
      return .inPack(entry, frame: try reader.read(), unit: try reader.read())
    case let form: throw SealError(.malformed, "a leaf of the pack table is referenced by form \(form)")
    }
  }
}
