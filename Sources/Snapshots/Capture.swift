import CSQLite
import Glibc

/// Takes one consistent copy of a live database. The database, its -wal and its journal are never written to.
/// - Parameter progress: called now and then; ends the copy by throwing.
/// - Throws: `SnapshotError`, or what `progress` threw. Nothing is left behind then.
package func takeSnapshot(
  _ request: SnapshotRequest, progress: @escaping @Sendable (SnapshotProgress) throws -> Void
) async throws -> Snapshot {
  try await onOwnThread { cancellation in
    try Capture(request, cancellation: cancellation, progress: progress).run()
  }
}

/// One attempt, on its own thread.
final class Capture {
  private let request: SnapshotRequest
  private let cancellation: Cancellation
  private let progress: (SnapshotProgress) throws -> Void
  private var thrownByProgress: (any Error)?

  init(
    _ request: SnapshotRequest, cancellation: Cancellation, progress: @escaping (SnapshotProgress) throws -> Void
  ) {
    self.request = request
    self.cancellation = cancellation
    self.progress = progress
  }

  func run() throws -> Snapshot {
    let file = try SourceFile(request.source)
    let signature = try SourceSignature.read(file.path)
    try file.requireDatabase()
    try requireSpace(for: file)
    let sideFilesBefore = Set(file.sideFiles.filter { access($0, F_OK) == 0 })
    let image = "\(request.spoolFolder)/image.sqlite"
    do {
      var snapshot = try copy(file, signature, to: image)
      if request.check { snapshot.check = try check(snapshot) }
      if snapshot.method == .vacuum, let header = DatabaseHeader(try ImageFile(at: image).read(100, at: 0)) {
        try restoreJournalMode(of: file, header, image)
      }
      snapshot.sideFilesAppeared = file.sideFiles.filter { !sideFilesBefore.contains($0) && access($0, F_OK) == 0 }
      return snapshot
    } catch {
      removeImage(image)
      throw thrownByProgress ?? error
    }
  }

  /// The method asked for; `pages` where SQLite cannot vacuum without the application, or because the source is damaged.
  private func copy(_ file: SourceFile, _ signature: SourceSignature, to image: String) throws -> Snapshot {
    guard request.method == .vacuum else { return try copyPages(file, signature, to: image, fallback: nil) }
    do {
      return try vacuum(file, signature, to: image)
    } catch let failure as SQLiteFailure where failure.needsTheApplication || failure.isDamage {
      removeImage(image)
      return try copyPages(file, signature, to: image, fallback: failure.message)
    } catch let failure as SQLiteFailure {
      throw SourceConnection.explain(failure, file)
    }
  }

  private func vacuum(_ file: SourceFile, _ signature: SourceSignature, to image: String) throws -> Snapshot {
    let source = try SourceConnection(file, busyTimeout: request.busyTimeout, allowRecovery: request.allowRecovery)
    let walBefore = file.size(of: "-wal") ?? 0
    let locksWriters = try source.connection.rows("PRAGMA journal_mode").first != "wal"
    try ImageFile.create(at: image)
    let takenAt = Self.now()
    let started = ContinuousClock.now
    try source.connection.withProgress({ self.goOn(file, walBefore, image) }) {
      _ = try source.connection.rows("VACUUM INTO ?1", binding: [image])
    }
    let stall = ContinuousClock.now - started
    try requireUnchanged(file, signature, source)
    return try describe(
      image, .vacuum, signature, takenAt: takenAt, stall: locksWriters ? stall : nil,
      walGrowth: (file.size(of: "-wal") ?? 0) - walBefore, fallback: nil, zeroed: 0)
  }

  private func copyPages(
    _ file: SourceFile, _ signature: SourceSignature, to image: String, fallback: String?
  ) throws -> Snapshot {
    let pageOne = try PageOne(of: file)
    return try withExtendedLifetime(pageOne) {
      do {
        return try copyPages(file, pageOne, signature, to: image, fallback: fallback)
      } catch let failure as SQLiteFailure {
        throw SourceConnection.explain(failure, file)
      }
    }
  }

  private func copyPages(
    _ file: SourceFile, _ pageOne: PageOne, _ signature: SourceSignature, to image: String, fallback: String?
  ) throws -> Snapshot {
    let source = try SourceConnection(file, busyTimeout: request.busyTimeout, allowRecovery: request.allowRecovery)
    let walBefore = file.size(of: "-wal") ?? 0
    // Held from here to the end: without it every commit of another process would begin the copy anew.
    try source.connection.execute("BEGIN")
    let cookie = try source.connection.integer("PRAGMA schema_version")
    let takenAt = Self.now()
    let started = ContinuousClock.now
    let locksWriters = try source.connection.rows("PRAGMA journal_mode").first != "wal"
    guard var header = pageOne.header() else {
      throw SnapshotError(.notADatabase, "\(file.path) is not a SQLite database")
    }
    header = header.withSchemaCookie(UInt32(truncatingIfNeeded: cookie))
    try ImageFile.create(at: image)
    do {
      let destination = try Connection(image, flags: SQLITE_OPEN_READWRITE)
      for option in ["journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE"] {
        try destination.rows("PRAGMA \(option)")
      }
      try source.connection.copy(to: destination, pagesPerStep: 2048) { done, total in
        try self.report(.copying, done: done, total: total, bytes: done * header.pageSize)
        try self.requireSmallWal(file, walBefore)
      }
    }
    try source.connection.execute("COMMIT")
    let stall = ContinuousClock.now - started
    try requireUnchanged(file, signature, source)
    let normalisation = ImageNormalisation(try ImageFile(at: image), pageSize: header.pageSize)
    try normalisation.restoreCounters(of: header)
    let zeroed = request.keepFreePages ? 0 : try normalisation.zeroFreePages()
    return try describe(
      image, .pages, signature, takenAt: takenAt, stall: locksWriters ? stall : nil,
      walGrowth: (file.size(of: "-wal") ?? 0) - walBefore, fallback: fallback, zeroed: zeroed)
  }

