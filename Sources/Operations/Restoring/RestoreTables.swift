import Repositories
import Sealing
import Snapshots
import Storage

/// `sealift restore VERSION --table …`: single tables of a version into another database.
package struct RestoreTables: Sendable {
  package struct Request: Sendable {
    package var tables: [String]
    /// The database that gets them.
    package var database: String
    package var expect: [String] = []
    /// Try it, and take it back.
    package var dryRun = false
    package var busyTimeout: Duration = .seconds(30)

    package init(tables: [String], into database: String) {
      self.tables = tables
      self.database = database
    }
  }

  package struct Table: Sendable {
    package var name: String
    package var rows: Int
    package var indexes: [String]
    package var triggers: [String]
  }

  package struct Outcome: Sendable {
    package var version: VersionSummary
    package var path: String
    package var tables: [Table]
    package var dryRun: Bool
    /// What is told where the version came back damaged: the tables are what could be read of it.
    package var damage: OperationError?
    /// What is told where SQLite's files beside the database keep its owner out.
    package var shortfall: OperationError?
  }

  package var pull: Pull

  package init(_ pull: Pull) { self.pull = pull }

  package func run(_ selector: VersionSelector, from target: TargetAccess, _ request: Request) async throws -> Outcome {
    try await Restore(pull).told(target) {
      let path = try Restore.realPlace(of: request.database)
      try Restore(pull).demandInSight(path, tables: true)
      try ReplaceIntent(database: path).demandSettled()
      try Restore.demandDatabase(
        path, hint: "Name an existing database with --into; `sealift restore VERSION --to FILE` makes a new one.")
      let found = try await FoundVersion.find(selector, at: target, pull.world, expect: request.expect)
      guard found.isImage else {
        throw OperationError(
          .usage, code: "noImage", "the version is no SQLite database, and has no tables",
          hint: "Restore it as a file.")
      }
      let known = Self.areNoted(request.tables, of: found) ? request.tables : []
      // A rehearsal fetches it all the same: only then is known what its indexes and triggers meet, and all is told at once.
      let tables = request.dryRun ? [] : known
      try await tellingShortfall(of: path) { try await TableCopy.demandFree(tables, in: path) }
      if !request.dryRun { Restore(pull).tellOtherNames(of: path) }
      if !request.dryRun { try await Restore(pull).removeSecondNames(of: path, within: request.busyTimeout) }
      return try await pull.withPrivateImage(of: found) { spooled in
        var copy = TableCopy(
          image: spooled.file.temporaryPath, database: path, tables: request.tables, busyTimeout: request.busyTimeout)
        copy.dryRun = request.dryRun
        copy.isForeignLockFolder = { LockTrust.isShared($0) }
        let done = try await tellingShortfall(of: path) { [copy] in try await copy.run() }
        for remark in done.remarks + found.rowsAloneNotices { pull.world.reporter.notice(remark) }
        let copied = done.tables.map {
          Table(name: $0.table, rows: $0.rows, indexes: $0.indexes, triggers: $0.triggers)
        }
        return Outcome(
          version: found.summary, path: path, tables: copied, dryRun: request.dryRun,
          damage: pull.outcome(found, spooled, nil).damage, shortfall: Self.shortfall(of: path))
      }
    }
  }

  /// Whether the version has all of these tables for certain: for one that may lack some, nobody is told to make room,
  /// which costs indexes and triggers.
  private static func areNoted(_ tables: [String], of found: FoundVersion) -> Bool {
    let noted = Set(found.manifest.body.remarks.rows.map { $0.table.lowercased() })
    return tables.allSatisfy { noted.contains($0.lowercased()) }
  }

  /// Whoever cannot open the database because of them must hear it also where nothing is restored.
  private func tellingShortfall<Value>(of path: String, _ work: () async throws -> Value) async throws -> Value {
    do { return try await work() } catch {
      if let left = Self.shortfall(of: path) { pull.world.reporter.notice(left.message) }
      throw error
    }
  }

  private static func shortfall(of path: String) -> OperationError? {
    AppearedSideFile.shortfall(of: DatabaseSource(name: path, path: path))
  }
}
