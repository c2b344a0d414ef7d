import CSQLite
import Platform

/// Takes a consistent copy of a live database, and changes nothing of it.
///
/// Runs on a thread of its own. Cancelling the task, or throwing from `progress`, ends it within moments and
/// removes what was written; once the copy is complete both are ignored.
/// - Parameter progress: called on that thread, at most some fifty times a second; with `pagesPerStep` after each step.
/// - Throws: `SnapshotError`, or what `progress` threw.
package func takeSnapshot(
  _ request: SnapshotRequest, progress: @escaping @Sendable (SnapshotProgress) throws -> Void = { _ in }
) async throws -> Snapshot {
  try await onOwnThread { stop in
    try patiently {
      try onceMore { try SnapshotRun(request, Watch(stop, busyTimeout: request.busyTimeout), progress).take() }
    }
  }
}

/// A busy writer that keeps its journal file (PERSIST) can look, for an instant, like one that died: between SQLite's look
/// at its lock and that at its journal it began. What is really left behind by the dead is still there a moment later.
private func patiently(_ take: () throws -> Snapshot) throws -> Snapshot {
  for _ in 0..<5 {
    do {
      return try take()
    } catch let error as SnapshotError where error.code == .hotJournal {
      usleep(50_000)
    }
  }
  return try take()
}

/// Who wrote in spite of SQLite's lock may be gone by now: what may be of two moments is copied again, once.
private func onceMore(_ take: () throws -> Snapshot) throws -> Snapshot {
  let snapshot = try take()
  guard snapshot.lockWasPassed else { return snapshot }
  removeImage(snapshot.path)
  return try take()
}

/// One snapshot, from the first look at the source to the finished image.
private final class SnapshotRun {
  private let request: SnapshotRequest
  private let watch: Watch
  private let progress: (SnapshotProgress) throws -> Void
  private var image: String
  /// Bytes; for progress, before the copy's own header can be read.
  private var pageSize = 4096
  private var lastReport = ContinuousClock.now - .seconds(1)
  private var pagesReported = 0
  /// What was found in the source itself, where it was looked at, and how long that held it.
  private var look: (outcome: CheckOutcome, transaction: ReadTransaction)?

  init(_ request: SnapshotRequest, _ watch: Watch, _ progress: @escaping (SnapshotProgress) throws -> Void) {
    self.request = request
    self.watch = watch
    self.progress = progress
    image = Self.newImage(in: request.spoolFolder)
  }

  private static func newImage(in folder: String) -> String { "\(folder)/\(randomName()).sqlite" }

  func take() throws -> Snapshot {
    try watch.check()
    let identity = try identify(request.source)
    pageSize = try identity.demandDatabase(named: request.source).pageSize ?? pageSize
    let mark = SchemaMark(identity)
    let sideFilesBefore = Set(sideFiles(of: identity.path))

    try makeImageFile(image)
    do {
      let copy = try copySource(identity.path)
      let check = try checkCopy(copy)
      let finished = try Image(image)
      let zeroed = try normalise(finished, copy, check)
      var snapshot = Snapshot(
        path: image, pageSize: finished.pageSize, pageCount: finished.pageCount, method: copy.method,
        fallback: copy.fallback, check: check, takenAt: copy.transaction.takenAt,
        longestWriterStall: copy.blocksWriters ? max(copy.transaction.held, look?.transaction.held ?? .zero) : nil,
        walGrowth: copy.transaction.walGrowth + (look?.transaction.walGrowth ?? 0),
        sideFilesAppeared: sideFiles(of: identity.path).filter { !sideFilesBefore.contains($0) },
        source: copy.signature, freePagesZeroed: zeroed)
      snapshot.sourceCheck = look?.outcome
      snapshot.fallbackIsPassing = copy.fallbackIsPassing
      snapshot.schemaMark = mark
      snapshot.lockWasPassed = copy.transaction.lockWasPassed || look?.transaction.lockWasPassed == true
      // Complete: from here on nobody can stop it.
      try? progress(report(.checking, finished.pageCount, finished.pageCount))
      return snapshot
    } catch {
      removeImage(image)
      throw error
    }
  }

  // MARK: Copying

  private struct Copy {
    var method: SnapshotMethod
    var fallback: String?
    var fallbackIsPassing = false
    /// What SQLite complained of while copying, if that means damage.
    var damage: String?
    var transaction: ReadTransaction
    var signature: SourceSignature
    /// The source is in WAL mode.
    var isWAL: Bool
    var blocksWriters: Bool
    /// Page 1's header as it was in the source; only with `pages`.
    var header: DatabaseHeader?
  }

