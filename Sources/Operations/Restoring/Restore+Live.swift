import Glibc
import Repositories
import Sealing
import Snapshots
import Storage

extension Restore {
  /// Into the database that is there, through SQLite, in one transaction.
  func restoreLive(_ found: FoundVersion, into path: String, _ request: Request) async throws -> Outcome {
    try demandInSight(path)
    try ReplaceIntent(database: path).demandSettled()
    try Self.demandDatabase(path)
    tellOtherNames(of: path)
    tellDatabasesMovedAside(by: found, beside: path, request)
    try found.demandRoomForNames(of: request, beside: path)
    try found.demandNobody(for: request, beside: path)
    if request.keepsUndo { try Self.demandRoomForUndo(of: path) }
    pull.tellDoubt(RestoreRoom(found, intoUnread: path, keepsUndo: request.keepsUndo, state: world.stateFolder))
    // What restores that were killed left there.
    try RestoredFile.sweep(besides: path)
    try await removeSecondNames(of: path, within: request.patience(at: path))
    return try await pull.withPrivateImage(of: found) { spooled in
      let undo = try request.keepsUndo ? undoFile(of: path) : nil
      defer { undo?.discard() }
      let beside = try await RestoreBeside(found, spooled.reader, beside: path, self, request)
      defer { beside.discard() }
      try beside.demandNobody()
      let crossing = LiveCrossing(into: path, beside, undo)
      do {
        let done = try await write(spooled.file.temporaryPath, into: path, found.summary, undo, crossing, request)
        crossing.end()
        if done.pages < done.pagesBefore {
          world.reporter.notice("\(path) has \(done.pages) pages now, and had \(done.pagesBefore)")
        }
      } catch {
        throw crossing.givenUp(after: error, isUntouched: Self.isUntouched(after: error))
      }
      var pulled = pull.outcome(found, spooled, path)
      // SQLite counts its transactions in the first page.
      pulled.identical = false
      var outcome = Outcome(
        pulled: pulled, mode: .live, undoCopy: undo?.path, undo: undo.map { Self.undoCommand($0.path, into: path) })
      beside.tell(&outcome)
      return outcome
    }
  }

  /// The transaction was surely rolled back, also where it was about to be committed: then a copy of the old content is of
  /// no use, and what comes with the old rows belongs to them.
  private static func isUntouched(after error: any Error) -> Bool {
    if error is OperationError { return true }
    return switch (error as? SnapshotError)?.code {
    case .cancelled, .busy, .noSpace, .pageSize, .encoding, .reservedBytes, .untrustedLocks: true
    default: false
    }
  }

  static func demandDatabase(_ path: String, hint: String = "Restore it as a new file: without --live.") throws {
    guard FileIdentity(at: path) != nil else {
      throw OperationError(
        .usage, code: "nothingLive", "there is no database \(path) to restore into",
        hint: hint)
    }
  }

  /// - Throws: `.failed` where the copy of the old content would have too long a name.
  static func demandRoomForUndo(of path: String) throws {
    try RoomForNames.demand(
      path, hint: "Give the database a shorter name first, or do without a copy of it: --no-undo.")
  }

  /// An empty file that will hold the old content, for those who could read the old database.
  private func undoFile(of path: String) throws -> RestoredFile {
    let file = try RestoredFile(for: SetAside.freeName(path, Times.compact(world.now())), kin: path)
    for remark in FileLikeness(of: path).map(file.resemble) ?? [] { world.reporter.notice("\(file.path): \(remark)") }
    return file
  }

  private func write(
    _ image: String, into path: String, _ version: VersionSummary, _ undo: RestoredFile?, _ crossing: LiveCrossing,
    _ request: Request
  ) async throws -> LiveRestore.Outcome {
    var live = LiveRestore(
      image: image, database: path, undo: undo.map { OwnFile(path: $0.temporaryPath, descriptor: $0.descriptor) },
      busyTimeout: request.patience(at: path))
    live.isForeignLockFolder = { LockTrust.isShared($0) }
    let (reporter, pageSize) = (world.reporter, max(1, version.pageSize))
    let time = Times.compact(world.now())
    live.beforeCommit = { [onLive] in try crossing.cross(time) { try onLive(.moved) } }
    return try await live.run(
      undoKept: { try undo?.publish() },
      progress: { [onLive] stage, done, total in
        if stage == .writing, done > 0 { try onLive(.writing) }
        reporter.progress(
          Progress(
            stage == .keeping ? .keeping : .restoring, subject: version.database, bytesDone: done * pageSize,
            bytesTotal: total * pageSize))
      })
  }

  /// By SQLite's own shell, again in one transaction: applications may have the database open.
  static func undoCommand(_ copy: String, into path: String) -> String {
    let file = copy.unicodeScalars.reduce(into: "") { text, scalar in
      text += scalar == "\\" || scalar == "\"" ? "\\\(scalar)" : String(scalar)
    }
    return "sqlite3 -cmd '.timeout 30000' \(shellQuoted(path)) \(shellQuoted(".restore \"\(file)\""))"
  }
}
