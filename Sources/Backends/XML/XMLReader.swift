import CExpat
import Storage

/// The name of an element and the namespace it is in ("" for none).
struct XMLName: Hashable, Sendable {
  var namespace: String
  var local: String
}

/// Reads an answer from its first to its last byte and tells what is in it, element by element.
///
/// Servers are not trusted: a document type (and with it every entity trick) is refused, so are depth and number of
/// elements beyond what listings have. Text in the wrong encoding, or a document without its end, is an error.
struct XMLReader {
  /// What one kind of document makes of its elements.
  protocol Listener {
    /// In bytes, of one element's text.
    static var longestText: Int { get }
    mutating func began(_ name: XMLName, depth: Int)
    /// - Parameter text: everything directly in the element, without that of inner ones.
    mutating func ended(_ name: XMLName, text: String, depth: Int) throws(XMLRefusal)
  }

  static let greatestDepth = 16
  static let mostElements = 4_000_000

  /// - Throws: `XMLRefusal`, its own or the listener's.
  static func read<Document: Listener>(_ bytes: [UInt8], into listener: Document) throws(XMLRefusal) -> Document {
    // Not XML_ParserCreateNS: `XMLNamespaces` says why.
    guard let parser = XML_ParserCreate("UTF-8") else { throw XMLRefusal("libexpat has no memory") }
    defer { XML_ParserFree(parser) }
    var state = State(parser: parser, listener: listener, longestText: Document.longestText)
    let status = withUnsafeMutablePointer(to: &state) { state in
      install(on: parser, state: UnsafeMutableRawPointer(state))
      return bytes.withUnsafeBytes { buffer in
        XML_Parse(parser, buffer.bindMemory(to: CChar.self).baseAddress, Int32(clamping: buffer.count), 1)
      }
    }
    if let refusal = state.refusal { throw refusal }
    guard status == XML_STATUS_OK else {
      throw XMLRefusal(
        "\(String(cString: XML_ErrorString(XML_GetErrorCode(parser)))) in line \(XML_GetCurrentLineNumber(parser))")
    }
    guard let document = state.listener as? Document else { throw XMLRefusal("no document") }
    return document
  }

  private struct State {
    let parser: XML_Parser
    var listener: any Listener
    let longestText: Int
    var open: [(name: XMLName, text: [UInt8])] = []
    var namespaces = XMLNamespaces()
    var elements = 0
    var refusal: XMLRefusal?

    mutating func refuse(_ reason: XMLRefusal) {
      refusal = refusal ?? reason
      XML_StopParser(parser, XML_Bool(XML_FALSE))
    }

    mutating func began(_ name: UnsafePointer<CChar>, _ attributes: XMLNamespaces.Attributes?) {
      guard refusal == nil else { return }
      elements += 1
      if open.count == greatestDepth { return refuse(XMLRefusal("elements are nested too deeply")) }
      if elements > mostElements { return refuse(XMLRefusal("there are too many elements")) }
      do {
        let element = try namespaces.enter(name, attributes)
        open.append((element, []))
        listener.began(element, depth: open.count)
      } catch { refuse(error) }
    }

    mutating func ended() {
      let depth = open.count
      guard refusal == nil, let (name, text) = open.popLast() else { return }
      namespaces.leave()
      do { try listener.ended(name, text: String(decoding: text, as: UTF8.self), depth: depth) } catch { refuse(error) }
    }

    mutating func took(_ text: UnsafeBufferPointer<CChar>) {
      guard refusal == nil, let last = open.indices.last else { return }
      guard open[last].text.count + text.count <= longestText else { return refuse(XMLRefusal("a text is too long")) }
      open[last].text.append(contentsOf: UnsafeRawBufferPointer(text))
    }
  }

  private static func install(on parser: XML_Parser, state: UnsafeMutableRawPointer) {
    XML_SetUserData(parser, state)
    XML_SetElementHandler(
      parser,
      { context, name, attributes in
        guard let context, let name else { return }
        context.assumingMemoryBound(to: State.self).pointee.began(name, attributes)
      },
      { context, _ in
        guard let context else { return }
        context.assumingMemoryBound(to: State.self).pointee.ended()
      })
    XML_SetCharacterDataHandler(parser) { context, text, count in
      guard let context, let text else { return }
      let buffer = UnsafeBufferPointer(start: text, count: Int(count))
      context.assumingMemoryBound(to: State.self).pointee.took(buffer)
    }
    XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
      guard let context else { return }
      context.assumingMemoryBound(to: State.self).pointee.refuse(XMLRefusal("it has a document type"))
    }
  }
}

extension XMLReader.Listener {
  static var longestText: Int { 8192 }
}

/// Why a document was not taken.
struct XMLRefusal: Error, Hashable {
  let reason: String
  init(_ reason: String) { self.reason = reason }
}