  private func copySource(_ path: String) throws -> Copy {
    if let source = try Source.openLeavingNothing(path, watch) {
      do {
        return try makeCopy(of: source)
      } catch let error as SnapshotError where error.code != .cancelled {
        // Not because somebody came: with locks it would fail as well, and leave the files that those need.
        if (try? source.demandUnchanged()) != nil, sideFiles(of: path).isEmpty { throw error }
        // Somebody came after all. Then with locks.
        removeImage(image)
        try makeImageFile(image)
        pagesReported = 0
      }
    }
    return try makeCopy(of: Source.open(path, request, watch))
  }

  private func makeCopy(of source: Source) throws -> Copy {
    let path = source.path
    look = nil
    let transaction = transaction(copying: source)
    watch.afterLockWait = { transaction.begins() }
    var copy = Copy(
      method: request.method, damage: source.damage, transaction: transaction, signature: source.signature,
      isWAL: source.isWAL, blocksWriters: source.blocksWriters)

    if request.method == .vacuum, try explaining(path, { try source.connection.usesReservedBytes() }) {
      copy.method = .pages
      copy.fallback = "the end of its pages holds what only its application can write (checksums, perhaps)"
    } else if request.method == .vacuum, let failure = try vacuum(source, transaction) {
      copy.method = .pages
      copy.fallback = failure.message
      copy.fallbackIsPassing = failure.isPassing
      if failure.meansDamage, !failure.isOfUnparsedSchema { copy.damage = failure.message }
      removeImage(image)
      try makeImageFile(image)
    } else if request.method == .vacuum, let damage = try damageLeftBehind(in: source, beside: copy) {
      copy.signature = source.signature
      try takeDamaged(source, damage, instead: &copy)
      try source.demandUnchanged()
      return copy
    }
    copy.signature = source.signature
    if copy.method == .pages { copy.header = try copyPages(of: source, transaction) }
    try source.demandUnchanged()
    return copy
  }

  private func transaction(copying source: Source) -> ReadTransaction {
    // Where a file is another machine's as well, its times may come late; that the locks there are doubtful is said anyhow.
    let isGuarded = source.blocksWriters && FileSystemKind.of(path: source.path).reason == nil
    return ReadTransaction(of: source.path, maxWalGrowth: request.maxWalGrowth, looksForWriters: isGuarded)
  }

  private func copyPages(of source: Source, _ transaction: ReadTransaction) throws -> DatabaseHeader? {
    try refusing(source.path, into: request.spoolFolder) {
      try copyByPages(source, into: image, request, transaction, watch) { done, total, header in
        let growing = growingCopy(of: source, transaction, header, total)
        try eachStepOrOccasionally { [self] in try progress(report(.copying, done, total, growing)) }
      }
    }
  }

  /// The exact pages of a database whose vacuumed copy is sound, and that is damaged itself. Where they are not to be had,
  /// the vacuumed copy stays, and says so: no backup at all would be worse.
  private func takeDamaged(_ source: Source, _ damage: String, instead copy: inout Copy) throws {
    let vacuumed = image
    let transaction = transaction(copying: source)
    watch.afterLockWait = { transaction.begins() }
    image = Self.newImage(in: request.spoolFolder)
    copy.damage = damage
    do {
      try makeImageFile(image)
      copy.header = try copyPages(of: source, transaction)
      removeImage(vacuumed)
      copy.method = .pages
      copy.fallback = damage
      copy.transaction = transaction
    } catch let error as SnapshotError where error.code != .cancelled {
      removeImage(image)
      image = vacuumed
      copy.damage = "\(damage); only what a vacuum reaches could be copied, not its exact pages: \(error.message)"
    } catch {
      removeImage(vacuumed)
      throw error
    }
  }

  /// - Returns: why pages must be copied instead, or nil when the copy is made.
  private func vacuum(_ source: Source, _ transaction: ReadTransaction) throws -> SQLiteFailure? {
    if let damage = source.damage { return SQLiteFailure(code: SQLITE_CORRUPT, message: damage) }
    var growing: Snapshot?
    watch.whileWorking = { [self] in
      try eachStepOrOccasionally {
        try transaction.demandModestWal()
        let written = fileSize(image) ?? 0
        // When something was written the transaction has begun, and its time is settled.
        growing?.takenAt = transaction.takenAt
        guard written / pageSize >= pagesReported + (request.pagesPerStep ?? 0) else { return }
        pagesReported = written / pageSize
        try progress(report(.copying, written / pageSize, nil, written > 0 ? growing : nil))
        // Whoever was told may have taken their time, and the copy may be over before we are asked again.
        try transaction.demandModestWal()
      }
    }
    defer { watch.whileWorking = {} }
    try progress(report(.copying, 0, nil))
    do {
      try copyByVacuum(source, into: image, request, transaction, watch) { [self] pages in
        growing = source.growsInSight ? growingCopy(of: source, transaction, .vacuum, pages, pageSize) : nil
      }
      return nil
    } catch let failure as SQLiteFailure where watch.refusal == nil {
      // What SQLite will not copy by rows, whatever the reason, it copies by pages.
      if failure.primary == SQLITE_ERROR || failure.meansDamage { return failure }
      throw failure.explained(copying: source.path, into: request.spoolFolder)
    } catch {
      throw watch.refusal ?? error
    }
  }

