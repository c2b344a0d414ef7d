import Sealing

/// A version as somebody found it at one place: of two that show the same repository, such as a target and a copy of all
/// its objects, what one lacks the other may have.
struct PlacedVersion: Hashable, Sendable {
  let version: Digest
  /// A name of it (`StorePlace`); `nil`: what an earlier build noted holds everywhere.
  let place: String?

  /// Those of a version that may stand among others.
  /// - Parameter place: where it is asked for; `nil` for everywhere.
  static func all(
    of version: Digest, at place: StorePlace?, among others: some Sequence<PlacedVersion>
  ) -> [PlacedVersion] {
    guard let place else { return others.filter { $0.version == version } }
    let placed = place.names.map { PlacedVersion(version: version, place: $0) }
    return placed + [PlacedVersion(version: version, place: nil)]
  }

  /// Whether it counts where somebody asks.
  func holds(at place: StorePlace?) -> Bool {
    guard let place, let found = self.place else { return true }
    return place.names.contains(found)
  }
}