  private func describe(
    _ image: String, _ method: SnapshotMethod, _ signature: SourceSignature, takenAt: Int64, stall: Duration?,
    walGrowth: Int, fallback: String?, zeroed: Int
  ) throws -> Snapshot {
    let file = try ImageFile(at: image)
    guard file.length >= DatabaseHeader.length,
      let header = DatabaseHeader(try file.read(DatabaseHeader.length, at: 0)),
      file.length % header.pageSize == 0
    else {
      throw SnapshotError(
        .empty, "the database has no content yet", hint: "Push it when the application has made its tables.")
    }
    return Snapshot(
      path: image, pageSize: header.pageSize, pageCount: file.length / header.pageSize, method: method,
      fallback: fallback, check: .ok, takenAt: takenAt, longestWriterStall: stall, walGrowth: max(0, walGrowth),
      sideFilesAppeared: [], source: signature, freePagesZeroed: zeroed)
  }

  private func check(_ snapshot: Snapshot) throws -> CheckOutcome {
    let length = snapshot.pageSize * snapshot.pageCount
    try report(.checking, done: 0, total: snapshot.pageCount, bytes: 0)
    let outcome = try ImageCheck(snapshot.path).run { !self.cancellation.isCancelled }
    // From here on the copy is complete: what progress throws now is ignored.
    try? progress(
      SnapshotProgress(
        stage: .checking, pagesDone: snapshot.pageCount, pagesTotal: snapshot.pageCount, bytesDone: length))
    return outcome
  }

  private func restoreJournalMode(of file: SourceFile, _ copy: DatabaseHeader, _ image: String) throws {
    guard let header = try PageOne(of: file).header() else { return }
    try ImageNormalisation(ImageFile(at: image), pageSize: copy.pageSize).restoreJournalMode(of: header)
  }

  /// Asked by SQLite while it vacuums.
  private func goOn(_ file: SourceFile, _ walBefore: Int, _ image: String) -> Bool {
    do {
      var status = stat()
      let written = stat(image, &status) == 0 ? Int(status.st_size) : 0
      try report(.copying, done: 0, total: nil, bytes: written)
      try requireSmallWal(file, walBefore)
      return true
    } catch {
      if thrownByProgress == nil { thrownByProgress = error }
      return false
    }
  }

  private func report(_ stage: SnapshotProgress.Stage, done: Int, total: Int?, bytes: Int) throws {
    try cancellation.check()
    do {
      try progress(SnapshotProgress(stage: stage, pagesDone: done, pagesTotal: total, bytesDone: bytes))
    } catch {
      thrownByProgress = error
      throw error
    }
  }

  private func requireSmallWal(_ file: SourceFile, _ before: Int) throws {
    guard let limit = request.maxWalGrowth, let size = file.size(of: "-wal"), size - before > limit else { return }
    throw SnapshotError(
      .walGrowth, "the -wal of \(file.path) grew by \((size - before) >> 20) MiB while it was copied",
      hint: "Push at a quieter time, or raise \"maxWalGrowth\".")
  }

  /// What was read without locks must not have moved.
  private func requireUnchanged(_ file: SourceFile, _ signature: SourceSignature, _ source: SourceConnection) throws {
    guard source.isImmutable else { return }
    guard try SourceSignature.read(file.path) == signature else {
      throw SnapshotError(
        .changedMeanwhile, "\(file.path) changed while it was read without locks",
        hint: "Run sealift as the owner of the database, so that it can take part in SQLite's locking.")
    }
  }

  /// A copy as large as the database and its -wal must fit, with a little to spare.
  private func requireSpace(for file: SourceFile) throws(SnapshotError) {
    var space = statvfs()
    guard statvfs(request.spoolFolder, &space) == 0 else { return }
    let needed = UInt64(file.status.st_size) + UInt64(file.size(of: "-wal") ?? 0) + 1 << 20
    let free = UInt64(space.f_bavail) * UInt64(space.f_frsize)
    guard free >= needed else {
      throw SnapshotError(
        .noSpace,
        "the copy of \(file.path) needs \(needed >> 20) MiB, \(request.spoolFolder) has \(free >> 20) MiB free",
        hint: "Make room there, or name another state folder with SEALIFT_STATE.")
    }
  }

  private func removeImage(_ image: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(image + suffix) }
  }

  private static func now() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }
}
