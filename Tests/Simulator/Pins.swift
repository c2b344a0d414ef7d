import Sealing

/// Which versions are pinned for certain. A word that was on its way when a machine died may arrive at any time, and the
/// later one counts by clocks that are wrong: then nothing is certain.
struct Pins {
  private var pinned: Set<Digest> = []
  /// How often somebody began to unpin a version, and how often of those it is not known to have ended.
  private var begun: [Digest: Int] = [:]
  private var open: [Digest: Int] = [:]

  func contains(_ id: Digest) -> Bool { pinned.contains(id) }

  /// Somebody is unpinning it, or died while he did. Who begins to pin it meanwhile may find it pinned still, and has
  /// nothing to write: that it ends up unpinned is right.
  func isBeingUnpinned(_ id: Digest) -> Bool { open[id] ?? 0 > 0 }

  /// To be compared before and after.
  func unpinnings(of id: Digest) -> Int { begun[id] ?? 0 }

  /// Somebody was told that it is pinned, and nobody was unpinning it when he began.
  /// - Parameter before: how often somebody had begun to unpin it then.
  /// - Returns: whether that is certain.
  mutating func add(_ id: Digest, before: Int) -> Bool {
    guard unpinnings(of: id) == before, !isBeingUnpinned(id) else { return false }
    return pinned.insert(id).inserted
  }

  mutating func beginToRemove(_ id: Digest) {
    pinned.remove(id)
    begun[id, default: 0] += 1
    open[id, default: 0] += 1
  }

  mutating func endRemoving(_ id: Digest) { open[id, default: 0] -= 1 }
}
