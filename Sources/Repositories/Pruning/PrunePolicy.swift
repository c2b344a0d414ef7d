import Sealing
package import Storage

/// What a prune may take, and when.
package struct PrunePolicy: Sendable {
  package static let day: UInt64 = 86_400_000
  /// Milliseconds for which somebody who still pushes may have had nothing to push.
  static let quietWeek: UInt64 = 7 * day

  /// Milliseconds. Packs that the store says are younger stay: a push that runs may be about to refer to them. Saves that
  /// push work and is no part of what makes a prune safe; a store that tells no times has no young packs.
  package var minAge = day
  /// Milliseconds. A forgotten version stays until the store says that a tombstone of it has been there for so long:
  /// who took over a machine with the key forgets everything, and people need time to notice. Only ever delays.
  package var forgottenFor: UInt64 = 0
  /// What the store's clock said at least, in seconds since 1970, by what was listed of all chains.
  package private(set) var storeTime: Int?
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

  /// Takes the store's time from what was listed of other chains, too: one chain may get no version for months.
  package mutating func noteTimes(of listed: [ObjectInfo]) {
    let now = self.now()
    storeTime = listed.compactMap(\.stored).filter { !Self.isAhead($0, of: now) }.max()
  }

  /// What both this machine's clock and the store's have come to, in seconds since 1970: either may be weeks ahead.
  /// - Parameter storeTimes: when what a look has listed was stored.
  func timeOfBoth(_ storeTimes: [Int]) -> Int {
    let now = self.now()
    let shown = storeTimes.filter { !Self.isAhead($0, of: now) } + [storeTime].compactMap { $0 }
    return min(Int(clamping: now / 1000), shown.max() ?? .max)
  }

  /// What was forgotten long enough ago, by the store's own time: the one in a tombstone is the word of who wrote it.
  /// Where the store tells no time, or one ahead of ours, it is as if they had been stored now.
  /// - Parameter time: seconds since 1970.
  func rested(_ forgotten: Forgotten, by tombstones: [ObjectInfo], below prefix: String, at time: Int) -> Forgotten {
    guard forgottenFor > 0 else { return forgotten }
    let old = tombstones.filter { info in
      guard let stored = info.stored else { return false }
      let (age, isNonsense) = time.subtractingReportingOverflow(stored)
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
