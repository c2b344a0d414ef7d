/// A JSON value to write: members keep their order, `nil` members are `null`, so that every document has all its keys.
enum Json: Sendable {
  case null
  case bool(Bool)
  case number(Int)
  case string(String)
  case array([Json])
  case object([(String, Json)])

  /// On one line.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let value): "\(value)"
    case .string(let value): Self.quoted(value)
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { "\(Self.quoted($0.0)):\($0.1.text)" }.joined(separator: ",") + "}"
    }
  }

  /// Every member name in it, at any depth.
  var keys: Set<String> {
    switch self {
    case .null, .bool, .number, .string: []
    case .array(let values): values.reduce(into: []) { $0.formUnion($1.keys) }
    case .object(let members): members.reduce(into: []) { $0.formUnion($1.1.keys.union([$1.0])) }
    }
  }

  static func optional(_ text: String?) -> Json { text.map(Json.string) ?? .null }
  static func strings(_ texts: [String]) -> Json { .array(texts.map(Json.string)) }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      // They end a line for some who read the document line by line, such as Python's `splitlines`.
      case "\u{2028}", "\u{2029}": result += "\\u\(String(scalar.value, radix: 16))"
      case _ where scalar.isControl:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
