/// How the copy is made, and by which method.
extension SnapshotRun {
  struct Copy {
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

  func copySource(_ path: String) throws -> Copy {
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

  func transaction(copying source: Source) -> ReadTransaction {
    // Where a file is another machine's as well, its times may come late; that the locks there are doubtful is said anyhow.
    let isGuarded = source.blocksWriters && FileSystemKind.of(path: source.path).reason == nil
    return ReadTransaction(of: source.path, maxWalGrowth: request.maxWalGrowth, looksForWriters: isGuarded)
  }

  func copyPages(of source: Source, _ transaction: ReadTransaction) throws -> DatabaseHeader? {
    try refusing(source.path, into: request.spoolFolder) {
      try copyByPages(source, into: image, request, transaction, watch) { done, total, header in
        let growing = growingCopy(of: source, transaction, header, total)
        try eachStepOrOccasionally { [self] in try progress(report(.copying, done, total, growing)) }
      }
    }
  }

  /// Runs work that SQLite may interrupt at our own wish, and throws our reason then, not SQLite's.
  /// - Parameter folder: where the work writes a copy, if it does.
  func refusing<Value>(
    _ path: String, into folder: String? = nil, _ work: () throws -> Value
  ) throws -> Value {
    do {
      return try explaining(path, into: folder, work)
    } catch {
      throw watch.refusal ?? error
    }
  }
}
