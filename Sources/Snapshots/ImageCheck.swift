import CSQLite

/// SQLite's quick check of a private, finished image. Nothing appears beside it: it is opened as immutable.
/// - Throws: `SnapshotError` `.cancelled`, `.sqlite`.
package func checkImage(at path: String) async throws -> CheckOutcome {
  try await onOwnThread { cancellation in try ImageCheck(path).run { !cancellation.isCancelled } }
}

struct ImageCheck {
  private let path: String

  init(_ path: String) { self.path = path }

  /// - Parameter goOn: asked now and then; false ends the check.
  func run(_ goOn: @escaping () -> Bool) throws -> CheckOutcome {
    do {
      let connection = try Connection(
        "file:\(URIPath.encode(path))?immutable=1&mode=ro", flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
      connection.set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, to: false)
      try connection.execute("PRAGMA cell_size_check = 1")
      let findings = try connection.withProgress(goOn) { try connection.rows("PRAGMA quick_check") }
      if findings == ["ok"] { return .ok }
      if let missing = findings.first(where: Self.needsTheApplication) { return .notCheckable(missing) }
      return .damaged(findings)
    } catch let failure as SQLiteFailure {
      if failure.primary == SQLITE_INTERRUPT { throw SnapshotError(.cancelled, "interrupted", cause: failure) }
      if failure.needsTheApplication { return .notCheckable(failure.message) }
      if failure.isDamage { return .damaged([failure.message]) }
      throw SnapshotError(.sqlite, "the copy could not be checked: \(failure.message)", cause: failure)
    }
  }

  private static func needsTheApplication(_ finding: String) -> Bool {
    SQLiteFailure(code: SQLITE_ERROR, message: finding).needsTheApplication
  }
}

/// A path inside a `file:` URI. See: sqlite.org/uri.html
enum URIPath {
  static func encode(_ path: String) -> String {
    var encoded = ""
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        encoded.unicodeScalars.append(UnicodeScalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    return encoded
  }
}