  /// What cannot be reached a vacuum leaves behind, and its copy is sound: so the source itself is asked, where that is due.
  /// - Returns: what is wrong with it, or nil when nothing is.
  private func damageLeftBehind(in source: Source, beside copy: Copy) throws -> String? {
    guard request.checksSource else { return nil }
    if source.growsInSight, !request.check { try tellComplete(copy, of: source) }
    let transaction = transaction(copying: source)
    let outcome = try source.checkItself(transaction, watch) { [self] in
      try occasionally { try progress(report(.checking, 0, nil)) }
    }
    look = (outcome, transaction)
    guard case .damaged(let findings) = outcome else { return nil }
    let finding = CheckOutcome.brief(findings) ?? "its own check failed"
    return "\(finding) (found in the live database itself, not in its copy)"
  }

  /// Whoever seals the copy meanwhile need not wait for the check of its source to check the copy as well.
  private func tellComplete(_ copy: Copy, of source: Source) throws {
    let finished = try Image(image)
    try finished.restoreJournalMode(isWAL: copy.isWAL)
    var told = report(.checking, 0, finished.pageCount)
    told.complete = growingCopy(of: source, copy.transaction, .vacuum, finished.pageCount, finished.pageSize)
    try progress(told)
  }

  /// Runs work that SQLite may interrupt at our own wish, and throws our reason then, not SQLite's.
  /// - Parameter folder: where the work writes a copy, if it does.
  private func refusing<Value>(
    _ path: String, into folder: String? = nil, _ work: () throws -> Value
  ) throws -> Value {
    do {
      return try explaining(path, into: folder, work)
    } catch {
      throw watch.refusal ?? error
    }
  }

  // MARK: Finishing

  /// - Returns: nil when no check was asked for, and nothing looked like damage.
  private func checkCopy(_ copy: Copy) throws -> CheckOutcome? {
    try watch.check()
    let damage = copy.damage.map { CheckOutcome.damaged([$0]) }
    guard request.check || damage != nil else { return nil }
    try progress(report(.checking, 0, (fileSize(image) ?? 0) / pageSize))
    watch.whileWorking = { [self] in
      try occasionally { try progress(report(.checking, 0, (fileSize(image) ?? 0) / pageSize)) }
    }
    defer { watch.whileWorking = {} }
    let outcome = try refusing(image) { try quickCheck(image, watch) }
    // What was found in the source itself says so.
    if case .damaged = outcome, look?.outcome.isDamaged != true { return outcome }
    return damage ?? outcome
  }

  /// - Returns: how many free pages became zeros.
  private func normalise(_ finished: Image, _ copy: Copy, _ check: CheckOutcome?) throws -> Int {
    switch copy.method {
    case .vacuum:
      try finished.restoreJournalMode(isWAL: copy.isWAL)
      return 0
    case .pages:
      if let header = copy.header { try finished.restoreCounters(of: header) }
      guard !request.keepFreePages, FreePages.mayBecomeZeros(after: check) else { return 0 }
      return try finished.zeroFreePages()
    }
  }

  // MARK: Progress

  /// Only where nothing of the copy becomes zeros afterwards: what is deleted must not be carried along.
  private func growingCopy(
    of source: Source, _ transaction: ReadTransaction, _ header: DatabaseHeader?, _ pages: Int
  ) -> Snapshot? {
    guard source.growsInSight, source.damage == nil, let header, let pageSize = header.pageSize,
      header.freelistCount == 0 || request.keepFreePages
    else { return nil }
    return growingCopy(of: source, transaction, .pages, pages, pageSize)
  }

  private func growingCopy(
    of source: Source, _ transaction: ReadTransaction, _ method: SnapshotMethod, _ pages: Int, _ pageSize: Int
  ) -> Snapshot {
    Snapshot(
      path: image, pageSize: pageSize, pageCount: pages, method: method, check: nil, takenAt: transaction.takenAt,
      source: source.signature)
  }

  private func report(
    _ stage: SnapshotProgress.Stage, _ pagesDone: Int, _ pagesTotal: Int?, _ growing: Snapshot? = nil
  ) -> SnapshotProgress {
    SnapshotProgress(
      stage: stage, pagesDone: pagesDone, pagesTotal: pagesTotal, bytesDone: pagesDone * pageSize, growing: growing)
  }

  /// Steps that were asked for are told one by one.
  private func eachStepOrOccasionally(_ tell: () throws -> Void) rethrows {
    try request.pagesPerStep == nil ? occasionally(tell) : tell()
  }

  private func occasionally(_ work: () throws -> Void) rethrows {
    guard .now - lastReport > .milliseconds(20) else { return }
    lastReport = .now
    try work()
  }
}
