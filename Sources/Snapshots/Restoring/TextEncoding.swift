import CSQLite

/// Whoever has a database open has settled on its encoding of text, and can read nothing in another one that takes its place
/// (sqlite.org/pragma.html#pragma_encoding).
enum TextEncoding {
  /// - Parameters:
  ///   - wanted: what is to be restored holds text in.
  ///   - own: what the database does; each as `PRAGMA encoding` says, `nil` where nothing was ever created: any will do there.
  /// - Throws: `.encoding`.
  static func demandSame(
    _ wanted: String?, as own: String?, of database: String, hint: String
  ) throws(SnapshotError) {
    guard let wanted, let own, wanted != own else { return }
    throw SnapshotError(
      .encoding,
      "\(database) holds text in \(own), what is to be restored in \(wanted): nobody who has it open could read it",
      hint: hint)
  }
}

extension Connection {
  /// `UTF-8`, `UTF-16le` or `UTF-16be`; `nil` where nothing was ever created.
  func textEncoding() throws(SQLiteFailure) -> String? {
    guard try integer("PRAGMA schema_version") != 0 else { return nil }
    return try rows("PRAGMA encoding", limit: 1).first
  }
}
