/// The name of an object: path components of `[a-z0-9._-]`, joined by `/`.
///
/// These characters travel everywhere unchanged: S3 keys, URLs, WebDAV hrefs, every file system. No component
/// begins with a dot (`.`, `..` and hidden files cannot be written), none is longer than 200 bytes.
package struct ObjectName: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let text: String

  /// `nil` when the text is not such a name; what a server lists is untrusted and comes through here.
  package init?(_ text: String) {
    guard !text.isEmpty, text.utf8.count <= 900 else { return nil }
    for component in text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard (1...200).contains(component.count), component.first != UInt8(ascii: ".") else { return nil }
      guard component.allSatisfy(Self.isAllowed) else { return nil }
    }
    self.text = text
  }

  /// The last component.
  package var lastComponent: Substring { text[(text.lastIndex(of: "/").map(text.index(after:)) ?? text.startIndex)...] }

  package var description: String { text }

  package static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
