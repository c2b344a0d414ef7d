/// How a person names a version: an id or an unambiguous prefix of it, `latest`, `NAME:latest`, or
/// `NAME@2026-11-20T12:00:00Z` (the newest not later).
package enum VersionSelector: Sendable, Equatable {
  /// At least 4 hexadecimal digits, lower case.
  case id(prefix: String)
  /// The newest; of one database when it is named.
  case latest(database: String?)
  /// The newest of that database not later than the time (milliseconds since 1970 UTC).
  case notLater(database: String, time: UInt64)

  /// Database names may themselves contain `:` and `@`: what counts is the last one.
  ///
  /// A time without a fraction means up to the end of that second, because tables show whole seconds: what was read
  /// there must find the version it stood beside.
  /// - Throws: `OperationError` of kind `.usage` that says what a version looks like.
  package init(parsing text: String) throws {
    if text == "latest" {
      self = .latest(database: nil)
    } else if text.hasSuffix(":latest"), text.utf8.count > ":latest".utf8.count {
      self = .latest(database: String(text.dropLast(":latest".count)))
    } else if let at = text.lastIndex(of: "@"), at != text.startIndex {
      self = .notLater(database: String(text[..<at]), time: try Self.time(String(text[text.index(after: at)...])))
    } else if (4...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isHexadecimal) {
      self = .id(prefix: text.lowercased())
    } else {
      // Most who come here gave a database's name alone.
      let isName = !text.isEmpty && !text.contains { $0 == ":" || $0 == "@" }
      let newest = isName ? "If '\(text)' is a database, '\(text):latest' is its newest version. " : ""
      throw Self.refusal("'\(text)' does not name a version", hint: newest + Self.forms)
    }
  }

  /// The database it names, if any.
  package var database: String? {
    switch self {
    case .id: nil
    case .latest(let database): database
    case .notLater(let database, _): database
    }
  }

  private static func time(_ text: String) throws -> UInt64 {
    guard let time = Times.milliseconds(text) else { throw refusal("'\(text)' is not a time", hint: forms) }
    return text.contains(".") ? time : time + 999
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  private static let forms =
    "A version is an id or at least 4 digits of it, latest, NAME:latest, or NAME@2026-11-20T12:00:00Z."

  private static func refusal(_ message: String, hint: String) -> OperationError {
    OperationError(.usage, code: "badVersion", message, hint: hint)
  }
}
