/// What kept a snapshot from being taken: a code for programs, a message for the log, a hint for the person.
package struct SnapshotError: Error, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// There is nothing at this path.
    case missing
    /// The path leads to a folder.
    case isDirectory
    /// A file of zero bytes: nearly always a mistake, so it is never taken for an empty database.
    case empty
    /// The file does not begin as SQLite databases do.
    case notADatabase
    /// The file or folder is one of another database, an archive, or else known, and the message says what.
    case otherFormat
    /// A plain SQLite database was to be taken as any file, which would not be safe.
    case plainDatabase
    /// Beside a file that was to be taken as it is lies what belongs to it, and is not in it.
    case sideFiles
    /// The file looks like random bytes: SQLCipher, SEE, or something else that only its own library can read.
    case encrypted
    /// A writer was killed in mid-transaction; the database must be rolled back before it can be read.
    case hotJournal
    /// SQLite needs files beside the database that it may not make here.
    case readOnlyFolder
    /// This user may not read the database or a file beside it, or the disk gave an error.
    case unreadable
    /// Another process held its lock for longer than the busy timeout.
    case busy
    /// The database is damaged so badly that not even its pages can be copied.
    case damaged
    /// The spool's disk is too small, or became full.
    case noSpace
    /// The -wal grew beyond `maxWalGrowth` while the read transaction was held.
    case walGrowth
    /// The file changed although nothing could have been writing to it.
    case changedMeanwhile
    /// The task was cancelled.
    case cancelled
    /// The spool folder or a file in it could not be made, read or written.
    case spool
    /// An application's open connection cannot be copied from or to: it is closed, in a transaction, read-only, or of
    /// another SQLite library.
    case connection
    /// A copy that was to replace an open database fails SQLite's check.
    case damagedCopy
    /// The pages of a copy and of the open database it is to replace differ in size.
    case pageSize
    /// The texts of a copy and of the open database it is to replace differ in their encoding.
    case encoding
    /// The ends of pages that would be changed hold what only the application can write.
    case reservedBytes
    /// A table that is to be restored is not there, is there already, or cannot be restored alone.
    case table
    /// The disk gave an error while a version was put into an open database.
    case diskFailed
    /// The same, and what was written so far could not be taken back: its journal has the old content.
    case notRolledBack
    /// A program locks the database so that SQLite's own locks do not keep it out.
    case untrustedLocks
    /// A query that was to be asked of an image would do something else than read it.
    case query
    /// Any other refusal by SQLite; the message has its words and its result code.
    case sqlite
  }

  package var code: Code
  /// What happened to what; lower case, no full stop.
  package var message: String
  /// What to do, as a whole sentence.
  package var hint: String?
  package var cause: (any Error)?

  package init(_ code: Code, _ message: String, hint: String? = nil, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
    self.cause = cause
  }

  package var description: String { hint.map { "\(message)\nhint: \($0)" } ?? message }
}
