import CSQLite

/// The tables with their rows, indexes and triggers.
extension TableCopyRun {
  /// Keys are sorted for it, which takes seconds for many rows.
  func lookAtRows(of tables: [TableSchema]) throws {
    // What is in the way is told without that, and once more when nobody can put anything there.
    try demandFree(tables)
    for table in tables {
      if let key = try table.repeatedKey(connection) {
        throw TableCopy.contradiction("UNIQUE constraint failed: \(key)")
      }
      let name = quoted(table.name, by: "\"")
      counted[table.name] = try connection.integer("SELECT count(*) FROM \(TableSchema.version).\(name) NOT INDEXED")
    }
    try request.afterLook()
  }

  func copy(_ table: TableSchema) throws {
    try connection.execute(table.sql)
    let columns = try table.storedColumns(connection)
    var names = columns.map { quoted($0, by: "\"") }
    var order = ""
    if !table.isWithoutRowID {
      if let rowID = try table.rowIDName(connection) {
        // Rows keep the numbers by which others may know them.
        names.insert(rowID, at: 0)
        order = " ORDER BY \(rowID)"
      } else {
        outcome.remarks.append(
          "'\(table.name)' has columns called rowid, oid and _rowid_: its row numbers are new ones")
      }
    }
    let list = names.joined(separator: ", ")
    let name = quoted(table.name, by: "\"")
    let rows: Int
    if request.dryRun {
      rows = counted[table.name] ?? 0
    } else {
      // No row takes another one's place, or is passed over, whatever the table's own ON CONFLICT says. An index may know
      // fewer rows than there are.
      try connection.execute(
        "INSERT OR ABORT INTO main.\(name)(\(list)) "
          + "SELECT \(list) FROM \(TableSchema.version).\(name) NOT INDEXED\(order)")
      rows = Int(sqlite3_changes64(connection.handle))
    }
    try keepSequence(of: table)
    var indexes: [String] = []
    for index in try table.indexes(connection) {
      try connection.execute(index.sql)
      indexes.append(index.name)
    }
    outcome.tables.append(TableCopy.Copied(table: table.name, rows: rows, indexes: indexes, triggers: []))
  }

  /// A number that was given away once is not given again. A table without AUTOINCREMENT may have a sequence, too, which
  /// nobody heeds: where the database has no table for it, none is needed.
  private func keepSequence(of table: TableSchema) throws {
    guard try connection.hasTable("sqlite_sequence", in: "main"),
      try connection.hasTable("sqlite_sequence", in: TableSchema.version),
      let sequence = try connection.rows(
        "SELECT seq FROM \(TableSchema.version).sqlite_sequence WHERE name = ?", [table.name], limit: 1
      ).first
    else { return }
    try connection.execute("DELETE FROM main.sqlite_sequence WHERE name = ?", table.name)
    try connection.execute(
      "INSERT INTO main.sqlite_sequence(name, seq) VALUES (?, CAST(? AS INTEGER))", table.name, sequence)
  }

  func makeTriggers(of table: TableSchema) throws -> [String] {
    var names: [String] = []
    for trigger in try table.triggers(connection) {
      try connection.execute(trigger.sql)
      names.append(trigger.name)
      // Whatever the trigger cannot find shows when a statement that it is for is prepared.
      if let complaint = try complaint(about: table) {
        outcome.remarks.append(
          "the trigger '\(trigger.name)' needs what \(request.database) does not have: \(complaint)")
      }
    }
    return names
  }

  private func complaint(about table: TableSchema) throws -> String? {
    let name = quoted(table.name, by: "\"")
    var statements = ["INSERT INTO main.\(name) DEFAULT VALUES", "DELETE FROM main.\(name)"]
    if let column = try table.storedColumns(connection).first.map({ quoted($0, by: "\"") }) {
      statements.append("UPDATE main.\(name) SET \(column) = \(column)")
    }
    for statement in statements {
      if let message = connection.complaint(preparing: statement) { return message }
    }
    return nil
  }
}
