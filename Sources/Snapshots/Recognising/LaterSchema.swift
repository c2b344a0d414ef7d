import CSQLite

// Applications bring SQLites of their own, later than ours. What those wrote into a schema we may not be able to parse, and
// then SQLite calls the database malformed before it has looked at a page of it.

extension SQLiteFailure {
  /// An application may also have built its SQLite with more columns than ours.
  private static let laterWords = ["syntax error", "unrecognized token", "unknown table option", "too many columns"]
  /// So may functions have got more forms (`iif` of two arguments, 3.48), STRICT tables more types, and limits been raised.
  /// What SQLite says of pages and names ("invalid rootpage", "orphan index") is none of these: that is damage.
  private static let laterForms = [
    "wrong number of arguments to function ", "too many arguments on function ", "unknown datatype for ",
    "too many terms in ", "parser stack overflow", "Expression tree is too large",
  ]

  /// An entry of the schema cannot be parsed: it is damaged, or of a later SQLite.
  var isOfUnparsedSchema: Bool {
    // malformed database schema (latest) - near "ORDER": syntax error
    primary == SQLITE_CORRUPT && message.hasPrefix("malformed database schema (")
      && (Self.laterWords + Self.laterForms).contains { message.contains($0) }
  }
}

/// What our SQLite complains of in the schema of an image, where a later one may have written it: every entry begins as
/// each SQLite writes it. Nil where it can read the schema, and where no SQLite can.
func laterSchema(ofImage path: String) -> String? {
  guard let connection = try? Connection(immutableURI(path), flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI) else {
    return nil
  }
  do throws(SQLiteFailure) {
    _ = try connection.rows("SELECT 1 FROM sqlite_schema", limit: 1)
    return nil
  } catch {
    guard error.isOfUnparsedSchema else { return nil }
    let beginnings = ["TABLE", "VIRTUAL TABLE", "INDEX", "UNIQUE INDEX", "VIEW", "TRIGGER"]
    let isKnown = beginnings.map { "sql LIKE 'CREATE \($0) %'" }.joined(separator: " OR ")
    let question = "SELECT 1 FROM sqlite_schema WHERE NOT (\(isKnown))"
    guard (try? connection.execute("PRAGMA writable_schema=1")) != nil,
      (try? connection.rows(question, limit: 1))?.isEmpty == true
    else { return nil }
    return error.message
  }
}

extension CheckOutcome {
  /// The same, of an image of which entries of the schema were passed over: what belongs to those was not looked at, and
  /// its pages seem to belong to nothing.
  /// - Parameter complaint: of our SQLite, about one of them.
  func passingOver(_ complaint: String) -> CheckOutcome {
    if case .damaged(let findings) = self {
      guard findings.allSatisfy({ $0.hasSuffix("never used") }) else { return self }
    }
    return .notCheckable(
      "its schema may be of a later SQLite than ours (\(String(cString: sqlite3_libversion()))): \(complaint)")
  }
}
