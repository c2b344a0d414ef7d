/// Where a new version may find its content again.
enum Reach: Sendable {
  /// In frames with no more than so many deltas below each other; negative for none.
  case frames(depth: Int)
  /// In whole frames of packs that no version needs yet: what a push that was cut has stored for this very one.
  case leftovers
}
