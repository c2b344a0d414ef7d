public import FoundationEssentials
import Operations
import Snapshots
import Storage

/// A consistent copy of a database at one moment, in a single file without side files.
///
/// The file lies in a private folder (mode 0700, the file 0600) and is removed together with that folder when the
/// snapshot is released, or when `remove()` is called. To keep the file, give it a place with `move(to:)`.
///
/// ```swift
/// let copy = try await Snapshot.take(of: .file("/var/lib/app/app.db"))
/// try copy.move(to: "/srv/copies/app.db")
/// ```
///
/// Hold on to the snapshot for as long as something uses its `path`.
public final class Snapshot: Sendable {
  /// Bytes.
  public let pageSize: Int
  public let pageCount: Int
  /// How it was made in the end; see `fallback`.
  public let method: Method
  /// Why it was copied by pages although `Method/vacuum` was asked for: the database needs a collation or a function
  /// that only its application has, keeps something of its own at the end of its pages, has more of them than SQLite
  /// vacuums, is damaged, or would get other row numbers. `Docs/Sources.md` says when that is.
  public let fallback: String?
  /// What SQLite's `quick_check` said of the copy; `nil` when it was not asked.
  public let check: Check?
  /// When its read transaction began.
  public let takenAt: Date
  /// How long writers had to wait at most; `nil` where none had to (a database in WAL mode).
  public let longestWriterStall: Duration?

  /// Why SQLite's locks cannot be trusted where the database lies, such as on NFS: when it is written to from elsewhere
  /// meanwhile, the copy may be of two moments. `nil` where they can.
  public let lockDoubt: String?

  /// Somebody wrote to the database in spite of SQLite's lock (`nolock=1`, a VFS like `unix-none`), also while it was
  /// copied once more for that: the copy may be of two moments. Seen of files in the rollback modes; `false` for
  /// connections.
  public let lockWasPassed: Bool

  private let place: Locked<Place>

  private enum Place {
    case spooled(String, Spool)
    case moved(String)
    case removed(String)

    var path: String {
      switch self {
      case .spooled(let path, _), .moved(let path), .removed(let path): path
      }
    }
  }

  /// Where the file is: in its private folder, or where `move(to:)` has put it. Where it was, when it was removed.
  public var path: String { place.withLock { $0.path } }

  /// What `quick_check` found.
  public enum Check: Sendable, Equatable {
    case ok
    /// It needs a collation or a function of its application; what could be looked at was sound.
    case notCheckable(String)
    /// What is wrong, in SQLite's words, at most 100 lines. The copy is what the database is, page by page.
    case damaged([String])
  }

  /// Moves the file out of its private folder, to a name that nothing has yet, and makes it durable.
  ///
  /// On another file system it is copied there under a hidden name first: a file called `path` is always whole. The
  /// mode stays 0600.
  /// - Throws: `SealiftError` of kind `usage` when a file, or a side file of that name, exists, or when the snapshot
  ///   was moved or removed; `failed` when the folder cannot be written to.
  public func move(to path: String) throws {
    do {
      try place.withLock { place in
        switch place {
        case .spooled(let file, let spool):
          try KeptCopy.move(file, to: path)
          spool.remove()
          place = .moved(path)
        case .moved(let file):
          throw OperationError(
            .usage, code: "notThere", "the snapshot has left its folder already",
            hint: "Move or copy the file \(file) by other means.")
        case .removed:
          throw OperationError(.usage, code: "notThere", "the snapshot was removed", hint: "Take another one.")
        }
      }
    } catch {
      throw told(error)
    }
  }

  /// Removes the file and its folder now. A file that was moved stays where it is.
  public func remove() {
    place.withLock { place in
      guard case .spooled(let path, let spool) = place else { return }
      spool.remove()
      place = .removed(path)
    }
  }

  init(
    path: String, in spool: Spool, pageSize: Int, pageCount: Int, method: Method, fallback: String?,
    check: CheckOutcome?, takenAt: Int64, longestWriterStall: Duration?, lockWasPassed: Bool = false,
    source: String?
  ) {
    place = Locked(.spooled(path, spool))
    self.pageSize = pageSize
    self.pageCount = pageCount
    self.method = method
    self.fallback = fallback
    self.check = check.map(Check.init)
    self.takenAt = Date(milliseconds: takenAt)
    self.longestWriterStall = longestWriterStall
    self.lockWasPassed = lockWasPassed
    lockDoubt = source.flatMap { FileSystemKind.of(path: $0).reason }
  }
}

extension Snapshot.Check {
  init(_ outcome: CheckOutcome) {
    switch outcome {
    case .ok: self = .ok
    case .notCheckable(let why): self = .notCheckable(why)
    case .damaged(let findings): self = .damaged(findings)
    }
  }
}

extension Date {
  /// - Parameter milliseconds: since 1970, UTC.
  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
