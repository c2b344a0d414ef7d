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
  /// - Throws: `.query` for such a statement, and for what is no SQL; what stopped the work from outside.
  func firstRow(of sql: String, within limit: Duration, _ watch: Watch) throws -> QueryOutcome {
    refuseOtherFiles()
    defer { sqlite3_set_authorizer(handle, nil, nil) }

    // While the machine sleeps the query does not run, and is not to blame.
    let deadline = SuspendingClock.now + limit
    watch.whileWorking = { if SuspendingClock.now > deadline { throw TimeIsUp() } }
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

  private func refuseOtherFiles() {
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    sqlite3_set_authorizer(
      handle,
      { _, action, _, _, _, _ in
        action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK
      }, nil)
  }

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
    do throws(SQLiteFailure) {
      try demand(code)
    } catch {
      // A slip of whoever wrote it: no database could answer. What it lacks of tables may be the database's fault.
      guard error.isOfParsing else { throw error }
      throw refusal("is no SQL: \(error.message)")
    }
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

  /// Of a query that lacks its tables only its words can be looked at.
  fileprivate func demandReading(_ sql: String) throws {
    refuseOtherFiles()
    do {
      sqlite3_finalize(try prepareReading(sql))
    } catch is SQLiteFailure {
      let statement = sql.drop { $0.isWhitespace || $0 == ";" }
      guard !Self.writing.contains(statement.prefix(while: \.isLetter).uppercased()) else { throw refusal("writes") }
      let end = statement.indices.first { statement[$0] == ";" && sqlite3_complete(String(statement[...$0])) != 0 }
      guard let end else { return }
      let rest = String(statement[statement.index(after: end)...])
      guard rest.withCString({ isBlank($0) }) else { throw refusal("is more than one statement") }
    }
  }

  private static let writing = ["DELETE", "INSERT", "REPLACE", "UPDATE", "DROP", "ALTER", "REINDEX", "ANALYZE"]

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

/// Looks at a query without any database: is it wrong whatever a database has in it?
/// - Throws: `.query`.
package func demandReading(_ sql: String) throws {
  guard let connection = try? Connection(":memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY) else { return }
  try connection.demandReading(sql)
}
