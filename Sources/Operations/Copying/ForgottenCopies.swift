import Repositories
import Sealing

/// Versions that were at the other repository and were forgotten there. The next copy does not bring them back, or no rule
/// would ever take hold there.
///
/// As long as a manifest stands it says so itself. What a prune has taken left a tombstone, which says how many places are
/// empty, and not of what: between two copies that stand, what comes between them at the origin is taken for what stood
/// there. Where that is more than there are places, some of it was never copied, and then none of it is taken for forgotten.
struct ForgottenCopies {
  /// Places that a prune has emptied, between copies of one chain of the origin.
  private struct Gap {
    let chain: ChainID
    /// Where the copies before and behind it stand at the origin.
    let before: UInt64
    let behind: UInt64
    /// So many versions stood here, at most.
    let places: UInt64

    func mayHaveHeld(_ origin: CopyLanes.Origin) -> Bool {
      origin.chain == chain && before < origin.sequence && origin.sequence < behind
    }
  }

  private var versions: Set<CopyIdentity> = []
  private var gaps: [Gap] = []

  func contains(_ version: CopyIdentity) -> Bool { versions.contains(version) }

  /// Of one whose manifest stands.
  mutating func insert(_ version: CopyIdentity) { versions.insert(version) }

  /// Takes note of what a prune has taken from a chain.
  /// - Parameter origins: where versions stand at their origin.
  mutating func addGaps(of history: ChainHistory, _ origins: [CopyIdentity: CopyLanes.Origin]) {
    let standing = history.versions.map { facts in
      (place: facts.sequence, origin: facts.version.flatMap { origins[CopyIdentity($0)] })
    }
    for chain in Set(standing.compactMap { $0.origin?.chain }) {
      var (before, last, places): (UInt64, UInt64, UInt64) = (0, 0, 0)
      for (place, origin) in standing {
        places += Self.emptied(from: last, to: place, of: history)
        last = place
        // What is no copy of that chain, or one that came out of order, bounds nothing.
        guard let origin, origin.chain == chain, origin.sequence > before else { continue }
        if places > 0 { gaps.append(Gap(chain: chain, before: before, behind: origin.sequence, places: places)) }
        (before, places) = (origin.sequence, 0)
      }
    }
  }

  /// Places between two manifests, if tombstones cover all of them.
  private static func emptied(from last: UInt64, to place: UInt64, of history: ChainHistory) -> UInt64 {
    guard place > last, place - last > 1 else { return 0 }
    let isExplained = history.forgotten.firstUnexplained(in: last + 1..<place, besides: []) == nil
    return isExplained ? place - last - 1 : 0
  }

  /// - Parameter absent: what is at the origin, and of which no manifest stands here.
  mutating func judge(_ absent: [CopyIdentity: CopyLanes.Origin]) {
    for gap in gaps {
      let held = absent.filter { gap.mayHaveHeld($0.value) }.keys
      if UInt64(held.count) <= gap.places { versions.formUnion(held) }
    }
  }
}
