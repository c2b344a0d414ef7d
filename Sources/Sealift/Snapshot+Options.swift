import FoundationEssentials
import Operations
import Snapshots
import Storage

extension Snapshot {
  /// How a copy is made.
  public enum Method: String, Sendable, CaseIterable {
    /// `VACUUM INTO`: the smallest copy, repacked. Where that cannot be, pages are copied; `Snapshot/fallback` says why.
    case vacuum
    /// The exact pages, inside one read transaction. What only remains of deleted rows on free pages becomes zeros, if
    /// the copy is checked.
    case pages
  }

  /// A database on disk, which its application and others may have open and go on writing to.
  ///
  /// - Important: It is opened with the system's SQLite and closed again. In a process that has the same file open with
  ///   *another* SQLite of its own (SQLiteNIO / Fluent, SQLCipher, an amalgamation that was compiled in), that would take
  ///   that library's locks away: POSIX locks belong to the process, and end when it closes any descriptor of the file
  ///   ([SQLite: how to corrupt](https://sqlite.org/howtocorrupt.html#_multiple_copies_of_sqlite_linked_into_the_same_application)).
  ///   Close it first, or run the `sealift` program, which is a process of its own.
  public struct DatabaseFile: Sendable {
    let path: String

    /// - Parameter path: symbolic links are followed.
    public static func file(_ path: String) -> DatabaseFile { DatabaseFile(path: path) }
  }

  /// A database connection that the application has opened itself: GRDB's `Database.sqliteConnection`, or what
  /// `sqlite3_open_v2` gave.
  ///
  /// The connection is used on the calling thread, during the call only, so nobody else may use it meanwhile: call from
  /// where your SQLite library lends it to you. It must come from the same SQLite library as this one uses, the
  /// system's; that is checked.
  public struct Connection {
    let handle: OpaquePointer?
    let schema: String

    /// - Parameters:
    ///   - handle: `nil`, which some libraries give for a closed connection, is refused when it is used.
    ///   - schema: `main`, `temp`, or the name under which a database is attached.
    public static func connection(_ handle: OpaquePointer?, schema: String = "main") -> Connection {
      Connection(handle: handle, schema: schema)
    }
  }

  /// What to do while somebody else has the database locked.
  public struct BusyPolicy: Sendable {
    let patience: Duration

    /// Give up at once.
    public static let fail = BusyPolicy(patience: .zero)

    /// Try again, every 1 to 25 ms, for at most so long.
    public static func retry(upTo patience: Duration) -> BusyPolicy { BusyPolicy(patience: patience) }
  }

  /// Where the private folder of a snapshot is made.
  public struct Folder: Sendable {
    private enum Kind {
      case temporary
      case given(String)
    }

    private let kind: Kind

    /// In the system's folder for temporary files.
    public static let temporaryFolder = Folder(kind: .temporary)

    /// In a folder of the application's own, made when it is missing (but not its parents). There must be room for the
    /// whole copy.
    public static func folder(_ path: String) -> Folder { Folder(kind: .given(path)) }

    /// What copies a process that was killed has left there is removed first.
    func openSpool() throws -> Spool {
      switch kind {
      case .temporary:
        let place = FileManager.default.temporaryDirectory.path
        Spool.sweepTemporary(in: place)
        return try Spool.openTemporary(in: place)
      case .given(let path):
        if let refusal = PlantedEntry.refusal(on: path, foldersToo: true) {
          throw OperationError(.usage, code: "plantedLink", refusal, hint: "Name a folder that is yours.")
        }
        Spool.sweep(in: path)
        return try Spool.open(in: path)
      }
    }
  }

  /// How far a copy is.
  public struct Progress: Sendable {
    public enum Stage: Sendable {
      case copying
      /// `quick_check` reads the finished copy; throwing still aborts.
      case checking
    }

    public let stage: Stage
    public let pagesDone: Int
    /// `nil` where it cannot be known: a vacuum writes as many pages as it needs.
    public let pagesTotal: Int?
  }
}

extension Snapshot.Progress {
  init(_ progress: SnapshotProgress) {
    self.init(
      stage: progress.stage == .copying ? .copying : .checking, pagesDone: progress.pagesDone,
      pagesTotal: progress.pagesTotal)
  }
}

extension Snapshot.Method {
  init(_ method: SnapshotMethod) { self = method == .vacuum ? .vacuum : .pages }
  var snapshotMethod: SnapshotMethod { self == .vacuum ? .vacuum : .pages }
}
