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

  /// Whether both times are known, and the first is the lesser one.
  func isBefore(_ one: VersionName, _ other: VersionName) -> Bool {
    guard let first = seconds[one.digest], let second = seconds[other.digest] else { return false }
    return first < second
  }
}
