import CSQLite
import Platform

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

private final class LiveRestoreRun {
  private let request: LiveRestore
  private let watch: Watch
  private let progress: (LiveRestore.Stage, Int, Int) throws -> Void
  private let undoKept: () throws -> Void
  private let lockFolder: LockFolderWatch
  private let live: Connection

  init(
    _ request: LiveRestore, _ watch: Watch, _ progress: @escaping (LiveRestore.Stage, Int, Int) throws -> Void,
    _ undoKept: @escaping () throws -> Void
  ) throws {
    self.request = request
    self.watch = watch
    self.progress = progress
    self.undoKept = undoKept
    try watch.check()
    guard let size = fileSize(request.database) else { throw LiveDestination.missing(request.database) }
    guard size > 0 else { throw LiveDestination.empty(request.database) }
    lockFolder = try LockFolderWatch(request.database, isForeign: request.isForeignLockFolder)
    try demandNothingPlanted(beside: request.database, watch, patience: request.busyTimeout)
    live = try Connection(openingLive: request.database, watch)
  }

  func run() throws -> LiveRestore.Outcome {
    do {
      return try restore()
    } catch let failure as SQLiteFailure where failure.isOfTheMachine {
      guard live.hasRolledBack() else { throw Self.waiting(request.database, failure) }
      throw failure
    }
  }

  /// What a write that failed has left is rolled back by whoever reads next, and that could not be us.
  private static func waiting(_ database: String, _ failure: SQLiteFailure) -> SnapshotError {
    SnapshotError(
      .notRolledBack, "\(database) could not be written (\(failure.message)), nor its journal be rolled back",
      hint:
        "Free space there, or look at its disk. SQLite brings the old content back when somebody who may write opens the "
        + "database next; until then copy it with its -journal only.", cause: failure)
  }

  private func restore() throws -> LiveRestore.Outcome {
    // The first read, which rolls back what a writer that died has left.
    let pageSize = try live.integer("PRAGMA page_size")
    let isWAL = try live.rows("PRAGMA journal_mode", limit: 1).first == "wal"
    let pagesBefore = try live.integer("PRAGMA page_count")
    let newPageSize = try openImage(request.image, watch).integer("PRAGMA page_size")
    try LiveDestination(
      request.database, pageSize: pageSize, isWAL: isWAL, size: pagesBefore * pageSize,
      usesReservedBytes: live.usesReservedBytes()
    ).demandFitting(pageSize: newPageSize)
    guard try !openImage(request.image, watch).usesReservedBytes() else {
      throw LiveDestination.reservedBytes(of: "the version")
    }
    try TextEncoding.demandSame(
      try openImage(request.image, watch).textEncoding(), as: try live.textEncoding(), of: request.database,
      hint: "Nothing was changed. Stop what uses it and restore with --replace.")
    try Image(request.image).restoreJournalMode(isWAL: isWAL)
    let source = try openImage(request.image, watch)
    for _ in 0..<request.attempts {
      let state = try keepOldContent(isWAL)
      try makeUndoDurable()
      try request.betweenCopyAndLock()
      if let pages = try write(source, unlessChangedSince: state, isWAL) {
        return LiveRestore.Outcome(
          pageSize: newPageSize, pagesBefore: pagesBefore, pages: pages, isWAL: isWAL)
      }
    }
    throw SnapshotError(
      .busy, "\(request.database) was written to each time its old content had been copied",
      hint: "Nothing was changed. Try again, or go without a copy of the old content: --no-undo.")
  }

  /// Copies the old content while nobody else can write.
  /// - Returns: by what a later change would show.
  private func keepOldContent(_ isWAL: Bool) throws -> [UInt8]? {
    guard let undo = request.undo else { return nil }
    try lockFolder.demandNone()
    // A connection of its own: what is copied must not be in the middle of writing itself.
    try demandNothingPlanted(beside: request.database, watch, patience: request.busyTimeout)
    let keeper = try Connection(openingLive: request.database, watch)
    try keeper.execute("BEGIN IMMEDIATE")
    defer { try? keeper.execute("COMMIT") }
    let copy = try undo.openForCopy()
    let backup = try Backup(from: live, to: copy)
    let room = (try backup.begin(), try live.integer("PRAGMA page_size"))
    try demandSpace(
      room.0 * room.1 + spaceToSpare, for: "a copy of the old content", in: folder(of: undo.path),
      hint: "Nothing was changed. Free space there, or go without that copy: --no-undo.")
    try backup.finish { done, total in
      try watch.check()
      try progress(.keeping, done, total)
    }
    return try changeMark(isWAL)
  }

  /// While others may write: what is left of it to do later is done under a lock that keeps them waiting.
  private func makeUndoDurable() throws {
    guard let undo = request.undo else { return }
    try undo.synchronize()
    try watch.check()
  }

