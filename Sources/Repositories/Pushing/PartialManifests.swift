/// When a long push says what it has stored so far (`Docs/Format.md` §6.2, partial): the newest partial manifest protects
/// its packs from prunes, and a push that was cut is continued from it.
struct PartialManifests: Sendable {
  private let policy: PushSession.Policy
  private var packs = 0
  private var time: UInt64
  /// The revision that the next manifest of this sequence takes.
  private(set) var nextRevision: UInt32

  init(_ policy: PushSession.Policy, nextRevision: UInt32) {
    self.policy = policy
    self.nextRevision = nextRevision
    time = policy.now()
  }

  func isDue(packs stored: Int) -> Bool {
    guard stored > packs else { return false }
    return stored - packs >= policy.packsPerPartial || policy.now() >= time + policy.millisecondsPerPartial
  }

  /// Notes that a partial manifest is being written, and says under which revision.
  mutating func begin(packs stored: Int) -> UInt32 {
    packs = stored
    time = policy.now()
    defer { nextRevision += 1 }
    return nextRevision
  }
}
