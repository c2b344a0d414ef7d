import Sealing
package import Storage

/// A version as somebody found it at one place: of two that show the same repository, such as a target and a copy of all
/// its objects, what one lacks the other may have.
struct PlacedVersion: Hashable, Sendable {
  let version: Digest
  /// `nil`: what an earlier build noted holds everywhere.
  let place: String?

  /// Whether a text may be the name of one: half as long as the name of a pack.
  static func isPlace(_ text: Substring) -> Bool { Hex.decode(text)?.count == 16 }

  /// Those of a version that may stand among others.
  /// - Parameter place: where it is asked for; `nil` for everywhere.
  static func all(of version: Digest, at place: String?, among others: some Sequence<PlacedVersion>) -> [PlacedVersion]
  {
    guard let place else { return others.filter { $0.version == version } }
    return [PlacedVersion(version: version, place: place), PlacedVersion(version: version, place: nil)]
  }

  /// Whether it counts where somebody asks.
  func holds(at place: String?) -> Bool { place == nil || self.place == nil || self.place == place }
}

extension ObjectStore {
  /// A short name for where it is, by which this machine tells it from another place that shows the same repository.
  package var place: String { String(Digest.sha256(of: Array(traits.place.utf8)).hex.prefix(32)) }
}

extension Repository {
  /// The same of where it lies.
  package var place: String { store.place }
}
