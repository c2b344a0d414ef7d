/// What a prune may take, and when.
package struct PrunePolicy: Sendable {
  package static let day: UInt64 = 86_400_000

  /// Milliseconds. Packs that the store says are younger stay: a push that runs may be about to refer to them. Saves that
  /// push work and is no part of what makes a prune safe; a store that tells no times has no young packs.
  package var minAge = day
  /// Condemn in one run, delete in a later one: for targets whose listings may be late.
  package var twoRuns: Bool
  /// Milliseconds between the two runs: far more than any listing is late.
  package var pause = day
  /// Only say what would be done.
  package var dryRun = false
  /// Milliseconds since 1970 UTC. Clocks only ever put a deletion off.
  package var now: @Sendable () -> UInt64

  package init(twoRuns: Bool, now: @escaping @Sendable () -> UInt64) {
    self.twoRuns = twoRuns
    self.now = now
  }
}
