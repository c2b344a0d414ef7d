import CSQLite

/// What came of a query of the user's own.
enum QueryOutcome {
  case some
  /// Why there is no row: "returned no row", "failed: no such table: t".
  case none(String)
}

extension Connection {
  /// Runs one reading statement as far as its first row.
  ///
  /// The connection can write nothing anyhow; what would try to, and what would open other files, is refused before it
  /// runs, because it cannot be what was meant. No extension can be loaded: nobody ever allowed it on this connection.
  /// - Throws: `.query` for such a statement; what stopped the work from outside.
  func firstRow(of sql: String, within limit: Duration, _ watch: Watch) throws -> QueryOutcome {
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    sqlite3_set_authorizer(
      handle,
      { _, action, _, _, _, _ in
        action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK
      }, nil)
    defer { sqlite3_set_authorizer(handle, nil, nil) }

    let deadline = ContinuousClock.now + limit
    watch.whileWorking = { if ContinuousClock.now > deadline { throw TimeIsUp() } }
    defer { watch.whileWorking = {} }
    do {
      let statement = try prepareReading(sql)
      defer { sqlite3_finalize(statement) }
      switch sqlite3_step(statement) {
      case SQLITE_ROW: return .some
      case SQLITE_DONE: return .none("returned no row")
      case let code:
        try demand(code)
        return .none("returned no row")
      }
    } catch let failure as SQLiteFailure {
      switch watch.refusal {
      case is TimeIsUp: return .none("did not end within \(limit)")
      case let refusal?: throw refusal
      case nil: return .none("failed: \(failure.message)")
      }
    }
  }

  private struct TimeIsUp: Error {}

  private func prepareReading(_ sql: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    var hasMore = false
    let code = sql.withCString { text -> Int32 in
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v2(handle, text, -1, &statement, &tail)
      if code == SQLITE_OK, let tail { hasMore = !isBlank(tail) }
      return code
    }
    if code & 0xff == SQLITE_AUTH { throw refusal("opens other databases") }
    try demand(code)
    guard let statement else { throw refusal("is empty") }
    guard sqlite3_stmt_readonly(statement) != 0 else {
      sqlite3_finalize(statement)
      throw refusal("writes")
    }
    guard !hasMore else {
      sqlite3_finalize(statement)
      throw refusal("is more than one statement")
    }
    return statement
  }

  /// Nothing but space, semicolons and comments.
  private func isBlank(_ text: UnsafePointer<CChar>) -> Bool {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, text, -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    return code == SQLITE_OK && statement == nil
  }

  private func refusal(_ what: String) -> SnapshotError {
    SnapshotError(
      .query, "the query of the drill \(what)",
      hint: "Give one SELECT that returns a row when the data is as it should be.")
  }
}
