import CSQLite

/// What is asked of a restored image before it counts as one that an application could live with.
package struct ImageTrial: Sendable {
  /// The rows that the tables had; what is not named is not compared.
  package var rows: [TableRows] = []
  /// Whether rows that refer to rows that are not there count against it.
  package var foreignKeys = true
  /// A query of the user's own that must return a row.
  package var query: String?
  /// How long that may take.
  package var queryLimit: Duration = .seconds(60)

  package init() {}
}

/// What an image was found to be.
package struct ImageProof: Sendable, Equatable {
  /// What is wrong with it; it passed when there is nothing.
  package var findings: [String] = []
  /// What could not be looked at here, and why.
  package var unchecked: [String] = []
  /// What was tried, and went well.
  package var passed: [String] = []
  /// It is no sound database: it fails `quick_check`, the check of a push, or SQLite cannot read it. That its indexes do
  /// not agree with its rows, that it lacks rows, or does not answer a query, is not that.
  package var isBroken = false
  /// All of it was looked at for that: nothing needed what only its application has, or a later SQLite.
  package var isChecked = false

  package init() {}
}

/// Looks at a private, finished image with everything that SQLite has, and asks it what its user wants to know.
///
/// It is opened as immutable and read-only; nobody may be writing to it.
/// - Throws: `.missing`, `.unreadable`, `.spool` without a thread, `.cancelled`; `.query` for a query that must not be run,
///   where nothing else is wrong.
package func proveImage(at path: String, _ trial: ImageTrial) async throws -> ImageProof {
  try await onOwnThread { stop in
    guard exists(path) else { throw SnapshotError(.missing, "there is no file \(path)") }
    let watch = Watch(stop, busyTimeout: .seconds(1))
    do {
      var proof = ImageProof()
      let connection = try openImage(path, watch)
      try proof.checkIntegrity(connection, watch)
      // What an image says of its rows that contradicts itself is worth nothing.
      guard proof.findings.isEmpty else { return proof }
      if trial.foreignKeys { try proof.checkForeignKeys(connection, watch) }
      try proof.compareRows(connection, trial.rows, watch)
      if let query = trial.query { try proof.ask(query, connection, trial.queryLimit, watch) }
      return proof
    } catch let failure as SQLiteFailure {
      if let refusal = watch.refusal { throw refusal }
      guard failure.meansDamage else { throw failure.explained(ofCopy: path) }
      var proof = ImageProof()
      proof.findings.append("SQLite cannot read it: \(failure.message)")
      proof.isBroken = true
      return proof
    }
  }
}

extension ImageProof {
  fileprivate mutating func checkIntegrity(_ connection: Connection, _ watch: Watch) throws {
    switch try check(connection, by: "integrity_check", watch) {
    case .ok:
      isChecked = true
      passed.append("integrity_check ok")
    case .notCheckable(let why): unchecked.append("integrity_check: \(why)")
    case .damaged(let lines):
      // Only the very check of the push can tell that something became of the image since. Indexes are compared with rows
      // by this one alone, in SQLite's order and by its functions: the application may have others under the same names.
      let quick = try check(connection, by: "quick_check", watch)
      isBroken = quick.isDamaged
      isChecked = quick == .ok || quick.isDamaged
      let finding = "integrity_check: \(CheckOutcome.brief(lines) ?? "it failed")"
      findings.append(isBroken ? finding : "\(finding) (\(Self.ofIndexes))")
    }
  }

  private static let ofIndexes =
    "indexes do not agree with rows: expected where the application has a collation or functions of its own under names of SQLite's; else REINDEX mends it"

  fileprivate mutating func checkForeignKeys(_ connection: Connection, _ watch: Watch) throws {
    do throws(SQLiteFailure) {
      let tables = try connection.withoutLongerValuesThanStored { () throws(SQLiteFailure) in
        try connection.rows("PRAGMA foreign_key_check", limit: Self.mostRows)
      }
      guard let first = tables.first else {
        passed.append("foreign_key_check ok")
        return
      }
      guard connection.passedOver == nil else {
        unchecked.append("foreign_key_check: what rows refer to may be what a later SQLite than ours wrote")
        return
      }
      let count = tables.count < Self.mostRows ? "\(tables.count)" : "\(Self.mostRows) or more"
      findings.append("foreign_key_check: \(count) rows refer to rows that are not there, the first in '\(first)'")
    } catch {
      if let refusal = watch.refusal { throw refusal }
      if error.meansDamage {
        findings.append("foreign_key_check: \(error.message)")
      } else {
        unchecked.append("foreign_key_check: \(error.message)")
      }
    }
  }

  private static let mostRows = 1000

  fileprivate mutating func compareRows(_ connection: Connection, _ noted: [TableRows], _ watch: Watch) throws {
    guard !noted.isEmpty else {
      unchecked.append("row counts: none were noted at push")
      return
    }
    let before = findings.count
    var total: UInt64 = 0
    var counted = 0
    for one in noted {
      guard let found = try countRows(of: one.table, connection, watch) else {
        let missing = "row counts: table '\(one.table)' had \(Self.rows(one.rows)) and cannot be counted"
        // To us there is no table whose entry in the schema was passed over.
        if connection.passedOver == nil {
          findings.append("\(missing) now")
        } else {
          unchecked.append("\(missing) here: a later SQLite than ours may have made it")
        }
        continue
      }
      counted += 1
      if found != one.rows {
        findings.append("row counts: table '\(one.table)' has \(Self.rows(found)), and had \(one.rows)")
      }
      total += found
    }
    let nameless = try tablesWithoutText(connection) - noted.count { $0.table.unicodeScalars.contains("\u{FFFD}") }
    if nameless > 0 {
      let tables = nameless == 1 ? "1 table, whose name is" : "\(nameless) tables, whose names are"
      unchecked.append("row counts: not looked at: \(tables) not UTF-8")
    }
    guard findings.count == before, counted > 0 else { return }
    passed.append("\(Self.rows(total)) in \(counted) \(counted == 1 ? "table" : "tables") as at push")
  }

  private static func rows(_ count: UInt64) -> String { count == 1 ? "1 row" : "\(count) rows" }

  fileprivate mutating func ask(
    _ query: String, _ connection: Connection, _ limit: Duration, _ watch: Watch
  ) throws {
    do {
      switch try connection.firstRow(of: query, within: limit, watch) {
      case .some: passed.append("the query returned a row")
      case .none(let why): findings.append("the query \(why)")
      }
    } catch let error as SnapshotError where error.code == .query && !findings.isEmpty {
      // What is wrong with the image is worth more than what is wrong with the query.
      unchecked.append("the query was not asked: \(error.message)")
    }
  }
}
