/// In which steps a copy is made: those that somebody asked for, or whatever is convenient.
struct CopySteps {
  /// At least 1; nil for no wish.
  let pages: Int?

  /// How many pages to copy next, so that no step of somebody's is passed over.
  func next(after done: Int, atMost most: Int) -> Int {
    pages.map { min(most, $0 - done % $0) } ?? most
  }

  /// Whether progress is told with so many pages done.
  func ends(at done: Int, of total: Int) -> Bool {
    pages.map { done % $0 == 0 || done == total } ?? true
  }
}
