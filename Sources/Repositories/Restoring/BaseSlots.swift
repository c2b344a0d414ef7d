/// Where decoded bases are put in the file of bases: each has its place until the last that rests on it is decoded, then
/// another gets it. So the file is as long as what is needed at once, not as all bases together, and its pages stay in
/// the cache.
struct BaseSlots {
  /// Places are multiples of this, in bytes: frames of almost one length take each other's.
  private static let grain = 64 << 10

  private var end = 0
  /// What was taken, and how long it is.
  private var rooms: [Int: Int] = [:]
  /// By their length, those that may be taken.
  private var free: [Int: [Int]] = [:]
  /// Those whose last reader is in the wave that is being made: it reads them when it is decoded, so they may be taken
  /// for a later one.
  private var ending: [Int] = []

  /// - Parameter length: in bytes.
  /// - Returns: the offset in the file.
  mutating func take(_ length: Int) -> Int {
    let room = max(1, (length + Self.grain - 1) / Self.grain) * Self.grain
    let slot = free[room]?.popLast() ?? end
    if slot == end { end += room }
    rooms[slot] = room
    return slot
  }

  /// Gives back what was taken, which nobody reads any more but who is in the wave that is being made, or in one before.
  mutating func release(_ slots: [Int]) { ending += slots }

  /// The wave is complete: what is taken from now on is for later ones.
  mutating func closeWave() {
    for slot in ending { if let room = rooms.removeValue(forKey: slot) { free[room, default: []].append(slot) } }
    ending = []
  }
}
