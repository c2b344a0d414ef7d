import CSQLite

/// Puts a finished image into a database that applications have open, in one transaction.
///
/// No file changes its name: whoever reads meanwhile sees the old content or the new one, and whoever dies in the middle
/// leaves a transaction that SQLite rolls back. The database keeps its journal mode.
package struct LiveRestore: Sendable {
  package enum Stage: Sendable {
    /// The old content is copied, for an undo.
    case keeping
    case writing
  }

  package struct Outcome: Sendable {
    package var pageSize: Int
    package var pagesBefore: Int
    package var pages: Int
    package var isWAL: Bool
  }

  /// A private, verified image. It is made to say what the database says of its journal mode.
  package var image: String
  /// Real path of the database.
  package var database: String
  /// Gets the old content first; nil keeps nothing.
  package var undo: OwnFile?
  /// How long to wait for other processes' locks.
  package var busyTimeout: Duration
  /// How often another process may write between the copy of the old content and our lock, before we give up.
  package var attempts = 20
  /// Whether a folder that stands beside the database as a lock, or comes to, is none of SQLite's.
  package var isForeignLockFolder: @Sendable (_ database: String) -> Bool = { _ in false }
  /// Called when every page but the last is written, which is committed with the others right after it. What it throws ends
  /// the restore, with the old content intact.
  package var beforeCommit: @Sendable () throws -> Void = {}
  /// Called in that gap; for tests.
  var betweenCopyAndLock: @Sendable () throws -> Void = {}

  package init(image: String, database: String, undo: OwnFile?, busyTimeout: Duration) {
    self.image = image
    self.database = database
    self.undo = undo
    self.busyTimeout = busyTimeout
  }

  /// - Parameters:
  ///   - undoKept: called when the old content is complete in `undo` and nobody else can write any more, before anything
  ///     is changed; throwing ends it there.
  ///   - progress: pages done, of how many. Throwing ends it, with the old content intact.
  /// - Throws: `SnapshotError`, or what the two throw.
  package func run(
    undoKept: @escaping @Sendable () throws -> Void,
    progress: @escaping @Sendable (Stage, Int, Int) throws -> Void
  ) async throws -> Outcome {
    try await onOwnThread { stop in
      let watch = Watch(stop, busyTimeout: busyTimeout)
      let wal = GrownWal(of: database)
      do {
        return try LiveRestoreRun(self, watch, progress, undoKept).run()
      } catch let failure as SQLiteFailure {
        throw watch.refusal ?? wal.told(with: Self.explained(failure, of: database, [image, undo?.path]))
      }
    }
  }

  /// - Parameter copies: files of ours, which it may have been as well.
  static func explained(_ failure: SQLiteFailure, of database: String, _ copies: [String?] = []) -> SnapshotError {
    var error = failure.explained(of: database, copies: copies.compactMap { $0 })
    switch failure.primary {
    case SQLITE_BUSY, SQLITE_LOCKED:
      error.hint =
        "Nothing was changed. Try again when no long transaction is running, or wait longer with --busy-timeout; an "
        + "application that locks the database for itself has to be stopped, and the database restored with --replace."
    case SQLITE_NOTADB where error.code == .otherFormat: break
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      error.hint = "Nothing was changed. Stop what uses it and restore with --replace."
    case SQLITE_FULL:
      error.message = "the disk became full while \(database) was restored"
      error.hint = "The old content is intact. Free space there: the new pages are written beside the old ones first."
    case SQLITE_IOERR where failure.code != ExtendedCode.sharedMemoryMap:
      return failure.ofTheDisk(while: "\(database) was restored")
    default: break
    }
    return error
  }
}