  /// - Returns: how many pages were written; nil when somebody wrote in between, and nothing was changed.
  private func write(_ source: Connection, unlessChangedSince state: [UInt8]?, _ isWAL: Bool) throws -> Int? {
    try lockFolder.demandNone()
    let backup = try Backup(from: source, to: live)
    // Takes the lock that keeps all others from writing, and holds it to the end.
    let total = try backup.begin()
    // It may have been waited for.
    try lockFolder.demandNone()
    if let state {
      guard try changeMark(isWAL) == state else { return nil }
    }
    try undoKept()
    try backup.finish(beforeLastPage: beforeCommit) { done, total in
      try watch.check()
      try progress(.writing, done, total)
    }
    return total
  }

  private func beforeCommit() throws {
    try lockFolder.demandNone()
    try request.beforeCommit()
  }

  /// What is another one after somebody else has written. In WAL mode SQLite itself has noticed when it took its lock; in
  /// rollback mode the file's own counter tells, which nobody may change while we hold the lock.
  private func changeMark(_ isWAL: Bool) throws -> [UInt8] {
    guard isWAL else { return Array(try live.leadingBytes(DatabaseHeader.size).dropFirst(24).prefix(8)) }
    var version: UInt32 = 0
    try live.demand(sqlite3_file_control(live.handle, "main", SQLITE_FCNTL_DATA_VERSION, &version))
    return withUnsafeBytes(of: version) { Array($0) }
  }
}

extension Connection {
  /// Opens a database that others have open, to write to it. It is never checkpointed while others have it open; who closes
  /// it last does that, under a lock that keeps all others out.
  convenience init(openingLive path: String, _ watch: Watch) throws(SQLiteFailure) {
    try self.init(path, flags: SQLITE_OPEN_READWRITE)
    obey(watch)
    try trustSchema()
    try demand(sqlite3_wal_autocheckpoint(handle, 0))
    try execute("PRAGMA mmap_size=0")
    try passOverUnparsedSchema()
    // FULL leaves it to luck whether a journal that was removed stays removed when the power goes: what was said to be
    // restored would be rolled back, and after the file was cut to its new length, into nothing that SQLite can read.
    try execute("PRAGMA synchronous=EXTRA")
    limitCache()
  }

  /// Its pages are replaced, whatever they say, but most pragmas read the schema first: an entry that ours cannot parse, of a
  /// later SQLite, is no reason to refuse.
  private func passOverUnparsedSchema() throws(SQLiteFailure) {
    do throws(SQLiteFailure) {
      _ = try rows("SELECT 1 FROM sqlite_schema", limit: 1)
    } catch {
      guard error.isOfUnparsedSchema else { throw error }
      try execute("PRAGMA writable_schema=1")
    }
  }
}

/// A copy by the backup API that holds its locks from the beginning to the end. Without the end, nothing was changed.
private final class Backup {
  private let handle: OpaquePointer
  private let source: Connection
  private let destination: Connection
  private var isOver = false

  init(from source: Connection, to destination: Connection) throws(SQLiteFailure) {
    guard let handle = sqlite3_backup_init(destination.handle, "main", source.handle, "main") else {
      throw SQLiteFailure(
        code: sqlite3_extended_errcode(destination.handle), message: String(cString: sqlite3_errmsg(destination.handle))
      )
    }
    self.handle = handle
    self.source = source
    self.destination = destination
  }

  deinit { if !isOver { sqlite3_backup_finish(handle) } }

  /// Takes the locks.
  /// - Returns: how many pages there are.
  func begin() throws(SQLiteFailure) -> Int {
    try demand(sqlite3_backup_step(handle, 0))
    return pageCount
  }

  /// Copies all, and commits: SQLite does that in the step that copies the last page.
  func finish(beforeLastPage: () throws -> Void = {}, stepDone: (Int, Int) throws -> Void) throws {
    try stepDone(0, pageCount)
    while remaining > 1 {
      try demand(sqlite3_backup_step(handle, Int32(min(64, remaining - 1))))
      try stepDone(pageCount - remaining, pageCount)
    }
    try beforeLastPage()
    try demand(sqlite3_backup_step(handle, -1))
    isOver = true
    try demand(sqlite3_backup_finish(handle))
  }

  private var remaining: Int { Int(UInt32(bitPattern: sqlite3_backup_remaining(handle))) }
  private var pageCount: Int { Int(UInt32(bitPattern: sqlite3_backup_pagecount(handle))) }

  private func demand(_ code: Int32) throws(SQLiteFailure) {
    guard code != SQLITE_OK, code != SQLITE_DONE else { return }
    throw SQLiteFailure(code: code, message: String(cString: sqlite3_errstr(code)))
  }
}
