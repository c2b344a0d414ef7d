import CSQLite

extension Source {
  /// Runs `quick_check` on the live database itself. Where that could not be done (a lock, a -wal that grew too far, a disk
  /// that failed) it is `.notCheckable`: no reason to have no copy.
  ///
  /// By the connection that the copy was made with: to open one more can change the times of the -wal (see
  /// `SourceSignature.afterOpening`), and the next push would not see that nothing else changed.
  /// - Parameters:
  ///   - transaction: gets its times and costs.
  ///   - whileWorking: called now and then; may throw to end it.
  /// - Throws: `SnapshotError` `.cancelled`, or what `whileWorking` threw.
  func checkItself(
    _ transaction: ReadTransaction, _ watch: Watch, whileWorking: @escaping () throws -> Void
  ) throws -> CheckOutcome {
    // What ends this check does not end the copy.
    let own = watch.again()
    var growth: SnapshotError?
    own.afterLockWait = { transaction.begins() }
    own.whileWorking = {
      do throws(SnapshotError) {
        try transaction.demandModestWal()
      } catch {
        growth = error
        throw error
      }
      try whileWorking()
    }
    connection.obey(own)
    defer { connection.obey(watch) }
    transaction.begins()
    defer { transaction.ends() }
    do {
      if transaction.looksForWriters { try holdStill() }
      defer { connection.rollBack() }
      transaction.lookForWriters()
      let outcome = Result { try check(connection, by: "quick_check", own).sparingLaterSchemas }
      transaction.lookForWriters()
      guard !transaction.lockWasPassed || own.refusal != nil else {
        return .notCheckable("it was written to in spite of SQLite's lock while it was checked")
      }
      return try outcome.get()
    } catch {
      if let growth { return .notCheckable(growth.message) }
      if let refusal = own.refusal { throw refusal }
      guard let failure = error as? SQLiteFailure else { throw error }
      return .notCheckable(failure.explained(of: path).message)
    }
  }
}

extension CheckOutcome {
  /// An entry that a later SQLite has just written into the schema is no damage.
  fileprivate var sparingLaterSchemas: CheckOutcome {
    guard case .damaged(let findings) = self, let first = findings.first,
      SQLiteFailure(code: SQLITE_CORRUPT, message: first).isOfUnparsedSchema
    else { return self }
    return .notCheckable(first)
  }
}
