import CSQLite

// A vacuum keeps the numbers of rows (rowids) where SQLite hands over whole tables with their indexes. Where one of
// these differs from its copy, rows are inserted one by one, and a table without INTEGER PRIMARY KEY numbers them anew:
// whatever names a row by its number, such as an FTS index with external content, leads to another row then. So nothing
// is vacuumed where that would happen.

extension SQLiteFailure {
  /// A vacuum that must not be: the copy is made page by page.
  /// - Parameter isPassing: only this time.
  init(renumbering reason: String, isPassing: Bool = false) {
    self.init(
      code: SQLITE_ERROR, message: "a vacuum would give rows other numbers (rowids): \(reason)", isPassing: isPassing)
  }
}

extension Connection {
  /// By a connection that only reads SQLite knows no CHECK constraints (sqlite3AddCheckConstraint passes them over): a
  /// table that has one differs from its copy.
  static let withoutChecks = "it has CHECK constraints, which SQLite heeds only in a file that it may write to"
  /// Schemas of the formats 1 to 3 ignore DESC in indexes, but SQLite makes the copy in format 4.
  static let withoutDescending = "its schema is of an old format, in which indexes ignore their DESC"

  var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") != 0 }

  /// Whether the text of a table or an index has this word of SQL: as such, in quotes or in a comment, but not as part
  /// of a longer one.
  /// - Parameter word: in lower case.
  func schemaSays(_ word: String) throws(SQLiteFailure) -> Bool {
    let edge = "[^a-z0-9_$]"
    let question =
      "SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'index') AND ' ' || lower(sql) || ' ' GLOB ?"
    return try !rows(question, ["*\(edge)\(word)\(edge)*"], limit: 1).isEmpty
  }
}
