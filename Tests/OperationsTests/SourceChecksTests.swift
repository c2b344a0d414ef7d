import Glibc
import Operations
import Snapshots
import Storage
import TestKit
import Testing

/// What a vacuum hides is looked for in the live database itself: at its first push from a machine, and once a week.
@Suite struct SourceChecksTests {
  private static let hour: UInt64 = 3600 * 1000
  private static let day: UInt64 = 24 * hour

  /// Pushes so many milliseconds after now, whatever changed.
  /// - Returns: also whether the live database was to be checked.
  private func push(
    _ road: Road, _ path: String, after: UInt64 = 0, _ change: (inout Push.Request) -> Void = { _ in }
  ) async throws -> (outcome: Push.Outcome, isAsked: Bool) {
    var world = road.world
    world.now = { UInt64(time(nil)) * 1000 + after }
    let isAsked = Locked(false)
    var push = Push(world)
    push.take = { request, progress in
      if request.checksSource { isAsked.withLock { $0 = true } }
      return try await takeSnapshot(request, progress: progress)
    }
    var request = Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target])
    request.force = true
    change(&request)
    let outcome = try await push.run(request)
    #expect(outcome.failures.isEmpty)
    return (outcome, isAsked.withLock { $0 })
  }

  @Test(arguments: HiddenDamage.allCases)
  func `damage that a vacuum hides is flagged, and the database pushed as it is`(_ damage: HiddenDamage) async throws {
    let road = try await Road()
    let path = try road.database(rows: 500)
    try damage.inflict(on: path)
    // The next push finds it as well.
    for after in [0, Self.hour] {
      let outcome = try await push(road, path, after: after).outcome
      #expect(outcome.damage?.kind == .verificationFailed && outcome.damage?.code == "sourceDamaged")
      #expect(outcome.damage?.message.contains("found in the live database itself") == true)
      let version = try #require(outcome.pushed.first?.version)
      #expect(version.damaged && version.method == "pages")
    }
    let copy = road.scratch.file("copy.db")
    _ = try await Pull(road.world).run(.latest(database: nil), from: road.target, to: .file(copy))
    #expect(try fileBytes(copy) == fileBytes(path))
    let drilled = try await Drill(road.world).run(Drill.Request(), at: road.target).drilled
    #expect(drilled.map(\.hasPassed) == [false])
  }

  @Test func `a database is asked at its first push, a week after, and when its base is made anew`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 20)
    #expect(try await push(road, path).isAsked)
    #expect(try await !push(road, path, after: Self.hour).isAsked)
    #expect(try await !push(road, path, after: 7 * Self.day - Self.hour).isAsked)
    #expect(try await push(road, path, after: 7 * Self.day + Self.hour).isAsked)
    #expect(try await !push(road, path, after: 8 * Self.day).isAsked)
    let rebuilt = try await push(road, path, after: 8 * Self.day) { $0.rebuildBase = true }
    #expect(rebuilt.isAsked)
    // A clock that was put back, and a note that is lost.
    #expect(try await push(road, path).isAsked)
    #expect(try await !push(road, path, after: Self.hour).isAsked)
    try removeFile("\(road.world.stateFolder)/checks")
    #expect(try await push(road, path, after: Self.hour).isAsked)
  }

  @Test func `damage that came since the last look is found within a week`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 500)
    #expect(try await push(road, path).outcome.damage == nil)
    try HiddenDamage.lostChild.inflict(on: path)
    let version = try await push(road, path, after: Self.day).outcome.pushed.first?.version
    #expect(version?.damaged == false && version?.method == "vacuum")
    #expect(try await push(road, path, after: 8 * Self.day).outcome.damage != nil)
  }

  @Test func `a look that could not be taken is no damage, and is taken by the next push`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 20)
    var push = Push(road.world)
    push.take = { request, progress in
      var snapshot = try await takeSnapshot(request, progress: progress)
      snapshot.sourceCheck = .notCheckable("of the tester's making")
      return snapshot
    }
    let outcome = try await push.run(
      Push.Request(database: DatabaseSource(name: "app", path: path), targets: [road.target]))
    #expect(outcome.damage == nil && outcome.pushed.first?.version.damaged == false)
    #expect(road.notices.said.withLock { $0 }.contains { $0.contains("could not be checked this time") })
    #expect(try await self.push(road, path).isAsked)
  }
}
