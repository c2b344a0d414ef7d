import Repositories
import Sealing

extension CompanionCapture {
  /// What is known when the snapshot is finished.
  struct Captured: Sendable {
    var sources: [CompanionSource] = []
    var found: FoundStore?
    /// As far as is known by now: whether its files can be read shows when they are.
    var store: Remarks.Store? { found?.remarks }
    /// Of what is in: files, and their bytes as listed; those of a Core Data store among them.
    var files = 0
    var bytes = 0
    var externalFiles = 0
    var externalBytes = 0
    /// Not many more fit into one version.
    var isNearlyFull = false
    /// The listing after the snapshot, and whether it proves anything: it is of what was captured, and had been left alone
    /// long enough.
    var digest: Digest?
    var isSettled = false

    /// Counts a file. Holes count, so that all together may be more than any disk holds.
    mutating func count(_ size: Int, isExternal: Bool) {
      files += 1
      bytes = [bytes, size].clampedSum
      guard isExternal else { return }
      externalFiles += 1
      externalBytes = [externalBytes, size].clampedSum
    }
  }
}
