import Sealing

/// How a member's map is cut into nodes (`Docs/Format.md` §7): fixed boundaries, so that what did not change keeps its bytes.
enum PageMap {
  static let unitsPerLeaf = 1024
  static let childrenPerBranch = 256

  /// The depth that holds so many units: 0 for none, 1 for one leaf.
  static func depth(units: Int) -> UInt8 {
    guard units > 0 else { return 0 }
    var depth: UInt8 = 1
    while nodes(units: units, level: Int(depth) - 1) > 1 { depth += 1 }
    return depth
  }

  /// How many nodes a level has (0: leaves).
  static func nodes(units: Int, level: Int) -> Int {
    var nodes = (units + unitsPerLeaf - 1) / unitsPerLeaf
    for _ in 0..<level { nodes = (nodes + childrenPerBranch - 1) / childrenPerBranch }
    return nodes
  }

  /// The branches above `children`, which are nodes of `level - 1` (0: leaves).
  static func branches(above children: [UnitLocation], level: UInt8) -> [[UInt8]] {
    stride(from: 0, to: children.count, by: childrenPerBranch).map { start in
      let part = children[start..<min(start + childrenPerBranch, children.count)]
      return MapBranch(
        level: level, children: part.map { Location(pack: $0.pack, frame: $0.frame, unit: $0.unit) }
      ).encode()
    }
  }
}
