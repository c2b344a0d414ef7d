import CSQLite

/// What is said of what ended it.
extension TableCopy {
  func explained(_ failure: SQLiteFailure) -> SnapshotError {
    var error = failure.explained(of: database, copies: [image])
    switch failure.primary {
    case SQLITE_BUSY, SQLITE_LOCKED:
      error.hint =
        "Nothing was changed. Try again when no long transaction is running, or wait longer with --busy-timeout."
    case SQLITE_FULL:
      error.message = "the disk became full while tables were restored into \(database)"
      // SQLite does not say which of them it was.
      error.hint =
        "Nothing was changed. Free space there, and in SQLite's temporary folder, where indexes are sorted (SQLITE_TMPDIR)."
    case SQLITE_IOERR where failure.code != ExtendedCode.sharedMemoryMap:
      return failure.ofTheDisk(while: "tables were restored into \(database)")
    case SQLITE_CONSTRAINT: return Self.contradiction(failure.message, failure)
    case _ where failure.needsApplicationCode:
      return SnapshotError(
        .table, "a table needs code of its application (\(failure.message))",
        hint: "Nothing was changed. Restore the whole version beside it, and copy the rows with its application.",
        cause: failure)
    default: break
    }
    return error
  }

  /// Such rows are in a version where an index of the table did not know all of them.
  static func contradiction(_ words: String, _ cause: (any Error)? = nil) -> SnapshotError {
    SnapshotError(
      .table, "the rows of the version break a constraint of its own table: \(words)",
      hint: "Nothing was changed. `pull` the whole version, look at those rows, and copy them with INSERT OR IGNORE.",
      cause: cause)
  }
}
