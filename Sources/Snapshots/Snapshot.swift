/// How a copy is made.
package enum SnapshotMethod: String, Codable, Sendable, CaseIterable {
  /// `VACUUM INTO`: the smallest file; refuses a damaged source.
  case vacuum
  /// The exact pages, by SQLite's backup interface; needs nothing of the application.
  case pages
}

/// What to copy, and how far to go for it.
package struct SnapshotRequest: Sendable {
  package var source: String
  package var method: SnapshotMethod = .vacuum
  /// An existing private folder; the copy is made in it.
  package var spoolFolder: String
  package var busyTimeout: Duration = .seconds(30)
  /// Open for writing where a crash left work half done, so that SQLite can finish or undo it.
  package var allowRecovery = false
  /// Carry the content of free pages along (`pages` only).
  package var keepFreePages = false
  /// Bytes; `nil` is no limit.
  package var maxWalGrowth: Int?
  package var check = true

  package init(source: String, spoolFolder: String) {
    self.source = source
    self.spoolFolder = spoolFolder
  }
}

/// How far a snapshot is.
package struct SnapshotProgress: Sendable {
  package enum Stage: Sendable {
    case copying
    case checking
  }

  package var stage: Stage
  package var pagesDone: Int
  /// `nil` when it cannot be known, as with `vacuum`.
  package var pagesTotal: Int?
  package var bytesDone: Int
}

/// What SQLite's own check says of a copy.
package enum CheckOutcome: Sendable, Equatable {
  case ok
  /// It needs a collation or function of the application.
  case notCheckable(String)
  case damaged([String])

  package var isDamaged: Bool {
    if case .damaged = self { return true }
    return false
  }
}

/// A finished copy in the spool folder.
package struct Snapshot: Sendable {
  package var path: String
  package var pageSize: Int
  package var pageCount: Int
  package var method: SnapshotMethod
  /// Why the copy was made page by page when a vacuum was asked for.
  package var fallback: String?
  package var check: CheckOutcome
  /// When the read transaction began: milliseconds since 1970 UTC.
  package var takenAt: Int64
  /// How long writers could not commit, at most; `nil` in WAL mode, where they can.
  package var longestWriterStall: Duration?
  /// Bytes by which the -wal grew meanwhile.
  package var walGrowth: Int
  /// Side files that SQLite made while reading.
  package var sideFilesAppeared: [String]
  /// Read before the copy began.
  package var source: SourceSignature
  package var freePagesZeroed: Int
}

/// The name of a snapshot's file where a person sees it: `<base name>-<UTC yyyyMMdd'T'HHmmss'Z'>.sqlite`.
/// - Parameter takenAt: milliseconds since 1970 UTC.
package func snapshotFileName(database baseName: String, takenAt: Int64) -> String {
  "\(baseName)-\(UTCTime(milliseconds: takenAt).compact).sqlite"
}
