import Platform

/// The namespaces that are declared where a reader stands: https://www.w3.org/TR/xml-names/.
///
/// libexpat would tell them, too, but copies the whole URI for every attribute with a prefix: of a document of 1 MiB it
/// makes 25 GB before it asks anybody. Here each is held once, and none is long.
struct XMLNamespaces {
  /// As libexpat hands them over: names and values in turn, and nothing after the last.
  typealias Attributes = UnsafeMutablePointer<UnsafePointer<CChar>?>

  /// In bytes, of a name or a URI.
  static let longest = 1024
  /// In all elements that are open.
  static let mostDeclarations = 64

  private static let xml = "http://www.w3.org/XML/1998/namespace"
  private static let xmlns = "http://www.w3.org/2000/xmlns/"

  private typealias Bytes = Slice<UnsafeRawBufferPointer>

  private struct Declaration {
    /// Empty for names without one.
    var prefix: [UInt8]
    var namespace: String
  }

  /// The inner ones last. This one needs no declaration.
  private var declared = [Declaration(prefix: Array("xml".utf8), namespace: Self.xml)]
  /// For each element that is open, how many there are outside of it.
  private var outside: [Int] = []

  init() {}

  /// Begins an element with what it declares, and tells its name.
  /// - Throws: `XMLRefusal` for a name or a URI that is long, too many declarations, what no declaration may say, and
  ///   prefixes that are not declared, those of attributes as well.
  mutating func enter(_ name: UnsafePointer<CChar>, _ attributes: Attributes?) throws(XMLRefusal) -> XMLName {
    outside.append(declared.count)
    var prefixes: [Bytes] = []
    var index = 0
    while let attribute = attributes?[index], let value = attributes?[index + 1] {
      let (prefix, local) = try Self.parts(of: attribute)
      if prefix.elementsEqual("xmlns".utf8) {
        try declare(local, as: value)
      } else if !prefix.isEmpty {
        prefixes.append(prefix)
      } else if local.elementsEqual("xmlns".utf8) {
        try declare(prefix, as: value)
      }
      index += 2
    }
    // A prefix may be used before it is declared, in one and the same tag.
    for prefix in prefixes { _ = try namespace(of: prefix) }
    let (prefix, local) = try Self.parts(of: name)
    return XMLName(namespace: try namespace(of: prefix), local: String(decoding: local, as: UTF8.self))
  }

  /// Ends the innermost element.
  mutating func leave() {
    guard let count = outside.popLast() else { return }
    declared.removeLast(declared.count - count)
  }

  private mutating func declare(_ prefix: Bytes, as uri: UnsafePointer<CChar>) throws(XMLRefusal) {
    let namespace = String(decoding: try Self.bytes(of: uri), as: UTF8.self)
    // "xml" means its own namespace, which nothing else means; only the default can be undone.
    guard prefix.elementsEqual("xml".utf8) == (namespace == Self.xml), !prefix.elementsEqual("xmlns".utf8),
      namespace != Self.xmlns, prefix.isEmpty || !namespace.isEmpty
    else { throw XMLRefusal("a namespace is declared that cannot be") }
    guard declared.count <= Self.mostDeclarations else { throw XMLRefusal("there are too many namespaces") }
    declared.append(Declaration(prefix: Array(prefix), namespace: namespace))
  }

  private func namespace(of prefix: Bytes) throws(XMLRefusal) -> String {
    if let found = declared.last(where: { $0.prefix.elementsEqual(prefix) }) { return found.namespace }
    guard prefix.isEmpty else { throw XMLRefusal("a prefix is not declared") }
    return ""
  }

  /// What stands before and after the colon of a name.
  private static func parts(of text: UnsafePointer<CChar>) throws(XMLRefusal) -> (prefix: Bytes, local: Bytes) {
    let name = try bytes(of: text)
    let colon = UInt8(ascii: ":")
    guard let middle = name.firstIndex(of: colon) else { return (name.prefix(0), name[...]) }
    let (prefix, local) = (name.prefix(middle), name.dropFirst(middle + 1))
    guard !prefix.isEmpty, !local.isEmpty, !local.contains(colon) else { throw XMLRefusal("a name has a stray colon") }
    return (prefix, local)
  }

  /// Nothing is copied before it is known to be short.
  private static func bytes(of text: UnsafePointer<CChar>) throws(XMLRefusal) -> UnsafeRawBufferPointer {
    let length = strnlen(text, longest + 1)
    guard length <= longest else { throw XMLRefusal("a name is too long") }
    return UnsafeRawBufferPointer(start: text, count: length)
  }
}
