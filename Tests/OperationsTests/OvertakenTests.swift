import Operations
import Storage
import TestKit
import Testing

/// Between the copy and its turn at a target there may be hours: somebody else may have pushed there meanwhile.
@Suite struct OvertakenTests {
  private func push(_ road: Road, _ source: DatabaseSource, clock: Int64 = 0, meanwhile: Bool) async throws
    -> Push.Outcome
  {
    var world = road.world
    world.now = { [now = world.now] in UInt64(Int64(now()) + clock) }
    var push = Push(world)
    push.take = { [take = push.take] in
      let snapshot = try await take($0, $1)
      guard meanwhile else { return snapshot }
      try await road.change(source.path)
      // The clock here counts seconds.
      try await Task.sleep(for: .milliseconds(20))
      #expect(try await road.push(source).failures.isEmpty)
      try await Task.sleep(for: .milliseconds(1100))
      return snapshot
    }
    return try await push.run(Push.Request(database: source, targets: [road.target]))
  }

  @Test func `an older copy does not come to stand on a newer version`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let outcome = try await push(road, source, meanwhile: true)
    let error = try #require(outcome.failures.first?.error)
    #expect(error.kind == .pushInProgress && error.code == "overtaken")
    let out = road.scratch.file("out.db")
    _ = try await Pull(road.world).run(.latest(database: "app"), from: road.target, to: .file(out))
    #expect(try await dump(out) == dump(source.path))
    #expect(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.count == 1)
    // The next one is of its own time.
    try await road.change(source.path)
    #expect(try await push(road, source, meanwhile: false).failures.isEmpty)
    #expect(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.count == 2)
  }

  /// What was pushed while the clock was wrong must not keep anybody from pushing until then.
  @Test func `a version of a time that is yet to come stops nobody`() async throws {
    let road = try await Road()
    let source = DatabaseSource(name: "app", path: try road.database(rows: 50))
    let outcome = try await push(road, source, clock: -3_600_000, meanwhile: true)
    #expect(outcome.failures.isEmpty && outcome.pushed.first?.unchanged == false)
  }
}
