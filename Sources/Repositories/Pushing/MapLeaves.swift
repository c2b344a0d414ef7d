import Sealing

/// The leaves of a member whose units lie as `runs` say, each made when it is asked for: after scattered changes all of
/// them would be a few bytes for every page.
struct MapLeaves: Sequence, IteratorProtocol {
  private let runs: RunList
  /// By ordinal of a new frame, where it came to lie.
  private let placed: [UnitLocation]
  private var position = 0
  /// What is left of the run before `position`.
  private var left: UnitRun?

  init(of runs: RunList, placed: [UnitLocation]) {
    self.runs = runs
    self.placed = placed
  }

  mutating func next() -> [UInt8]? {
    var leaf: [MapLeaf.Run] = []
    var room = PageMap.unitsPerLeaf
    while room > 0, var run = left ?? following() {
      let count = Swift.min(run.count, UInt16(room))
      leaf.append(
        MapLeaf.Run(pack: run.location.pack, frame: run.location.frame, firstUnit: run.location.unit, count: count))
      room -= Int(count)
      run.count -= count
      if run.location.pack != UnitLocation.zeros { run.location.unit &+= count }
      left = run.count > 0 ? run : nil
    }
    return leaf.isEmpty ? nil : MapLeaf(runs: leaf).encode()
  }

  private mutating func following() -> UnitRun? {
    guard position < runs.count else { return nil }
    defer { position += 1 }
    return runs[position].resolved(placed)
  }
}
