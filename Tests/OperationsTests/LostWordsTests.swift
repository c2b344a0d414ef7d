import Storage
import TestKit
import Testing

@testable import Operations
@testable import Repositories
@testable import Sealing

/// What was said of versions, and is lost at a target or cannot be read there: it leaves no gap, and nobody may take it for
/// never said.
@Suite struct LostWordsTests {
  private func holdBack(_ store: MemoryStore) {
    for name in store.content.keys where name.text.hasPrefix("notes/") { store.content[name] = nil }
  }

  private func spoil(_ store: MemoryStore) {
    for name in store.content.keys where name.text.hasPrefix("notes/") { store.content[name]?[100] ^= 1 }
  }

  /// One that has seen nothing yet.
  private func machine(_ road: Road, _ name: String = "fresh", like world: World? = nil) -> World {
    var world = world ?? road.world
    world.stateFolder = road.scratch.file(name)
    return world
  }

  // MARK: copies

  /// A version, and a copy of it that a drill found damaged.
  private func spoiltCopy() async throws -> (road: Road, other: TargetAccess, store: MemoryStore) {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 200))
    #expect(try await road.push(database).failures.isEmpty)
    let store = MemoryStore(location: "memory:other")
    let other = TargetAccess(name: "other", store: store, unlock: { .keyFile([UInt8](repeating: 9, count: 64)) })
    _ = try await Initialize(road.world).run(at: other, ifMissing: false)
    #expect(try await copy(road.world, road, to: other).copied.map(\.wasThere) == [false])
    let packs = store.content.filter { $0.key.text.hasPrefix("packs/") }
    let pack = try #require(packs.max { $0.value.count < $1.value.count }?.key)
    store.content[pack]?[5000] ^= 1
    #expect(try await Drill(road.world).run(Drill.Request(), at: other).drilled.first?.hasPassed == false)
    return (road, other, store)
  }

  private func copy(_ world: World, _ road: Road, to target: TargetAccess) async throws -> CopyVersions.Outcome {
    try await CopyVersions(world).run(CopyVersions.Request(), from: road.target, to: target)
  }

  @Test(arguments: [false, true])
  func `a copy that was found damaged is none where the word for it is held back, also where that was only read`(
    isOnlyRead: Bool
  ) async throws {
    let (road, other, store) = try await spoiltCopy()
    let world = isOnlyRead ? machine(road, "reader") : road.world
    let known = try await ListVersions(world).run(at: other).versions
    #expect(known.count == 1 && known.first?.foundDamaged != nil)
    holdBack(store)
    for wasThere in [false, true] {
      let outcome = try await copy(world, road, to: other)
      #expect(outcome.failures.map(\.error.code) == ["hole"], "\(outcome.failures)")
      #expect(outcome.failures.first?.error.kind == .verificationFailed)
      #expect(outcome.copied.map(\.wasThere) == [wasThere])
    }
    // It rests on nothing of what was damaged.
    let drilled = try await Drill(machine(road)).run(Drill.Request(), at: other).drilled
    #expect(drilled.map(\.hasPassed) == [true] && drilled.first?.version.sequence == 2)
  }

  @Test func `a copy tells of words at its destination that cannot be read`() async throws {
    let (road, other, store) = try await spoiltCopy()
    spoil(store)
    let outcome = try await copy(machine(road), road, to: other)
    #expect(outcome.failures.map(\.error.code) == ["damaged"], "\(outcome.failures)")
    #expect(outcome.failures.first?.error.message.contains("may say that a version is pinned") == true)
  }
}
