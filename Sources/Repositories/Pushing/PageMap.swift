import Sealing

/// How a member's map is cut into nodes (`Docs/Format.md` §7): fixed boundaries, so that what did not change keeps its bytes.
enum PageMap {
  static let unitsPerLeaf = 1024
  static let childrenPerBranch = 256

  /// The depth that holds so many units: 0 for none, 1 for one leaf.
  static func depth(units: Int) -> UInt8 {
    guard units > 0 else { return 0 }
    var nodes = (units + unitsPerLeaf - 1) / unitsPerLeaf
    var depth: UInt8 = 1
    while nodes > 1 {
      nodes = (nodes + childrenPerBranch - 1) / childrenPerBranch
      depth += 1
    }
    return depth
  }

  /// The leaves of a member whose units lie as `runs` say.
  /// - Parameter placed: by ordinal of a new frame, where it came to lie.
  static func leaves(of runs: RunList, placed: [UnitLocation]) -> [[UInt8]] {
    var leaves: [[UInt8]] = []
    var current: [MapLeaf.Run] = []
    var room = unitsPerLeaf
    for index in 0..<runs.count {
      var left = runs[index].resolved(placed)
      while left.count > 0 {
        let count = min(left.count, UInt16(room))
        current.append(
          MapLeaf.Run(
            pack: left.location.pack, frame: left.location.frame, firstUnit: left.location.unit, count: count))
        left.count -= count
        if left.location.pack != UnitLocation.zeros { left.location.unit &+= count }
        room -= Int(count)
        if room == 0 {
          leaves.append(MapLeaf(runs: current).encode())
          current = []
          room = unitsPerLeaf
        }
      }
    }
    if !current.isEmpty { leaves.append(MapLeaf(runs: current).encode()) }
    return leaves
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
