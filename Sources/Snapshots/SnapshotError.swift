/// Why a database could not be read: code, message, hint, cause.
package struct SnapshotError: Error, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    case missing
    case notAFile
    case empty
    case notADatabase
    case encrypted
    /// A journal holds changes that a crash left half done; only recovery makes the file readable.
    case hotJournal
    /// SQLite would have to write beside the database, and may not.
    case readOnlyFolder
    case unreadable
    /// A writer held its lock for longer than the busy timeout.
    case busy
    case damaged
    case noSpace
    /// The -wal grew beyond the limit while the copy was taken.
    case walGrowth
    /// The file changed while it was read without locks.
    case changedMeanwhile
    case spool
    case cancelled
    case sqlite
  }

  package var code: Code
  package var message: String
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
