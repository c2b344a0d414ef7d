import Sealing

/// Which versions are pinned for certain. A word that was on its way when a machine died may arrive at any time, and the
/// later one counts by clocks that are wrong: then nothing is certain.
struct Pins {
  private var pinned: Set<Digest> = []
  /// How often somebody began to unpin a version, and how often of those it is not known to have ended.
  private var begun: [Digest: Int] = [:]
  private var open: [Digest: Int] = [:]

  func contains(_ id: Digest) -> Bool { pinned.contains(id) }

  /// To be compared before and after.
  func unpinnings(of id: Digest) -> Int { begun[id] ?? 0 }

  /// Somebody was told that it is pinned.
  /// - Parameter before: how often somebody had begun to unpin it when he began.
  /// - Returns: whether that is certain.
  mutating func add(_ id: Digest, before: Int) -> Bool {
    guard unpinnings(of: id) == before, open[id] ?? 0 == 0 else { return false }
    return pinned.insert(id).inserted
  }

  mutating func beginToRemove(_ id: Digest) {
    pinned.remove(id)
    begun[id, default: 0] += 1
    open[id, default: 0] += 1
  }

  mutating func endRemoving(_ id: Digest) { open[id, default: 0] -= 1 }
}
