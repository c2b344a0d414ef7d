@testable import Sealing

/// Packs of nodes: what is at the limits, and such as break one rule each (`Docs/Format.md` §7).
extension VectorRecipes {
  static func nodes() throws -> [Vector] {
    let limits: [[UInt8]] = [
      leaf([run(zeros, 0, 0, 1024)]), leaf([run(0xFFFF_FFFD, 0xFFFF_FFFF, 0xFFFF, 1)]), branch(3, count: 256),
      table((1...512).map { entry($0) }),
      table([
        entry(1), entry(2, directoryLength: 3964),
        entry(0xFFFF_FFFD, length: 67_108_864, directoryLength: 67_108_732, epoch: .max),
      ]),
    ]
    let object = try pack([try Frames.encoded(.node, limits)])
    let best = good("node-limits", "nodes as large as they may be", object, content: Array(limits.joined()))
    return try [best] + brokenMaps() + brokenTables()
  }

  private static func brokenMaps() throws -> [Vector] {
    let right = leaf([run(1, 0, 0, 1)])
    let nodes: [(String, String, [UInt8])] = [
      ("node-leaf-empty", "a map leaf without runs", leaf([])),
      ("node-leaf-1025", "a map leaf of 1,025 units", leaf([run(zeros, 0, 0, 1025)])),
      ("node-leaf-cut", "a map leaf one byte short", Array(right.dropLast())),
      ("node-leaf-long", "a map leaf one byte too long", right + [0]),
      ("node-run-empty", "a run of no units", leaf([run(1, 0, 0, 1), run(1, 0, 1, 0)])),
      ("node-run-frame", "a run of zeros with a frame", leaf([run(zeros, 1, 0, 1)])),
      ("node-run-unit", "a run of zeros with a first unit", leaf([run(zeros, 0, 1, 1)])),
      ("node-run-pack", "a run in pack 0xFFFFFFFE", leaf([run(notUsed, 0, 0, 1)])),
      ("node-run-beyond", "a run beyond the units that a frame can have", leaf([run(1, 0, 0xFFFF, 2)])),
      ("node-branch-level-0", "a map branch of level 0", branch(0, count: 1)),
      ("node-branch-level-4", "a map branch of level 4", branch(4, count: 1)),
      ("node-branch-empty", "a map branch without children", branch(1, count: 0)),
      ("node-branch-257", "a map branch of 257 children", branch(1, count: 257)),
      ("node-branch-zeros", "zeros as a child", branch(1, count: 1, pack: zeros)),
      ("node-branch-pack", "a child in pack 0xFFFFFFFE", branch(1, count: 1, pack: notUsed)),
    ]
    return try nodes.map { name, about, node in try broken(name, about, "malformed", node) }
  }

  private static func brokenTables() throws -> [Vector] {
    var reserved = table([entry(1)])
    reserved[50] = 1
    let later = entry(1, version: UInt8(ObjectFormat.version) + 1)
    let nodes: [(String, String, String, [UInt8])] = [
      ("node-table-empty", "a table leaf without entries", "malformed", table([])),
      ("node-table-513", "a table leaf of 513 entries", "malformed", table((1...513).map { entry($0) })),
      ("node-table-order", "entries that descend", "malformed", table([entry(2), entry(1)])),
      ("node-table-twice", "one number twice", "malformed", table([entry(1), entry(1)])),
      ("node-entry-number-0", "pack number 0", "malformed", table([entry(0)])),
      ("node-entry-number-high", "pack number 0xFFFFFFFE", "malformed", table([entry(notUsed)])),
      ("node-entry-short", "a pack of 4,095 bytes", "malformed", table([entry(1, length: 4095)])),
      ("node-entry-long", "a pack of 64 MiB and a byte", "malformed", table([entry(1, length: 67_108_865)])),
      ("node-entry-directory", "a directory frame of 26 bytes", "malformed", table([entry(1, directoryLength: 26)])),
      (
        "node-entry-directory-long", "a directory frame that leaves no room for the header", "malformed",
        table([entry(1, directoryLength: 3965)])
      ),
      ("node-entry-epoch", "epoch 0", "malformed", table([entry(1, epoch: 0)])),
      ("node-entry-reserved", "a byte where zero must be", "malformed", reserved),
      ("node-entry-version", "a pack of the version after this one", "unsupported", table([later])),
    ]
    return try nodes.map { name, about, expect, node in try broken(name, about, expect, node) }
  }

  private static let zeros: UInt32 = 0xFFFF_FFFF
  private static let notUsed: UInt32 = 0xFFFF_FFFE

  private static func broken(_ name: String, _ about: String, _ expect: String, _ node: [UInt8]) throws -> Vector {
    vector(name, about, expect: expect, try pack([try Frames.encoded(.node, [node])]))
  }

  private static func run(_ pack: UInt32, _ frame: UInt32, _ firstUnit: UInt16, _ count: UInt16) -> MapLeaf.Run {
    MapLeaf.Run(pack: pack, frame: frame, firstUnit: firstUnit, count: count)
  }

  private static func leaf(_ runs: [MapLeaf.Run]) -> [UInt8] { MapLeaf(runs: runs).encode() }

  private static func branch(_ level: UInt8, count: Int, pack: UInt32 = 1) -> [UInt8] {
    let child = Location(pack: pack, frame: 0, unit: 0)
    return MapBranch(level: level, children: [Location](repeating: child, count: count)).encode()
  }

  private static func table(_ entries: [PackEntry]) -> [UInt8] { PackTableLeaf(entries: entries).encode() }

  /// The least that an entry may say, by names that compress well.
  private static func entry(
    _ number: UInt32, length: UInt32 = 4096, directoryLength: UInt32 = 27,
    version: UInt8 = UInt8(ObjectFormat.version), epoch: UInt32 = 1
  ) -> PackEntry {
    var name = ByteWriter()
    name.writeZeros(28)
    name.write(number)
    return PackEntry(
      number: number, name: Digest(known: name.bytes), length: length, directoryLength: directoryLength,
      version: version, aead: 1, kem: 0, epoch: epoch, salt: Fixed.digest("salt").bytes)
  }
}
