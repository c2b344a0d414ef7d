import CSQLite

/// The copy by a vacuum, and what it leaves behind.
extension SnapshotRun {
  /// - Returns: why pages must be copied instead, or nil when the copy is made.
  func vacuum(_ source: Source, _ transaction: ReadTransaction) throws -> SQLiteFailure? {
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
  func damageLeftBehind(in source: Source, beside copy: Copy) throws -> String? {
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

  /// The exact pages of a database whose vacuumed copy is sound, and that is damaged itself. Where they are not to be had,
  /// the vacuumed copy stays, and says so: no backup at all would be worse.
  func takeDamaged(_ source: Source, _ damage: String, instead copy: inout Copy) throws {
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
}
