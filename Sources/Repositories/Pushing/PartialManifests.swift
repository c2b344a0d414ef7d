import Sealing

/// When a long push says what it has stored so far (`Docs/Format.md` §6.2, partial): partial manifests protect its
/// packs from prunes, and a push that was cut is continued from them.
///
/// Each lists what came to be stored since the one before, and all of them count: so their bytes grow with the push,
/// not with its square.
struct PartialManifests: Sendable {
  private let policy: PushSession.Policy
  /// What partial manifests of pushes before this one list: they count as long as this sequence has no version.
  private let earlier: Set<Digest>
  /// How many packs of this attempt they list.
  private var listed = 0
  private var time: UInt64
  /// The revision that the next manifest of this sequence takes.
  private(set) var nextRevision: UInt32

  init(_ policy: PushSession.Policy, nextRevision: UInt32, after earlier: Set<Digest> = []) {
    self.policy = policy
    self.earlier = earlier
    self.nextRevision = nextRevision
    time = policy.now()
  }

  /// The same for a further attempt, which counts its packs anew.
  func again() -> PartialManifests {
    var partials = self
    partials.listed = 0
    return partials
  }

  func isDue(packs stored: Int) -> Bool {
    guard stored > listed else { return false }
    return stored - listed >= policy.packsPerPartial || policy.now() >= time + policy.millisecondsPerPartial
  }

  /// Notes that a partial manifest is being written.
  /// - Parameters:
  ///   - stored: the packs of this attempt, in the order they came to be.
  ///   - resumed: what a push before it has left. The first one lists those too that only a journal has noted.
  /// - Returns: its revision, and what it lists, ascending by number.
  mutating func begin(
    _ stored: [PackEntry], after resumed: [PackEntry]
  ) -> (revision: UInt32, entries: [PackEntry]) {
    var entries = listed == 0 ? resumed.filter { !earlier.contains($0.name) } : []
    entries += stored.dropFirst(listed)
    listed = stored.count
    time = policy.now()
    defer { nextRevision += 1 }
    return (nextRevision, entries.sorted { $0.number < $1.number })
  }
}
