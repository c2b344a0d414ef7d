import Sealing
import TestKit
import Testing

@testable import Operations
@testable import Repositories

/// Which drill `status` goes by, whatever clocks noted them.
@Suite struct DecidingDrillTests {
  /// A clock that is ahead of that of the shelf's world.
  private let ahead = Shelf.monday + 400 * Shelf.day

  /// What a status says after drills of an older version and of the newest one, each with the time that was noted.
  private func status(
    old: (passed: Bool, time: UInt64)?, newest: (passed: Bool, time: UInt64)?
  ) async throws -> (database: StatusOfDatabases.Database, versions: [VersionFacts]) {
    let shelf = try await Shelf()
    let versions = try await shelf.week(2)
    for (version, drill) in zip(versions, [old, newest]) {
      guard let (passed, time) = drill else { continue }
      let result = DrillResult(passed: passed, time: time, text: "text \(version.sequence)")
      try await shelf.repository.annotate(version, [result.item], now: time)
    }
    return (try #require(try await shelf.status().databases.first), versions)
  }

  @Test func `that the newest version failed is not swallowed by what was drilled or noted otherwise`() async throws {
    // By a clock that ran ahead, and before an older version passed.
    for time in [ahead, 77] {
      let (database, versions) = try await status(old: (true, 99), newest: (false, time))
      #expect(database.lastDrill?.version == versions[0].id.hex && database.lastDrill?.passed == true)
      #expect(database.failedDrill?.version == versions[1].id.hex && database.failedDrill?.text == "text 2")
      #expect(database.failedDrill?.time == time && !database.isSound)
    }
  }

  @Test func `where the newest version passed by a clock that ran ahead, an older one's failure is no alarm`()
    async throws
  {
    let (database, versions) = try await status(old: (false, 99), newest: (true, ahead))
    #expect(database.lastDrill?.version == versions[0].id.hex && database.lastDrill?.passed == false)
    #expect(database.decidingDrill?.version == versions[1].id.hex && database.failedDrill == nil)
    #expect(database.isSound)
  }

  @Test func `else the last drill decides`() async throws {
    let failed = try await status(old: (false, 99), newest: (true, 77))
    #expect(failed.database.failedDrill?.version == failed.versions[0].id.hex && !failed.database.isSound)
    let passed = try await status(old: (false, 77), newest: (true, 99))
    #expect(passed.database.decidingDrill?.version == passed.versions[1].id.hex && passed.database.isSound)
    // Both clocks ran ahead.
    let both = try await status(old: (false, ahead + 1), newest: (true, ahead))
    #expect(both.database.failedDrill?.version == both.versions[0].id.hex && !both.database.isSound)
    let older = try await status(old: (false, 99), newest: nil)
    #expect(older.database.failedDrill?.text == "text 1" && !older.database.isSound)
    let none = try await status(old: nil, newest: nil).database
    #expect(none.decidingDrill == nil && none.failedDrill == nil && none.isSound)
  }
}
