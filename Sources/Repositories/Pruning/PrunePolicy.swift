import Sealing
import Storage

/// What a prune may take, and when.
package struct PrunePolicy: Sendable {
  package static let day: UInt64 = 86_400_000

  /// Milliseconds. Packs that the store says are younger stay: a push that runs may be about to refer to them. Saves that
  /// push work and is no part of what makes a prune safe; a store that tells no times has no young packs.
  package var minAge = day
  /// Milliseconds. A forgotten version stays until the store says that a tombstone of it has been there for so long:
  /// who took over a machine with the key forgets everything, and people need time to notice. Only ever delays.
  package var forgottenFor: UInt64 = 0
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

  /// What was forgotten long enough ago, by the store's own time: the one in a tombstone is the word of who wrote it.
  /// Where the store tells no time, or one ahead of ours, it is as if they had been stored now.
  func rested(_ forgotten: Forgotten, by tombstones: [ObjectInfo], below prefix: String) -> Forgotten {
    guard forgottenFor > 0 else { return forgotten }
    let now = Int(clamping: self.now() / 1000)
    let old = tombstones.filter { info in
      guard let stored = info.stored else { return false }
      let (age, isNonsense) = now.subtractingReportingOverflow(stored)
      return !isNonsense && age >= Int(clamping: forgottenFor / 1000)
    }
    let names = Set(RecordListing(objects: old).names(below: prefix).map(\.digest))
    return forgotten.by { names.contains($0) }
  }

  /// Whether a time that a store tells, in seconds, proves nothing: it is more than a day ahead of this machine's. Of a
  /// folder it is that of the clock that wrote there, which may have been wrong once.
  static func isAhead(_ stored: Int, of now: UInt64) -> Bool {
    stored > Int(clamping: now / 1000) + Int(day / 1000)
  }
}
