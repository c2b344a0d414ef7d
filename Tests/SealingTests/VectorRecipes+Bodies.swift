@testable import Sealing

/// Bodies with what a reader must understand, or pass over, and such as break one rule each.
extension VectorRecipes {
  static func bodies() throws -> [Vector] {
    try goodVersions() + brokenVersions() + keyrings() + goodRecords() + brokenRecords() + configurations()
  }

  /// Every type of §6.4.
  static let remarks = Remarks(
    rows: [.init(table: "a", rows: 0), .init(table: "é", rows: .max)],
    origin: Remarks.Origin(repository: Fixed.otherRepository, version: Fixed.digest("core of another")),
    store: Remarks.Store(
      uuid: "5E0B", type: "SQLite", hasHistory: true, supportFolder: ".app_SUPPORT", identifiers: ["Model 3", ""],
      hashes: [.init(entity: "Photo", hash: [1, 2, 3]), .init(entity: "Été", hash: [])], references: 7, missing: 2,
      orphaned: 1, missingNames: ["a", "b"], orphanedNames: ["c"]),
    capture: Remarks.Capture([
      .init(.missing, "sounds"), .init(.vanished, "att/a"), .init(.unsettled, "log"), .init(.unreadable, "key"),
      .init(.skipped, "socket"),
    ]))

  /// Every type of §8.3.
  static let everyKind = Annotation(
    chain: Fixed.chain, sequence: 42, coreHash: Fixed.digest("core"), time: Fixed.time,
    items: [
      .init(kind: .addTag, bytes: Array("é".utf8)), .init(kind: .removeTag, bytes: []),
      .init(kind: .note, bytes: Array("a note".utf8)), .init(kind: .pin, bytes: []), .init(kind: .unpin, bytes: []),
      .init(kind: .drill, bytes: [1] + Array("failed".utf8)), .init(kind: .foundDamaged, bytes: Array("a pack".utf8)),
      .init(kind: .unforget, bytes: Fixed.digest("tombstone").bytes + Fixed.digest("another").bytes),
    ])

  private static func goodVersions() throws -> [Vector] {
    var remarked = ByteWriter()
    remarks.encode(into: &remarked)
    let broken = ([1, 2, 3, 4] as [UInt8]).flatMap { type -> [UInt8] in [0, type, 0, 0, 0, 1, 0xFF] }
    let passedOver: [UInt8] = [0, 5] + broken + [0x7F, 0xFF, 0, 0, 0, 0]
    let coreExtension: [UInt8] = [0, 1, 0, 9, 0, 0, 0, 1, 5]
    let versions: [(String, String, SmallVersion)] = [
      ("manifest-file", "method 3, a file without bytes beside it", SmallVersion(method: .file)),
      ("manifest-atomic", "method 4, a file without bytes beside it", SmallVersion(method: .atomic)),
      (
        "manifest-core-extension", "an extension of the core that need not be known",
        SmallVersion(core: { Array($0.dropLast(2)) + coreExtension })
      ),
      (
        "manifest-remarks", "rows, origin, Core Data store, capture",
        SmallVersion(method: .vacuum, extensions: remarked.bytes)
      ),
      (
        "manifest-remarks-unreadable", "extensions 1 to 4 with other bytes, and one of tomorrow: passed over",
        SmallVersion(method: .vacuum, extensions: passedOver)
      ),
    ]
    return try versions.map { name, about, version in
      good(name, about, kind: .manifest, try version.sealed(), content: version.content)
    }
  }

  private static func brokenVersions() throws -> [Vector] {
    func core(_ offset: Int, _ value: UInt8, _ method: Core.Method = .file) -> SmallVersion {
      SmallVersion(method: method, core: { changed($0, offset, value) })
    }
    func body(_ offset: Int, _ value: UInt8) -> SmallVersion { SmallVersion(body: { changed($0, offset, value) }) }
    let deep = ManifestBody.MapRoot(depth: 2, location: .init(pack: 0, frame: 0, unit: 0))
    let far = ManifestBody.MapRoot(depth: 1, location: .init(pack: 1, frame: 0, unit: 0))
    let twice: [UInt8] = [0, 2, 0, 9, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0]
    // Offsets in the core: version 0, chain 1, previous core hash 25, method 76, end of the flags 80, first member 85,
    // its unit type 105. In the body: version 0, state 1.
    let versions: [(String, String, String, SmallVersion)] = [
      ("manifest-version", "body version 1", "unsupported", body(0, 1)),
      ("manifest-state", "state 3", "unsupported", body(1, 3)),
      ("manifest-core-version", "core version 1", "unsupported", core(0, 1)),
      ("manifest-core-chain", "a core of another chain", "malformed", core(1, 0)),
      ("manifest-previous", "a first version with one before it", "malformed", core(25, 1)),
      ("manifest-method", "method 5", "unsupported", core(76, 5)),
      ("manifest-flags", "flag bit 3", "unsupported", core(80, 8)),
      ("manifest-method-image", "method 3 with a database image", "malformed", core(76, 3, .vacuum)),
      ("manifest-method-file", "method 1 without a database image", "malformed", core(76, 1)),
      ("manifest-member-type", "a member of type 5", "unsupported", core(85, 5)),
      ("manifest-unit-type", "a file of units of type 4", "unsupported", core(105, 4)),
      ("manifest-unit-type-page", "a file of pages", "malformed", core(105, 1)),
      ("manifest-map-depth", "a map of depth 2 for one unit", "malformed", SmallVersion(map: deep)),
      ("manifest-map-pack", "a map in a pack beyond the next one", "malformed", SmallVersion(map: far)),
      ("manifest-next-pack", "0 as the next pack number", "malformed", SmallVersion(nextPackNumber: 0)),
      ("manifest-extension-twice", "one extension twice", "malformed", SmallVersion(extensions: twice)),
    ]
    return try versions.map { name, about, expect, version in
      vector(name, about, kind: .manifest, expect: expect, try version.sealed())
    }
  }

