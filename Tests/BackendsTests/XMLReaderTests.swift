import Testing

@testable import Backends

/// Names mean what https://www.w3.org/TR/xml-names/ says, and cost no more than what the document has.
@Suite struct XMLReaderTests {
  private struct Names: XMLReader.Listener {
    var starts: [String] = []
    var ends: [String] = []

    mutating func began(_ name: XMLName, depth: Int) { starts.append("\(name.namespace) \(name.local)") }
    mutating func ended(_ name: XMLName, text: String, depth: Int) {
      ends.append("\(name.namespace) \(name.local) \(text)")
    }
  }

  private func names(_ document: String) throws(XMLRefusal) -> [String] {
    try XMLReader.read(Array(document.utf8), into: Names()).starts
  }

  @Test func `a name is in the namespace of its prefix, the same at its end`() throws {
    let read = try XMLReader.read(
      Array(#"<a xmlns="one" xmlns:p="two">A<p:b xml:lang="en" p:c="">B</p:b><c/></a>"#.utf8), into: Names())
    #expect(read.starts == ["one a", "two b", "one c"])
    #expect(read.ends == ["two b B", "one c ", "one a A"])
  }

  @Test(arguments: [
    // An inner declaration counts in its own element, and up to its end.
    (#"<p:a xmlns:p="1"><p:b xmlns:p="2"><p:c/></p:b><p:d/></p:a>"#, ["1 a", "2 b", "2 c", "1 d"]),
    (#"<a xmlns="1"><b xmlns=""><c/></b><d/></a>"#, ["1 a", " b", " c", "1 d"]),
    (#"<a xmlns="1"><b xmlns="2"/><c/></a>"#, ["1 a", "2 b", "1 c"]),
    // Used before it is declared.
    (#"<p:a p:x="" xmlns:p="1"/>"#, ["1 a"]),
    // What looks like part of a name is none.
    (#"<a b=":"/>"#, [" a"]), (#"<xmlns/>"#, [" xmlns"]), (#"<p:a xmlns:p="1 2"/>"#, ["1 2 a"]),
    (#"<xml:a/>"#, ["http://www.w3.org/XML/1998/namespace a"]),
    (#"<xml:a xmlns:xml="http://www.w3.org/XML/1998/namespace"/>"#, ["http://www.w3.org/XML/1998/namespace a"]),
  ]) func `a declaration counts where it stands`(document: String, expected: [String]) throws {
    #expect(try names(document) == expected)
  }

  @Test(arguments: [
    "<p:a/>", #"<a p:b=""/>"#, #"<a><b xmlns:p="1"/><p:c/></a>"#, #"<p:a xmlns:p=""/>"#, "<xmlns:a/>",
    #"<a xmlns:xmlns="1"/>"#, #"<a xmlns:p="http://www.w3.org/2000/xmlns/"/>"#, #"<a xmlns:xml="1"/>"#,
    #"<a xmlns="http://www.w3.org/XML/1998/namespace"/>"#, #"<p:a:b xmlns:p="1"/>"#, #"<p: xmlns:p="1"/>"#, "<:a/>",
    #"<a xmlns:="1"/>"#, #"<p:a xmlns:p="1" xmlns:q="1"></q:a>"#,
  ]) func `what the names do not tell is refused`(document: String) {
    #expect(throws: XMLRefusal.self) { try names(document) }
  }

  @Test func `no name and no URI is long`() throws {
    let (longest, longer) = (String(repeating: "n", count: 1024), String(repeating: "n", count: 1025))
    #expect(try names("<\(longest) xmlns='\(longest)'/>") == ["\(longest) \(longest)"])
    for document in ["<\(longer)/>", "<a xmlns='\(longer)'/>", "<a xmlns:p='\(longer)'/>", "<a \(longer)=''/>"] {
      #expect(throws: XMLRefusal("a name is too long")) { try names(document) }
    }
    // The value of another attribute may be.
    #expect(try names("<a b='\(longer)'/>") == [" a"])
  }

  /// libexpat itself would make 25 GB of the first of them; the second would have 8 MiB copied four million times.
  @Test func `a URI is not copied for every name that it belongs to`() {
    let attributes = (0..<50_000).map { " p:a\($0)=''" }.joined()
    let costly = "<m xmlns:p='\(String(repeating: "u", count: 500_000))'\(attributes)/>"
    #expect(throws: XMLRefusal("a name is too long")) { try names(costly) }
    let elements = String(repeating: "<a/>", count: 2_000_000)
    let dear = "<m xmlns='\(String(repeating: "u", count: 8 << 20))'>\(elements)</m>"
    #expect(throws: XMLRefusal("a name is too long")) { try names(dear) }
  }

  @Test func `so many declarations are in scope, and no more`() throws {
    func document(_ outer: Int, _ inner: Int) -> String {
      let declarations = (0..<max(outer, inner)).map { " xmlns:p\($0)='u'" }
      let (first, second) = (declarations.prefix(outer).joined(), declarations.prefix(inner).joined())
      return "<a\(first)><b\(second)/><c\(second)/></a>"
    }
    // What an element declared is out of scope in the next.
    #expect(try names(document(32, 32)) == [" a", " b", " c"])
    #expect(throws: XMLRefusal("there are too many namespaces")) { try names(document(32, 33)) }
    #expect(throws: XMLRefusal("there are too many namespaces")) { try names(document(65, 0)) }
  }
}
