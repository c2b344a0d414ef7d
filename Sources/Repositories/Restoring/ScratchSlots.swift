/// Places in a scratch file: each is held until the last who reads it has read it, then another gets it. So the file is as
/// long as what is needed at once, not as all that was ever put there, and its pages stay in the cache.
struct ScratchSlots {
  /// Places are multiples of this, in bytes: what is almost of one length takes each other's.
  private let grain: Int
  /// The file gets no longer.
  private let limit: Int
  private var end = 0
  /// What was taken, and how long it is.
  private var rooms: [Int: Int] = [:]
  /// By their length, those that may be taken.
  private var free: [Int: [Int]] = [:]
  /// Those whose last reader is in the wave that is being made, behind those of the waves before it, the oldest first: a wave reads
  /// when it is decoded, so they may be taken for a later one.
  private var ending: [[Int]]

  /// - Parameter waves: how many later a place may be taken again. One, for what is put there when its wave is decoded.
  init(grain: Int, limit: Int = .max, waves: Int = 1) {
    self.grain = grain
    self.limit = limit
    ending = Array(repeating: [], count: waves)
  }

  /// - Parameter length: in bytes.
  /// - Returns: the offset in the file; `nil` where it would get too long.
  mutating func take(_ length: Int) -> Int? {
    let room = max(1, (length + grain - 1) / grain) * grain
    if let slot = free[room]?.popLast() {
      rooms[slot] = room
      return slot
    }
    guard room <= limit - end else { return nil }
    defer { end += room }
    rooms[end] = room
    return end
  }

  /// Gives back what was taken, which nobody reads any more but who is in the wave that is being made, or in one before.
  mutating func release(_ slots: [Int]) { ending[ending.count - 1] += slots }

  /// The wave is complete: what is taken from now on is for later ones.
  mutating func closeWave() {
    for slot in ending.removeFirst() {
      if let room = rooms.removeValue(forKey: slot) { free[room, default: []].append(slot) }
    }
    ending.append([])
  }
}
