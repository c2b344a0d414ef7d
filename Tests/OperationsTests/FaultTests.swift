import Operations
import Storage
import TestKit
import Testing

/// Fails the N-th call to the store, for every N until a push passes: SQLite's way of testing.
@Suite struct FaultTests {
  @Test(arguments: [FaultAt.Effect.refused, .appliedButUnanswered])
  func `whichever call fails, what was acknowledged restores`(effect: FaultAt.Effect) async throws {
    let road = try await Road()
    let source = try road.database(rows: 300)
    let database = DatabaseSource(name: "app", path: source)
    let first = try await road.push(database).pushed[0].version
    try await road.change(source)
    let start = road.store.content
    var faults = 0
    for call in 1... {
      road.store.content = start
      let fresh = try Scratch()
      defer { withExtendedLifetime(fresh) {} }
      let world = road.withoutState(fresh)
      let faulty = FaultAt(road.store, call: call, effect: effect)
      let target = TargetAccess(name: "memory", store: faulty, unlock: road.target.unlock)
      let outcome = try await Push(world).run(Push.Request(database: database, targets: [target]))
      if !faulty.fired { break }
      faults += 1
      #expect(outcome.pushed.isEmpty, "call \(call) failed, and the push said it had succeeded")

      let again = try await Push(world).run(Push.Request(database: database, targets: [road.target]))
      let acknowledged = try #require(again.pushed.first?.version)
      let out = try Scratch()
      for (version, name) in [(first.id, "first"), (acknowledged.id, "second")] {
        _ = try await Pull(world).run(.id(prefix: version), from: road.target, to: .file(out.file(name)))
      }
      #expect(try await dump(out.file("second")) == dump(source))
      let list = try await ListVersions(world).run(at: road.target)
      #expect(list.problems.isEmpty)
    }
    #expect(faults > 8)
  }
}

/// A store whose N-th call goes wrong.
final class FaultAt: ObjectStore {
  enum Effect: Sendable {
    case refused
    /// A put or delete was done, but the answer got lost.
    case appliedButUnanswered
  }

  private let base: MemoryStore
  private let left: Locked<Int>
  private let effect: Effect
  let traits: StoreTraits

  init(_ base: MemoryStore, call: Int, effect: Effect) {
    self.base = base
    left = Locked(call)
    self.effect = effect
    traits = base.traits
  }

  var fired: Bool { left.withLock { $0 <= 0 } }

  private func isDue() -> Bool {
    left.withLock { left in
      left -= 1
      return left == 0
    }
  }

  private func fault() -> StoreError { StoreError(.unavailable, "the connection was cut") }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    let due = isDue()
    if due, effect == .refused { throw fault() }
    try await base.put(body, at: name, ifAbsent: ifAbsent)
    if due { throw fault() }
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    if isDue() { throw fault() }
    return try await base.get(name, range: range)
  }

  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    if isDue() { throw fault() }
    return try await base.head(name)
  }

  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    if isDue() { throw fault() }
    return try await base.list(prefix: prefix)
  }

  func delete(_ name: ObjectName) async throws(StoreError) {
    if isDue() { throw fault() }
    try await base.delete(name)
  }
}
