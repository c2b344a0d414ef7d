/// Where a new version may find its content again, by how many deltas lie below each other there; negative for nowhere.
struct Reach: Sendable {
  /// In any pack that is known.
  let depth: Int
  /// In packs that no version needs yet: what a push that was cut, or an attempt that came to nothing, has stored for this
  /// very version. As deep as its own frames may be.
  let ownDepth: Int

  init(depth: Int, ownDepth: Int = -1) { (self.depth, self.ownDepth) = (depth, ownDepth) }
}
