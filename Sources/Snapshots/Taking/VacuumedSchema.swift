import CSQLite

// VACUUM makes each table and index by running its text in the schema again, and passes over a text that does not begin with
// the letters CRE without a word; to read a schema, SQLite takes them in any case. So an entry that was edited
// (writable_schema), or that another program than SQLite wrote, can stand for a table that works, and a vacuumed copy has
// nothing of it: no rows, no index, and no check misses them. CREATE TEMP TABLE makes a table that the copy does not keep.
// The entries of views, triggers and virtual tables are copied as they are, whatever they say. What is done
// about it: Docs/Decisions/0037.

extension Connection {
  /// Why a vacuum would lose a table or an index; nil where the entry of each begins as SQLite itself writes it.
  func lossByVacuum() throws(SQLiteFailure) -> String? {
    let question = """
      SELECT name FROM sqlite_schema WHERE rootpage > 0 AND sql <> '' AND NOT (
        type = 'table' AND sql GLOB 'CREATE TABLE *'
        OR type = 'index' AND (sql GLOB 'CREATE INDEX *' OR sql GLOB 'CREATE UNIQUE INDEX *'))
      """
    guard let name = try rows(question, limit: 1).first else { return nil }
    return "a vacuum would leave out '\(name)', whose entry in the schema does not begin as SQLite writes it"
  }
}

/// The tables and indexes of a schema that have pages of their own.
struct StoredEntries {
  private let names: Set<String>
  private let schemaVersion: UInt32

  init(_ connection: Connection) throws(SQLiteFailure) {
    schemaVersion = UInt32(truncatingIfNeeded: try connection.integer("PRAGMA schema_version"))
    // The last table with AUTOINCREMENT takes sqlite_sequence with it. In an entry a name may have another case than in its
    // text.
    names = Set(
      try connection.rows(
        "SELECT type || ' ' || lower(name) FROM sqlite_schema WHERE rootpage > 0 AND name <> 'sqlite_sequence'",
        limit: .max))
  }

  /// Why a vacuumed copy must not be taken: it lacks something, whatever the reason. Nil also where the schema was changed
  /// after it was looked at here: a vacuum counts one up from the version that it has copied.
  func loss(in copy: StoredEntries) -> String? {
    guard copy.schemaVersion == schemaVersion &+ 1, let name = names.symmetricDifference(copy.names).min() else {
      return nil
    }
    return "a vacuum does not give the same tables and indexes (\(name))"
  }
}
