import Storage
import TestKit
import Testing

@testable import Operations

/// Collections, buckets and folders that are not there.
@Suite struct AbsentPlaceTests {
  /// The target of a road as it is when its place is gone.
  private func gone(_ road: Road, _ unlock: UnlockSecret = .keyFile([UInt8](repeating: 3, count: 64))) -> TargetAccess {
    let store = FaultyStore(road.store)
    for call in FaultyStore.Call.allCases {
      store.plan(call, .failure(StoreError(.noTarget, "there is no collection", hint: "Make it.")), times: 1000)
    }
    return TargetAccess(name: "memory", store: store, unlock: { unlock })
  }

  /// Counts how often it makes the place.
  private func maker(
    of target: TargetAccess, _ made: Locked<Int>, refusal: StoreError? = nil
  ) -> Initialize.Maker {
    Initialize.Maker {
      if let refusal { throw refusal }
    } make: {
      made.withLock { $0 += 1 }
      return target
    }
  }

  @Test func `where a repository was used, none is made and nobody is told to make one`() async throws {
    let road = try await Road()
    _ = try await road.push(DatabaseSource(name: "app", path: try road.database(rows: 20)))
    let used = try await OpenRepository(road.world).run(at: road.target)
    let listed = await #expect(throws: OperationError.self) { try await ListVersions(road.world).run(at: gone(road)) }
    #expect(listed?.kind == .noRepository && listed?.code == "noTarget" && listed?.message.contains(used) == true)
    #expect(listed?.hint?.contains("Mount the disk") == true)
    let made = Locked(0)
    let willing = maker(of: road.target, made)
    for ifMissing in [true, false] {
      let refused = await #expect(throws: OperationError.self) {
        try await Initialize(road.world).run(at: gone(road), ifMissing: ifMissing, maker: willing)
      }
      #expect(refused?.code == "rolledBack" && refused?.message.contains(used) == true)
    }
    #expect(made.withLock { $0 } == 0)
  }

  @Test func `a fresh place is made when nothing refuses any more, and left alone before`() async throws {
    let road = try await Road()
    road.store.content = [:]
    let made = Locked(0)
    let willing = maker(of: road.target, made)
    let initialize = Initialize(road.world)
    let short = await #expect(throws: OperationError.self) {
      try await initialize.run(at: gone(road, .keyFile([1, 2, 3])), ifMissing: false, maker: willing)
    }
    #expect(short?.kind == .usage)
    let blocked = maker(of: road.target, made, refusal: StoreError(.forbidden, "it could not be made"))
    let forbidden = await #expect(throws: OperationError.self) {
      try await initialize.run(at: gone(road), ifMissing: false, maker: blocked)
    }
    #expect(forbidden?.code == "forbidden")
    // Buckets are not made.
    let bucket = await #expect(throws: OperationError.self) {
      try await initialize.run(at: gone(road), ifMissing: false)
    }
    #expect(bucket?.code == "noTarget" && bucket?.kind == .noRepository)
    #expect(made.withLock { $0 } == 0 && road.store.content.isEmpty)
    #expect(try await initialize.run(at: gone(road), ifMissing: true, maker: willing).created)
    #expect(made.withLock { $0 } == 1 && !road.store.content.isEmpty)
  }
}
