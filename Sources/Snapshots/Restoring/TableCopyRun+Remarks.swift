/// What the tables need and is not there, or was not copied.
extension TableCopyRun {
  func remark(on tables: [TableSchema]) throws {
    let end = SuspendingClock.now + request.longestLook
    for table in tables {
      let name = quoted(table.name, by: "'")
      let parents = try connection.rows("SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(\(name))", limit: .max)
      for parent in parents where try !connection.hasTable(parent, in: "main") {
        outcome.remarks.append("'\(table.name)' refers to the table '\(parent)', which is not there")
      }
      let lost = try? connection.rows("PRAGMA main.foreign_key_check(\(name))", limit: 1000).count
      if let lost, lost > 0 { tell(of: lost, mayBeMore: lost >= 1000, in: table.name, referringTo: "rows") }
      // A rehearsal has put no rows there.
      let restored = Set(tables.map { $0.name.lowercased() })
      for child in try table.children(connection) where !request.dryRun && !restored.contains(child.lowercased()) {
        try remark(on: child, referringTo: table, until: end)
      }
      let (strays, old) = (try table.strays(connection), table.formerName)
      if !strays.isEmpty {
        outcome.remarks.append(
          "\(listed(strays)) go by '\(old)', not by '\(table.name)': a plain ALTER TABLE … RENAME TO rewrites them. "
            + "Make them anew before '\(old)' is dropped, which breaks them and may delete rows that refer to it")
      }
      for view in try table.views(connection) {
        outcome.remarks.append("the view '\(view)' of the version reads '\(table.name)', and was not copied")
      }
      for index in try table.fullTextIndexes(connection) {
        let name = quoted(index, by: "\"")
        outcome.remarks.append(
          "the full-text index '\(index)' takes its rows from '\(table.name)' and does not know them yet: "
            + "INSERT INTO \(name)(\(name)) VALUES('rebuild')")
      }
    }
  }

  /// The version may have fewer rows than others refer to. Nobody else can write until all is committed, so a great table is
  /// not gone through to its end.
  private func remark(on child: String, referringTo table: TableSchema, until end: SuspendingClock.Instant) throws {
    let limited = watch.again()
    limited.whileWorking = { if SuspendingClock.now >= end { throw LookIsOver() } }
    connection.obey(limited)
    defer { connection.obey(watch) }
    var lost: [String] = []
    let look = "SELECT 1 FROM pragma_foreign_key_check(?, 'main') WHERE parent = ? COLLATE NOCASE"
    // Where the two do not match each other, SQLite finds nothing.
    try? connection.read(look, [child, table.name], limit: 1000, into: &lost)
    let isCut = limited.refusal != nil
    if isCut { try watch.check() }
    if !lost.isEmpty {
      tell(of: lost.count, mayBeMore: isCut || lost.count >= 1000, in: child, referringTo: "rows of '\(table.name)'")
    }
    guard isCut else { return }
    outcome.remarks.append(
      "'\(child)' refers to '\(table.name)', and not all of its rows were looked at, for whether they refer to rows that are "
        + "not there: PRAGMA foreign_key_check(\(quoted(child, by: "\""))) tells")
  }

  private func tell(of lost: Int, mayBeMore: Bool, in table: String, referringTo rows: String) {
    let isOne = lost == 1 && !mayBeMore
    outcome.remarks.append(
      "\(lost)\(mayBeMore ? " or more" : "") \(isOne ? "row" : "rows") of '\(table)' \(isOne ? "refers" : "refer") to \(rows) "
        + "that are not there")
  }
}

/// Ends a statement that has run long enough.
private struct LookIsOver: Error {}
