import Repositories
import Sealing
import Storage

/// When manifests were stored, as a listing said it: a hint of which of two chains was left first, and of which of two
/// versions of one moment came to be there last.
struct StorageTimes: Sendable {
  private let seconds: [Digest: Int]

  /// - Parameter objects: the listing of `versions/`.
  init(_ objects: [ObjectInfo]) {
    let told = objects.compactMap { info in
      VersionName(info.name).flatMap { name in info.stored.map { (name.digest, $0) } }
    }
    seconds = Dictionary(told) { first, _ in first }
  }

  /// Whether a manifest was stored before a version was pushed: it is of an older one then. A version may be stored again
  /// long after, by a repair or as a copy, so the moment of its snapshot counts where that is the earlier one.
  func isBefore(_ one: VersionName, _ version: VersionFacts) -> Bool {
    guard let first = seconds[one.digest], let second = seconds[version.digest] else { return false }
    let taken = version.version.map { Int(clamping: $0.time / 1000) } ?? second
    return first < min(second, taken)
  }

  /// Between chains: by time. A version that lies there twice was copied again because something is wrong with the first:
  /// what was stored last is taken.
  func isOlder(_ one: VersionFacts, _ other: VersionFacts) -> Bool { order(of: one) < order(of: other) }

  private func order(of facts: VersionFacts) -> (UInt64, Int, UInt64) {
    (facts.version?.time ?? 0, seconds[facts.digest] ?? 0, facts.sequence)
  }
}
