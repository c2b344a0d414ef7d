/// Copies single tables of a finished image into another database, with their indexes and triggers, in one transaction.
package struct TableCopy: Sendable {
  package struct Copied: Sendable, Equatable {
    package var table: String
    package var rows: Int
    package var indexes: [String]
    package var triggers: [String]
  }

  package struct Outcome: Sendable {
    package var tables: [Copied] = []
    /// What the tables need and is not there, or was not copied.
    package var remarks: [String] = []
  }

  /// A private, finished image.
  package var image: String
  /// Real path of the database that gets them; applications may have it open.
  package var database: String
  package var tables: [String]
  package var busyTimeout: Duration
  /// Make the tables without their rows, and roll everything back in the end.
  package var dryRun = false
  /// Whether a folder that stands beside the database as a lock, or comes to, is none of SQLite's.
  package var isForeignLockFolder: @Sendable (_ database: String) -> Bool = { _ in false }
  /// How long rows of other tables are looked at: nobody else can write meanwhile.
  var longestLook: Duration = .seconds(5)
  /// In a rehearsal, called when the rows of the version were looked at; for tests.
  var afterLook: @Sendable () throws -> Void = {}
  /// Called before the commit; for tests.
  var beforeCommit: @Sendable () throws -> Void = {}

  package init(image: String, database: String, tables: [String], busyTimeout: Duration) {
    self.image = image
    self.database = database
    self.tables = tables
    self.busyTimeout = busyTimeout
  }

  /// - Throws: `.table` for one that is not there, is there already, or cannot be copied alone; `.reservedBytes`,
  ///   `.untrustedLocks`, `.busy`, `.cancelled` and whatever SQLite refuses. Nothing was changed then.
  package func run() async throws -> Outcome {
    try await onOwnThread { stop in
      let watch = Watch(stop, busyTimeout: busyTimeout)
      let wal = GrownWal(of: database)
      do {
        return try TableCopyRun(self, watch).run()
      } catch let failure as SQLiteFailure {
        throw watch.refusal ?? wal.told(with: explained(failure))
      }
    }
  }
}
