import Sealing

/// How much of what is there an attempt at a version rests on: less where it would be too dear.
extension PushSession {
  /// What an attempt is to write, and how much of what is there it may rest on.
  struct Footing {
    var draft: VersionDraft
    var level: DeltaLevel
    var reusesLeftovers = true
  }

  /// A version that would be too dear rests on less the next time.
  /// - Parameter carried: what this push has stored, in attempts before this one.
  mutating func stepDown(
    _ footing: inout Footing, from writer: borrowing VersionWriter, for problem: VersionWriter.TooDear,
    carried: Set<Digest>
  ) {
    if problem.isOnAnyBase, footing.level > .fresh {
      footing.level = problem.hasCompanions && footing.level > .anchor ? .anchor : .fresh
      footing.draft.deltas.leafUpTo = nil
    } else if footing.draft.deltas.leafUpTo != nil {
      footing.level = footing.draft.deltas.level
      footing.draft.deltas.leafUpTo = nil
    } else if let instead = writer.levelWithoutBases {
      footing.level = instead
    } else if let below = footing.level.below {
      footing.level = below
    } else if resumed.contains(where: { !carried.contains($0.name) }) {
      // What earlier pushes left is in the way: other content, a little of each pack.
      resumed.removeAll { !carried.contains($0.name) }
    } else {
      footing.reusesLeftovers = false
    }
  }
}
