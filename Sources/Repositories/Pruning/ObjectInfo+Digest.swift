import Sealing
import Storage

extension ObjectInfo {
  /// The hash that ends the name of a pack or a manifest.
  var digest: Digest? { name.lastComponent.split(separator: "-").last.flatMap(Layout.digest) }

  func isAmong(_ names: Set<Digest>) -> Bool { digest.map { names.contains($0) } ?? false }

  func isAmong(_ names: NameSet) -> Bool { digest.map { names.contains($0) } ?? false }
}
