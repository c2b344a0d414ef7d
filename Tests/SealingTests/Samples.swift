@testable import Sealing

/// One honest value of every body and node, with something in every field.
enum Samples {
  static let entries = (1...3).map { number in
    PackEntry(
      number: UInt32(number), name: Fixed.digest("pack \(number)"), length: 8_388_608, directoryLength: 65_536,
      version: UInt8(ObjectFormat.version), aead: 1, kem: 0, epoch: 2, salt: Fixed.digest("salt \(number)").bytes)
  }

  static let leaf = MapLeaf(runs: [
    .init(pack: 1, frame: 5, firstUnit: 2, count: 9), .init(pack: 0xFFFF_FFFF, frame: 0, firstUnit: 0, count: 7),
    .init(pack: 0, frame: 0, firstUnit: 0, count: 1),
  ])
  static let branch = MapBranch(
    level: 1, children: [.init(pack: 2, frame: 1, unit: 0), .init(pack: 0, frame: 1, unit: 3)])
  static let table = PackTableLeaf(entries: entries)

  static let members: [Core.Member] = [
    .init(
      path: "app.db", mode: 0o600, modified: Fixed.time - 1,
      content: .database(
        .init(
          unitType: .page, unitSize: 4096, unitCount: 17, length: 69_632, imageDigest: Fixed.digest("image"),
          sha256: Fixed.digest("plain")))),
    .init(path: ".app_SUPPORT", mode: 0o700, modified: Fixed.time, content: .folder),
    .init(
      path: ".app_SUPPORT/blob é", mode: 0o644, modified: Fixed.time,
      content: .file(
        .init(
          unitType: .block, unitSize: 65_536, unitCount: 2, length: 65_537, imageDigest: Fixed.digest("image 2"),
          sha256: Fixed.digest("plain 2")))),
    .init(path: "latest", mode: 0o777, modified: 0, content: .link(target: "../elsewhere")),
  ]

  static let core = Core(
    chain: Fixed.chain, sequence: 42, previous: Fixed.digest("core 41"), time: Fixed.time, host: "host",
    database: "app", method: .vacuum, flags: [.notCheckable], members: members)

  static let body = ManifestBody(
    state: .complete, chain: Fixed.chain, sequence: 42, revision: 1, core: core.encode(), bytesDecoded: 100_000,
    bytesFetched: 30_000, newBytes: 8192, nextPackNumber: 4, tags: ["before upgrade"], note: "naïve",
    packTable: [.here(frame: 0, unit: 2), .inPack(entries[2], frame: 9, unit: 1)],
    maps: [
      .init(depth: 1, location: .init(pack: 0, frame: 0, unit: 0)),
      .init(depth: 1, location: .init(pack: 3, frame: 2, unit: 0)),
    ])

  static let partial = ManifestBody(
    state: .partial, chain: Fixed.chain, sequence: 43, revision: 0, core: [], bytesDecoded: 0, bytesFetched: 0,
    newBytes: 0, nextPackNumber: 4, tags: [], note: "", packTable: [.here(frame: 0, unit: 2)], maps: [])

  static let condemned = CondemnedRecord(
    chain: Fixed.chain, time: Fixed.time, packs: [Fixed.digest("pack 1"), Fixed.digest("pack 2")])

  static let tombstone = Tombstone(
    chain: Fixed.chain, time: Fixed.time,
    ranges: [
      .init(first: 1, last: 3, previousOfFirst: .zero, coreHashOfLast: Fixed.digest("core 3")),
      .init(first: 5, last: 5, previousOfFirst: Fixed.digest("core 4"), coreHashOfLast: Fixed.digest("core 5")),
    ])

  static let annotation = Annotation(
    chain: Fixed.chain, sequence: 42, coreHash: Fixed.digest("core"), time: Fixed.time,
    items: [
      .init(kind: .addTag, bytes: Array("kept".utf8)), .init(kind: .pin, bytes: []),
      .init(kind: .drill, bytes: [1, 2, 3]),
    ])

  static let configuration = RepositoryConfiguration(createdAt: Fixed.time)

  static var nodeFrame: EncodedFrame {
    get throws { try Frames.encoded(.node, [leaf.encode(), branch.encode(), table.encode()]) }
  }

  /// The body of every kind that has one.
  static let metas: [(kind: ObjectKind, meta: [UInt8])] = [
    (.manifest, body.encode()), (.manifest, partial.encode()), (.keyring, Fixed.keyring.encode()),
    (.condemned, condemned.encode()), (.tombstone, tombstone.encode()), (.annotation, annotation.encode()),
    (.configuration, configuration.encode()),
  ]

  /// Pages stored whole, raw and compressed, and one frame of blocks with a shorter last one.
  static func pack(_ random: @escaping RandomSource = Fixed.stuckRandom, first: Int = 1) throws -> SealedObject {
    var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, random: random)
    builder.add(try Frames.encoded(.page, [Fixed.page(first), Fixed.page(first + 1)]))
    builder.add(try Frames.encoded(.page, [Fixed.page(first + 2)], level: 0))
    builder.add(try Frames.encoded(.block, [Array(Fixed.page(first + 3)), [1, 2, 3]]))
    return try builder.finish()
  }

  static func deltaPack() throws -> SealedObject {
    var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, random: Fixed.stuckRandom)
    for frame in try Frames.chain(depth: 2) { builder.add(frame) }
    return try builder.finish()
  }

  /// Pages in the form of cells, and a delta on one of them.
  static func cellPack() throws -> SealedObject {
    var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, random: Fixed.stuckRandom)
    let pages = try CellForms.samplePages()
    builder.add(try Frames.encoded(.page, pages))
    var changed = pages[2]
    changed[500] ^= 1
    builder.add(
      Frames.cellDelta([changed], prefix: pages[2], bases: [.init(pack: nil, frame: 0, firstUnit: 2, count: 1)]))
    return try builder.finish()
  }

  static func nodePack() throws -> SealedObject {
    var builder = ObjectBuilder(kind: .pack, keys: Fixed.keys, random: Fixed.stuckRandom)
    builder.add(try nodeFrame)
    return try builder.finish()
  }

  static func manifest(_ body: ManifestBody = body) throws -> SealedObject {
    var builder = ObjectBuilder(kind: .manifest, keys: Fixed.keys, random: Fixed.stuckRandom)
    builder.add(try nodeFrame)
    builder.add(try Frames.encoded(.page, [Fixed.page(8)]))
    return try builder.finish(meta: body.encode())
  }

  static func object(_ kind: ObjectKind, _ meta: [UInt8]) throws -> SealedObject {
    try ObjectBuilder(kind: kind, keys: Fixed.keys, random: Fixed.stuckRandom).finish(meta: meta)
  }

  static func slot(_ secret: SlotSecret) throws -> [UInt8] {
    try KeySlot.seal(
      master: Fixed.master, secret: secret, repository: Fixed.repository, cost: .least, createdAt: Fixed.time,
      random: Fixed.stuckRandom)
  }
}
