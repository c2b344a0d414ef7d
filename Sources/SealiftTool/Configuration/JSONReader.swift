/// A JSON value as it stands in a file: it knows its line, so that whoever finds it wrong can say where.
struct JSONNode: Sendable {
  enum Value: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONNode])
    /// In the order of the file; no name comes twice.
    case object([(name: String, line: Int, node: JSONNode)])
  }

  let value: Value
  let line: Int

  /// What a person calls it.
  var kind: String {
    switch value {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .string: "a text"
    case .array: "a list"
    case .object: "an object"
    }
  }
}

/// Reads RFC 8259 JSON, strictly: no comments, no trailing commas, no name twice in one object (the usual decoders keep
/// one of the two and say nothing), nothing after the value, at most 32 levels.
struct JSONReader {
  struct Failure: Error {
    let line: Int
    let message: String
    var hint: String?
  }

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var depth = 0

  static func read(_ bytes: [UInt8]) throws(Failure) -> JSONNode {
    guard !isUTF16(bytes) else { throw Failure(line: 1, message: "the file is UTF-16; save it as UTF-8") }
    var reader = JSONReader(bytes)
    // Editors put a byte order mark there, which RFC 8259 (§8.1) lets a reader pass over.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
    let node = try reader.value()
    reader.skipSpace()
    guard reader.position == bytes.count else { throw reader.failure("something follows the closing brace") }
    return node
  }

  /// By its byte order mark, or by one of its first two bytes, as JSON begins with ASCII.
  private static func isUTF16(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 2 else { return false }
    return bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) || (bytes[0] == 0) != (bytes[1] == 0)
  }

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func failure(_ message: String, hint: String? = nil) -> Failure {
    Failure(line: line, message: message, hint: hint)
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
      if byte == 0x0A { line += 1 }
      position += 1
    }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func value() throws(Failure) -> JSONNode {
    skipSpace()
    let line = line
    guard let byte = next else { throw failure("the file ends too early") }
    depth += 1
    defer { depth -= 1 }
    guard depth <= 32 else { throw failure("nested too deeply") }
    switch byte {
    case UInt8(ascii: "{"): return JSONNode(value: .object(try object()), line: line)
    case UInt8(ascii: "["): return JSONNode(value: .array(try array()), line: line)
    case UInt8(ascii: "\""): return JSONNode(value: .string(try string()), line: line)
    default: return JSONNode(value: try word(), line: line)
    }
  }

  private mutating func object() throws(Failure) -> [(name: String, line: Int, node: JSONNode)] {
    position += 1
    var members: [(name: String, line: Int, node: JSONNode)] = []
    if take("}") { return members }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else {
        let isEnd = next == UInt8(ascii: "}")
        throw failure("expected a name in double quotes", hint: isEnd ? "There is no comma before `}`." : nil)
      }
      let (nameLine, name) = (line, try string())
      if members.contains(where: { $0.name == name }) {
        throw failure("'\(name)' stands twice in one object", hint: "Leave one of them out.")
      }
      guard take(":") else { throw failure("expected a colon after '\(name)'") }
      members.append((name, nameLine, try value()))
    } while take(",")
    guard take("}") else { throw failure("expected a comma or a closing brace") }
    return members
  }

  private mutating func array() throws(Failure) -> [JSONNode] {
    position += 1
    var nodes: [JSONNode] = []
    if take("]") { return nodes }
    repeat {
      skipSpace()
      if next == UInt8(ascii: "]") { throw failure("expected a value", hint: "There is no comma before `]`.") }
      nodes.append(try value())
    } while take(",")
    guard take("]") else { throw failure("expected a comma or a closing bracket") }
    return nodes
  }

  /// `true`, `false`, `null` or a number.
  private mutating func word() throws(Failure) -> JSONNode.Value {
    let start = position
    while let byte = next, Self.isWordByte(byte) { position += 1 }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    switch text {
    case "true": return .bool(true)
    case "false": return .bool(false)
    case "null": return .null
    default:
      guard Self.isNumber(text), let number = Double(text), number.isFinite else {
        // Not quoted: it may be a password that was written without them.
        throw failure(text.isEmpty ? "expected a value" : "a word that is not a value; texts stand in double quotes")
      }
      return .number(number)
    }
  }

  /// As far as RFC 8259, section 6, asks for more than Swift does: decimal digits alone, none of them a zero before others,
  /// and some behind a point.
  private static func isNumber(_ text: String) -> Bool {
    let unsigned = text.hasPrefix("-") ? text.dropFirst() : text[...]
    let mantissa = unsigned.prefix { $0 != "e" && $0 != "E" }
    let parts = mantissa.split(separator: ".", omittingEmptySubsequences: false)
    let areDigits = parts.allSatisfy { part in
      !part.isEmpty && part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
    return areDigits && parts.count <= 2 && (parts[0] == "0" || !parts[0].hasPrefix("0"))
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  private mutating func string() throws(Failure) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = next, byte != UInt8(ascii: "\"") {
      position += 1
      switch byte {
      case 0..<0x20: throw failure("a text is not closed on its line")
      case UInt8(ascii: "\\"): text += String(try escape()).utf8
      default: text.append(byte)
      }
    }
    guard next != nil else { throw failure("a text is not closed") }
    position += 1
    guard let result = String(validating: text, as: UTF8.self) else { throw failure("a text is not UTF-8") }
    return result
  }

  private mutating func escape() throws(Failure) -> Character {
    guard let byte = next else { throw failure("a text is not closed") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Character(Unicode.Scalar(byte))
    case UInt8(ascii: "b"): return "\u{08}"
    case UInt8(ascii: "f"): return "\u{0C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return Character(try unicode())
    default: throw failure("unknown escape '\\\(Character(Unicode.Scalar(byte)))'")
    }
  }

  private mutating func unicode() throws(Failure) -> Unicode.Scalar {
    let first = try fourDigits()
    // Whoever opens a file by such a path opens another one: the system ends it there.
    guard first != 0 else { throw failure("a text must not hold the character \\u0000") }
    if let scalar = Unicode.Scalar(first) { return scalar }
    // A high surrogate needs its low one.
    guard (0xD800..<0xDC00).contains(first), next == UInt8(ascii: "\\") else { throw failure("half a surrogate pair") }
    position += 1
    guard next == UInt8(ascii: "u") else { throw failure("half a surrogate pair") }
    position += 1
    let second = try fourDigits()
    guard (0xDC00..<0xE000).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw failure("half a surrogate pair") }
    return scalar
  }

  private mutating func fourDigits() throws(Failure) -> UInt32 {
    let digits = String(decoding: bytes[position..<min(position + 4, bytes.count)], as: UTF8.self)
    guard digits.utf8.count == 4, let number = UInt32(digits, radix: 16), digits.first != "+" else {
      throw failure("\\u needs four hexadecimal digits")
    }
    position += 4
    return number
  }
}
