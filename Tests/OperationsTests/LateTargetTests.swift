import FoundationEssentials
import TestKit
import Testing

@testable import Operations

/// A target that comes to a database late has none of the bases that this machine keeps for the others. It gets deltas all
/// the same, once it has been sent everything.
@Suite struct LateTargetTests {
  private let road: Road
  private let database: DatabaseSource
  private let late: TargetAccess
  private let lateStore = MemoryStore(location: "memory:late")

  /// A database small enough for a version to need what it likes.
  init() async throws {
    road = try await Road()
    database = DatabaseSource(name: "orders", path: try road.orders(rows: 8000))
    let secret = UnlockSecret.keyFile([UInt8](repeating: 9, count: 64))
    late = TargetAccess(name: "late", store: lateStore, unlock: { secret })
    _ = try await Initialize(road.world).run(at: late, ifMissing: false)
  }

  private func change(_ turn: Int) throws {
    try SQLite.run("update t set tag = tag + 1 where (id * 7919 + \(turn)) % 100 = 0", on: database.path)
  }

  /// An anchor, a middle version that is worth a pack, and so many leaves.
  private func pushBefore(leaves: Int) async throws {
    _ = try await push(road.target)
    try SQLite.run("update t set body = hex(randomblob(20)) where id % 10 = 1", on: database.path)
    _ = try await push(road.target)
    let folder = BaseFolder.path(of: database, host: "host", road.world)
    try #require(FileManager.default.fileExists(atPath: "\(folder)/middle.db"))
    for turn in 0..<leaves {
      try change(turn)
      _ = try await push(road.target)
    }
  }

  /// - Returns: what is new at each target, in bytes.
  private func push(_ targets: TargetAccess...) async throws -> [Int] {
    let outcome = try await Push(road.world).run(Push.Request(database: database, targets: targets))
    try #require(outcome.failures.isEmpty && outcome.pushed.count == targets.count)
    return outcome.pushed.map(\.version.bytesNew)
  }

  private func expectRestored(from target: TargetAccess) async throws {
    let other = try Scratch()
    let out = other.file("out.db")
    _ = try await Pull(road.withoutState(other)).run(.latest(database: nil), from: target, to: .file(out))
    #expect(try await dump(out) == dump(database.path))
  }

  @Test func `a second target is sent everything, what changed once, and then deltas`() async throws {
    try await pushBefore(leaves: 2)
    var costs: [[Int]] = []
    for turn in 10..<14 {
      try change(turn)
      costs.append(try await push(road.target, late))
    }
    let whole = costs[0][1]
    #expect(whole > 300_000, "\(costs)")
    for cost in costs { #expect(cost[0] < whole / 3, "\(costs)") }
    for cost in costs[2...] { #expect(cost[1] < whole / 5, "\(costs)") }
    try await expectRestored(from: road.target)
    try await expectRestored(from: late)
  }

  @Test(arguments: [0, 2])
  func `a target in the place of another one is sent everything once`(leaves: Int) async throws {
    try await pushBefore(leaves: leaves)
    var costs: [Int] = []
    for turn in 10..<14 {
      try change(turn)
      costs += try await push(late)
    }
    #expect(costs[0] > 300_000, "\(costs)")
    for cost in costs[1...] { #expect(cost < costs[0] / 5, "\(costs)") }
    try await expectRestored(from: late)
  }

  /// Each in a run of its own, as by two timers: none takes the other's base away.
  @Test func `two targets in turn are sent everything once each`() async throws {
    try await pushBefore(leaves: 0)
    let whole = try await push(late)[0]
    for turn in 10..<13 {
      for target in [road.target, late] {
        try change(2 * turn + (target.name == "late" ? 1 : 0))
        let cost = try await push(target)[0]
        #expect(cost < whole / 3, "\(target.name), \(turn)")
      }
    }
    try await expectRestored(from: late)
  }
}