  private static func keyrings() throws -> [Vector] {
    let right = Fixed.keyring.encode()
    let kindKey = hkdf(
      Fixed.master.bytes, salt: Fixed.repository.bytes, info: Array("sealift keyring".utf8), count: 32)
    // Offsets: version 0, end of the current epoch 4, of the epochs 10 and 46, of the count of cuts 178.
    let metas: [(String, String, String, [UInt8])] = [
      ("keyring-version", "keyring version 1", "unsupported", changed(right, 0, 1)),
      ("keyring-epochs", "epoch 2 before epoch 1", "malformed", changed(changed(right, 10, 2), 46, 1)),
      ("keyring-epoch-zero", "an epoch 0", "malformed", changed(right, 10, 0)),
      ("keyring-epoch-missing", "no key for the current epoch", "malformed", changed(right, 4, 3)),
      ("keyring-cuts", "more cuts than are there", "malformed", changed(right, 178, 2)),
    ]
    return try metas.map { name, about, expect, meta in
      let builder = ObjectBuilder(kind: .keyring, keys: Fixed.keys, random: Fixed.stuckRandom)
      let object = try builder.finish(meta: meta, epoch: 0, kindKey: kindKey)
      return vector(name, about, kind: .keyring, expect: expect, object.bytes)
    }
  }

  private static func goodRecords() throws -> [Vector] {
    let odd = Annotation(
      chain: Fixed.chain, sequence: .max, coreHash: .zero, time: .max,
      items: [
        .init(kind: .pin, bytes: [1]), .init(kind: .drill, bytes: []), .init(kind: .drill, bytes: [2]),
        .init(kind: .foundDamaged, bytes: [0xFF]), .init(kind: .unforget, bytes: [1, 2, 3]),
      ])
    let greatest = Tombstone(
      chain: Fixed.chain, time: 0,
      ranges: [
        .init(
          first: 1_000_000_000_000, last: .max, previousOfFirst: Fixed.digest("before"),
          coreHashOfLast: Fixed.digest("last"))
      ])
    let metas: [(String, String, ObjectKind, [UInt8])] = [
      ("annotation-kinds", "every type", .annotation, everyKind.encode()),
      ("annotation-odd", "bytes that are not as types 4 and 6 to 8 have them: not refused", .annotation, odd.encode()),
      ("tombstone-greatest", "sequences that no name holds: not refused", .tombstone, greatest.encode()),
    ]
    return try metas.map { name, about, kind, meta in
      good(name, about, kind: kind, try Samples.object(kind, meta).bytes, content: meta)
    }
  }

  private static func brokenRecords() throws -> [Vector] {
    let condemned = Samples.condemned.encode()
    let tombstone = Samples.tombstone.encode()
    let annotation = Samples.annotation.encode()
    let reversed = Tombstone(chain: Fixed.chain, time: 0, ranges: Samples.tombstone.ranges.reversed())
    // Offsets: version 0; of a condemned record the end of the count 28, first type 29; of a tombstone the end of the
    // first sequence 36; of an annotation the end of the sequence 24, of the count 66, first type 67, its text 72.
    let metas: [(String, String, ObjectKind, String, [UInt8])] = [
      ("condemned-version", "record version 1", .condemned, "unsupported", changed(condemned, 0, 1)),
      ("condemned-count", "more names than are there", .condemned, "malformed", changed(condemned, 28, 3)),
      ("condemned-type", "a name of type 2", .condemned, "unsupported", changed(condemned, 29, 2)),
      ("tombstone-version", "tombstone version 1", .tombstone, "unsupported", changed(tombstone, 0, 1)),
      ("tombstone-zero", "a range from sequence 0 on", .tombstone, "malformed", changed(tombstone, 36, 0)),
      ("tombstone-backwards", "a range from 4 to 3", .tombstone, "malformed", changed(tombstone, 36, 4)),
      ("tombstone-order", "ranges that descend", .tombstone, "malformed", reversed.encode()),
      ("annotation-version", "annotation version 1", .annotation, "unsupported", changed(annotation, 0, 1)),
      ("annotation-sequence", "said of version 0", .annotation, "malformed", changed(annotation, 24, 0)),
      ("annotation-count", "more entries than are there", .annotation, "malformed", changed(annotation, 66, 4)),
      ("annotation-type", "an entry of type 9", .annotation, "unsupported", changed(annotation, 67, 9)),
      ("annotation-utf8", "a tag that is not UTF-8", .annotation, "malformed", changed(annotation, 72, 0xFF)),
    ]
    return try metas.map { name, about, kind, expect, meta in
      vector(name, about, kind: kind, expect: expect, try Samples.object(kind, meta).bytes)
    }
  }

