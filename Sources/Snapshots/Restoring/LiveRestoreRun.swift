import CSQLite

/// One live restore, from the first look at the database to the commit.
final class LiveRestoreRun {
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
