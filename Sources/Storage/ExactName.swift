/// The name of a database or of a host, as the bytes that make a chain's number, or a tag, as those that are stored. Two
/// that only look alike, one with composed letters and one with decomposed ones, are two to whoever pushes; Swift's own
/// comparisons of texts take them for one.
package struct ExactName: Hashable, Comparable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (one: ExactName, other: ExactName) -> Bool { one.text.isSameName(as: other.text) }

  package static func < (one: ExactName, other: ExactName) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  /// Names of the same bytes are equal texts.
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
  package func isSameName(as other: String?) -> Bool { other.map { utf8.elementsEqual($0.utf8) } ?? false }

  /// The same to whoever reads it.
  package func looksLike(_ other: String?) -> Bool { other.map { self == $0 } ?? false }
}

extension Sequence where Element == String {
  package func containsName(_ name: String) -> Bool { contains { $0.isSameName(as: name) } }
}

extension Dictionary where Key == String {
  /// Of what a configuration says by name, where no two names look alike.
  package func value(ofName name: String) -> Value? {
    guard let index = self.index(forKey: name), self[index].key.isSameName(as: name) else { return nil }
    return self[index].value
  }
}
