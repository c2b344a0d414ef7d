import GRDB

extension DatabaseMigrator {
  /// The schema, step by step. What a release has shipped never changes; a new release adds a step at the end.
  static let notes: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("createNotes") { db in
      try db.create(table: "note") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("title", .text).notNull()
        table.column("body", .text).notNull()
        table.column("createdAt", .datetime).notNull()
      }
    }
    migrator.registerMigration("addUpdatedAt") { db in
      try db.alter(table: "note") { table in
        table.add(column: "updatedAt", .datetime).notNull().defaults(to: "1970-01-01 00:00:00.000")
      }
      try db.execute(sql: "UPDATE note SET updatedAt = createdAt")
    }
    return migrator
  }()

  /// The steps that this database still needs.
  /// - Throws: `Failure` with code `newerRelease` when a later release than this one has worked on it.
  func pending(_ db: Database) throws -> [String] {
    guard try !hasBeenSuperseded(db) else {
      throw Failure(
        .conflict, code: "newerRelease", "the database was made by a newer release of this server",
        hint: "Use that release, or restore a version that was pushed before the update.")
    }
    let applied = Set(try appliedMigrations(db))
    return migrations.filter { !applied.contains($0) }
  }

  /// Runs the steps that are needed, on the database's own queue.
  func migrate(waitingFor database: some DatabaseWriter) async throws {
    try await withCheckedThrowingContinuation { done in
      asyncMigrate(database) { result in done.resume(with: result.map { _ in }) }
    }
  }
}
