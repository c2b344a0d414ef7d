/// How a person names a version: an id or an unambiguous prefix of it, `latest`, `NAME:latest`, or
/// `NAME@2026-11-20T12:00:00Z` (the newest not later).
package enum VersionSelector: Sendable, Equatable {
  /// At least 4 hexadecimal digits, lower case.
  case id(prefix: String)
  /// The newest; of one database when it is named.
  case latest(database: String?)
  /// The newest of that database not later than the time (milliseconds since 1970 UTC).
  case notLater(database: String, time: UInt64)

  /// - Throws: `OperationError` of kind `.usage` that says what a version looks like.
  package init(parsing text: String) throws {
    throw OperationError(.usage, "'\(text)' does not name a version")
  }
}
