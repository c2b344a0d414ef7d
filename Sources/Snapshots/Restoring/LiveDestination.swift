import CSQLite
import Platform

/// What of a database decides whether, and with how much room, a live restore can write into it.
package struct LiveDestination: Sendable {
  let path: String
  /// Bytes a page.
  let pageSize: Int
  package let isWAL: Bool
  /// Bytes of the database file.
  package let size: Int
  let usesReservedBytes: Bool

  init(_ path: String, pageSize: Int, isWAL: Bool, size: Int, usesReservedBytes: Bool) {
    self.path = path
    self.pageSize = pageSize
    self.isWAL = isWAL
    self.size = size
    self.usesReservedBytes = usesReservedBytes
  }

  /// By the header of the file, read without SQLite. Never in a process that has the database open with SQLite, whose locks
  /// would be dropped (sqlite.org/howtocorrupt.html, section 2.2).
  /// - Throws: `.missing`, also for an empty file; `.unreadable`; `.damaged` for what is no database; `.otherFormat`.
  package init(lookingAt path: String) throws(SnapshotError) {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw errno == ENOENT ? Self.missing(path) : unreadable(path, errno) }
    defer { close(file) }
    guard let size = fileSize(path), size > 0 else { throw Self.empty(path) }
    guard let header = DatabaseHeader(try readBytes(file, path, at: 0, DatabaseHeader.size)),
      let pageSize = header.pageSize
    else {
      let failure = SQLiteFailure(code: SQLITE_NOTADB, message: "file is not a database")
      throw LiveRestore.explained(failure, of: path)
    }
    guard !header.isOfLaterSQLite else { throw ForeignFormat.laterSQLite.refusal(of: path) }
    let usesReservedBytes = try DatabaseHeader.usesReservedBytes { (count) throws(SnapshotError) in
      try readBytes(file, path, at: 0, count)
    }
    self.init(path, pageSize: pageSize, isWAL: header.isWAL, size: size, usesReservedBytes: usesReservedBytes)
  }

  static func missing(_ path: String) -> SnapshotError {
    SnapshotError(
      .missing, "there is no database \(path)", hint: "Restore it as a new file: without --live.")
  }

  /// It is in the way of a new file all the same.
  static func empty(_ path: String, hint: String = "Restore it with --replace.") -> SnapshotError {
    SnapshotError(.missing, "\(path) is empty: there is no database to restore into", hint: hint)
  }

  /// SQLite's backup API changes counters in the first page, whatever it copies.
  static func reservedBytes(of whose: String) -> SnapshotError {
    SnapshotError.reservedBytes(of: whose, hint: "Stop what uses the database and restore with --replace.")
  }

  /// - Parameter wanted: bytes a page of what is to be restored.
  /// - Throws: `.pageSize`, `.reservedBytes`.
  package func demandFitting(pageSize wanted: Int) throws(SnapshotError) {
    guard !usesReservedBytes else { throw Self.reservedBytes(of: path) }
    guard isWAL, pageSize != wanted, size > 0 else { return }
    throw SnapshotError(
      .pageSize,
      "\(path) has pages of \(pageSize) bytes, the version of \(wanted): "
        + "in WAL mode SQLite cannot change that while the database is open",
      hint:
        "Stop what uses it and restore with --replace; or let its application leave WAL mode first "
        + "(PRAGMA journal_mode=DELETE).")
  }
}
