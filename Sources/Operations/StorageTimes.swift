import Repositories
import Sealing
import Storage

/// When manifests were stored, as a listing said it: a hint of which of two chains was left first.
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
}
