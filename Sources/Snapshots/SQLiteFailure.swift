import CSQLite

/// What SQLite itself said: its extended result code and message.
struct SQLiteFailure: Error, CustomStringConvertible {
  let code: Int32
  let message: String

  var primary: Int32 { code & 0xFF }
  var description: String { "\(message) (SQLite result \(code))" }

  // Extended codes are macros that Swift does not import. See: sqlite.org/rescode.html
  static let readOnlyRecovery: Int32 = SQLITE_READONLY | (1 << 8)
  static let readOnlyCannotLock: Int32 = SQLITE_READONLY | (2 << 8)
  static let readOnlyRollback: Int32 = SQLITE_READONLY | (3 << 8)
  static let readOnlyCannotInit: Int32 = SQLITE_READONLY | (5 << 8)
  static let readOnlyDirectory: Int32 = SQLITE_READONLY | (6 << 8)

  var isBusy: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }

  /// The schema names a collation, function or module that only the application has.
  /// See: sqlite.org/lang_vacuum.html; the texts are those of SQLite's parser.
  var needsTheApplication: Bool {
    primary == SQLITE_ERROR
      && ["no such collation sequence", "no such function", "unknown function", "no such module", "unknown tokenizer"]
        .contains { message.contains($0) }
  }

  var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }
}
