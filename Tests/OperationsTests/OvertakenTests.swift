import Operations
import Snapshots
import Storage
import TestKit
import Testing

/// Between the copy and its turn at a target there may be hours: somebody else may have pushed there meanwhile.
@Suite struct OvertakenTests {
  private static let hour: Int64 = 3_600_000

  /// - Parameters:
  ///   - clock: what this machine's clock is ahead of the time while the copy is taken, in milliseconds.
  ///   - meanwhile: when the copy is taken, and has not been sent anywhere.
  private func push(
    _ road: Road, _ source: DatabaseSource, clock: Int64 = 0,
    meanwhile: @escaping @Sendable () async throws -> Void = {}
  ) async throws -> Push.Outcome {
    var push = Push(road.world)
    push.take = { [take = push.take] in
      var snapshot = try await take($0, $1)
      snapshot.takenAt += clock
      try await meanwhile()
      return snapshot
    }
    return try await push.run(Push.Request(database: source, targets: [road.target]))
  }

  private func versions(_ road: Road) -> Int {
    road.store.content.keys.count { $0.text.hasPrefix("versions/") }
  }

  @Test func `an older copy does not come to stand on a newer version`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let outcome = try await push(road, source) {
      try await road.change(source.path)
      let other = try await road.push(source)
      #expect(other.failures.isEmpty)
    }
    let error = try #require(outcome.failures.first?.error)
    #expect(error.kind == .pushInProgress && error.code == "overtaken")
    let out = road.scratch.file("out.db")
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(out))
    #expect(try await dump(out) == dump(source.path))
    #expect(versions(road) == 1)
    // The next one is of its own time.
    try await road.change(source.path)
    #expect(try await push(road, source).failures.isEmpty)
    #expect(versions(road) == 2)
  }

  @Test func `what is there already is no older copy`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let outcome = try await push(road, source) {
      let other = try await road.push(source)
      #expect(other.failures.isEmpty)
    }
    #expect(outcome.failures.isEmpty && outcome.pushed.first?.unchanged == true)
    #expect(versions(road) == 1)
  }

  /// Of a machine whose clock was ahead once, or that has just come up with the time of its last shutdown.
  @Test(arguments: [(hour, Int64(0)), (Int64(0), -hour)])
  func `a clock that was set keeps nobody from pushing`(before: Int64, now: Int64) async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    #expect(try await push(road, source, clock: before).failures.isEmpty)
    try await road.change(source.path)
    let outcome = try await push(road, source, clock: now)
    #expect(outcome.failures.isEmpty && outcome.pushed.first?.unchanged == false)
    #expect(versions(road) == 2)
  }

  @Test(arguments: [(-hour / 2, false), (-2 * hour, true)])
  func `a clock that went back by more than an hour is told`(clock: Int64, isTold: Bool) async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let first = try #require(try await push(road, source).pushed.first?.version)
    try await road.change(source.path)
    #expect(try await push(road, source, clock: clock).failures.isEmpty)
    let told = road.notices.said.withLock { $0 }.filter { $0.contains("set the clock") }
    #expect(told.count == (isTold ? 1 : 0) && told.allSatisfy { $0.contains(first.id.prefix(8)) }, "\(told)")
  }
}