  private static func configurations() throws -> [Vector] {
    let right = Samples.configuration.encode()
    let critical: [UInt8] = [0, 1, 0x80, 0, 0, 0, 0, 0]
    let metas: [(String, String, String, [UInt8])] = [
      ("configuration-version", "configuration version 1", "unsupported", changed(right, 0, 1)),
      ("configuration-algorithm", "compression 2", "unsupported", changed(right, 11, 2)),
      (
        "configuration-critical-extension", "an extension that must be known", "unsupported",
        Array(right.dropLast(2)) + critical
      ),
      ("configuration-cut", "one byte short", "malformed", Array(right.dropLast())),
    ]
    return try metas.map { name, about, expect, meta in
      vector(name, about, kind: .configuration, expect: expect, try Samples.object(.configuration, meta).bytes)
    }
  }
}

private func changed(_ bytes: [UInt8], _ offset: Int, _ value: UInt8) -> [UInt8] {
  var bytes = bytes
  bytes[offset] = value
  return bytes
}

/// A whole version: one member of one unit, which lies in the manifest itself with its map, and an empty file.
private struct SmallVersion {
  private static let leaf = MapLeaf(runs: [.init(pack: 0, frame: 1, firstUnit: 0, count: 1)]).encode()

  var method = Core.Method.file
  var nextPackNumber: UInt32 = 1
  var map = ManifestBody.MapRoot(depth: 1, location: .init(pack: 0, frame: 0, unit: 0))
  /// Of the body.
  var extensions: [UInt8] = [0, 0]
  /// Changes the core.
  var core: ([UInt8]) -> [UInt8] = { $0 }
  /// Changes the body.
  var body: ([UInt8]) -> [UInt8] = { $0 }

  /// Everything that a reader finds in it.
  var content: [UInt8] { Self.leaf + bytes + meta }

  func sealed() throws -> [UInt8] {
    var builder = ObjectBuilder(kind: .manifest, keys: Fixed.keys, random: Fixed.stuckRandom)
    builder.add(try Frames.encoded(.node, [Self.leaf], level: 0))
    builder.add(try Frames.encoded(unitType, [bytes], level: 0))
    return try builder.finish(meta: meta).bytes
  }

  private var bytes: [UInt8] { method.hasImage ? Fixed.page(8) : Array("what an application wrote".utf8) }
  private var unitType: UnitType { method.hasImage ? .page : .block }

  private var meta: [UInt8] {
    let empty = ManifestBody.MapRoot(depth: 0, location: .init(pack: 0, frame: 0, unit: 0))
    let honest = Core(
      chain: Fixed.chain, sequence: 1, previous: .zero, time: Fixed.time, host: "host", database: "app",
      method: method, flags: [], members: members)
    let complete = ManifestBody(
      state: .complete, chain: Fixed.chain, sequence: 1, revision: 0, core: core(honest.encode()),
      bytesDecoded: UInt64(bytes.count), bytesFetched: UInt64(bytes.count + 16), newBytes: 0,
      nextPackNumber: nextPackNumber, tags: [], note: "", packTable: [], maps: [map, empty])
    return body(Array(complete.encode().dropLast(2)) + extensions)
  }

  private var members: [Core.Member] {
    let first = file(unitType, size: method.hasImage ? 512 : 65_536, [bytes])
    return [
      .init(path: "store", mode: 0o600, modified: 0, content: method.hasImage ? .database(first) : .file(first)),
      .init(path: "empty", mode: 0o600, modified: 0, content: .file(file(.block, size: 65_536, []))),
    ]
  }

  private func file(_ type: UnitType, size: UInt32, _ units: [[UInt8]]) -> Core.FileContent {
    let joined = Array(units.joined())
    return Core.FileContent(
      unitType: type, unitSize: size, unitCount: UInt64(units.count), length: UInt64(joined.count),
      imageDigest: FrameRecord.frameID(of: Frames.fingerprints(type, units)), sha256: .sha256(of: joined))
  }
}
