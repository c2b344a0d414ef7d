/// A store that its application holds in memory and writes as one whole file, which takes the place of the one before:
/// Core Data's XML and binary stores, and property lists. Read at once, it is consistent by itself.
package enum AtomicStore: String, Sendable, Hashable, CaseIterable {
  /// Core Data's XML store.
  case xml
  /// A property list in XML.
  case propertyList
  /// A binary property list; Core Data's binary store is one.
  case binary

  /// As it stands in a sentence.
  package var name: String {
    switch self {
    case .xml: "a Core Data store in XML"
    case .propertyList: "a property list"
    case .binary: "a binary property list, as Core Data's binary stores are"
    }
  }

  /// By the first bytes of a file.
  init?(beginningOf bytes: [UInt8]) {
    if ForeignFormat.begins(bytes, with: "bplist0") {
      self = .binary
    } else if let element = Self.firstElement(of: bytes) {
      switch element {
      case "database": self = .xml
      case "plist": self = .propertyList
      default: return nil
      }
    } else {
      return nil
    }
  }

  /// The name that an XML file's document type gives, or its first element has, whichever stands first.
  private static func firstElement(of bytes: [UInt8]) -> String? {
    var rest = bytes[...]
    if rest.starts(with: [0xef, 0xbb, 0xbf]) { rest = rest.dropFirst(3) }
    while true {
      rest = rest.drop { [0x20, 0x09, 0x0a, 0x0d].contains($0) }
      guard rest.first == UInt8(ascii: "<") else { return nil }
      if rest.starts(with: "<?".utf8) {
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        rest = rest[(end + 1)...]
      } else if rest.starts(with: "<!--".utf8) {
        guard let end = rest.indices.first(where: { rest[$0...].starts(with: "-->".utf8) }) else { return nil }
        rest = rest[(end + 3)...]
      } else {
        let isType = rest.starts(with: "<!DOCTYPE ".utf8)
        let name = rest.dropFirst(isType ? 10 : 1).prefix { byte in
          (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        return String(decoding: name, as: UTF8.self)
      }
    }
  }
}
