import Sealing
package import Storage

/// Where a store is, by short names: this machine tells it by them from another place that shows the same repository.
package struct StorePlace: Sendable, Hashable {
  /// Under which it notes what it finds there.
  package let name: String
  /// Under which an earlier build did, where that is another one: it knew a folder by the path that it was given.
  package let formerName: String?

  package init(name: String, formerName: String? = nil) {
    self.name = name
    self.formerName = formerName == name ? nil : formerName
  }

  init(_ traits: StoreTraits) { self.init(name: Self.short(traits.place), formerName: Self.short(traits.identity)) }

  private static func short(_ text: String) -> String {
    String(Digest.sha256(of: Array(text.utf8)).hex.prefix(32))
  }

  /// Whether a text may be one of them: half as long as the name of a pack.
  static func isName(_ text: Substring) -> Bool { Hex.decode(text)?.count == 16 }

  /// What stands under one of them was found there.
  var names: [String] { [name] + (formerName.map { [$0] } ?? []) }
}

extension ObjectStore {
  package var place: StorePlace { StorePlace(traits) }
}

extension Repository {
  /// The same of where it lies.
  package var place: StorePlace { store.place }
}
