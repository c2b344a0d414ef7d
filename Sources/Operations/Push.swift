/// `sealift push`: one snapshot of one database, sealed for every target.
package struct Push: Sendable {
  package struct Request: Sendable {
    package var database: DatabaseSource
    package var targets: [TargetAccess]
    package var tags: [String] = []
    package var note = ""
    /// Takes the snapshot and counts what would be new; stores nothing.
    package var dryRun = false
    /// Make a version even when nothing changed (also implied by tags or a note of this push).
    package var force = false
    /// Ask an unchanged database's target once in so many milliseconds whether the newest version is still there.
    package var verifyRemoteEvery: UInt64 = 24 * 3600 * 1000

    package init(database: DatabaseSource, targets: [TargetAccess]) {
      self.database = database
      self.targets = targets
    }
  }

  package struct Pushed: Sendable {
    package var version: VersionSummary
    /// Nothing was stored: the newest version there already is this content.
    package var unchanged: Bool
    package var dryRun: Bool
  }

  /// What became of each target: some may have failed while the others are safe.
  package struct Outcome: Sendable {
    package var pushed: [Pushed]
    package var failures: [(target: String, error: OperationError)]
    /// Set when the database failed its own check: it was pushed all the same, flagged; exit status 13.
    package var damage: OperationError?
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Throws: what stops all targets alike: `.sourceUnreadable`, `.pushInProgress`, `.cancelled`. What stops one
  ///   target only is in the outcome.
  package func run(_ request: Request) async throws -> Outcome {
    throw OperationError(.failed, "not here yet")
  }
}
