import Storage
import TestKit
import Testing

@Suite struct ThrottledStoreTests {
  private let name = ObjectName("packs/a")!

  @Test func `no more requests than allowed are under way`() async throws {
    let crowd = CrowdedStore()
    let store = ThrottledStore(crowd, concurrency: 3)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<40 { group.addTask { try await store.delete(name) } }
      try await group.waitForAll()
    }
    #expect(crowd.seen.withLock { $0.most } == 3)
    #expect(crowd.seen.withLock { $0.now } == 0)
  }

  @Test func `a task cancelled in the queue leaves it, and the others go on`() async throws {
    let limit = ConcurrencyLimit(1)
    let held = Gate()
    let first = Task { try await limit.withPlace { () async throws(StoreError) in await held.wait() } }
    await held.reached()
    let waiting = Task { try await limit.withPlace { () async throws(StoreError) in Issue.record("it ran") } }
    let next = Task { try await limit.withPlace { () async throws(StoreError) in 7 } }
    waiting.cancel()
    let error = await #expect(throws: StoreError.self) { try await waiting.value }
    #expect(error?.code == .cancelled)
    held.open()
    try await first.value
    #expect(try await next.value == 7)
  }

  @Test func `uploads take the line for as long as their bytes need`() async throws {
    let clock = ManualClock()
    let rate = LimitedRate(bytesPerSecond: 1000, clock: clock.storeClock)
    let store = ThrottledStore(MemoryStore(), upload: rate)
    for _ in 0..<4 { try await store.put(ObjectBody([UInt8](repeating: 1, count: 2000)), at: name, ifAbsent: false) }
    #expect(clock.waits == [.seconds(2), .seconds(2), .seconds(2)])
    clock.advance(by: .seconds(10))
    try await store.put(ObjectBody([1]), at: name, ifAbsent: false)
    #expect(clock.waits.count == 3)
  }

  @Test func `a try that fails leaves the line to the next`() async throws {
    let clock = ManualClock()
    let rate = LimitedRate(bytesPerSecond: 1000, clock: clock.storeClock)
    let faulty = FaultyStore(MemoryStore())
    faulty.plan(.put, .failure(StoreError(.unavailable, "cut")))
    let store = ThrottledStore(faulty, upload: rate)
    let body = ObjectBody([UInt8](repeating: 1, count: 20_000))
    await #expect(throws: StoreError.self) { try await store.put(body, at: name, ifAbsent: false) }
    try await store.put(body, at: name, ifAbsent: false)
    #expect(clock.waits.isEmpty)
    // What flowed counts, and the line is looked at again now and then.
    try await store.put(body, at: name, ifAbsent: false)
    #expect(clock.waits == [.seconds(5), .seconds(5), .seconds(5), .seconds(5)])
  }

  @Test func `downloads count what came, and ranges before they come`() async throws {
    let clock = ManualClock()
    let memory = MemoryStore()
    memory.content = [name: [UInt8](repeating: 1, count: 3000)]
    let rate = LimitedRate(bytesPerSecond: 1000, clock: clock.storeClock)
    let store = ThrottledStore(memory, download: rate)
    _ = try await store.get(name, range: nil)
    _ = try await store.get(name, range: 0..<500)
    _ = try await store.get(name, range: nil)
    #expect(clock.waits == [.seconds(3), .milliseconds(500)])
  }

  @Test func `a read-only store reads and changes nothing`() async throws {
    let memory = MemoryStore()
    memory.content = [name: [5]]
    let store = ReadOnlyStore(memory)
    #expect(try await store.get(name, range: nil) == [5])
    #expect(try await store.head(name)?.size == 1)
    #expect(try await store.list(prefix: "").count == 1)
    for change in [
      { () async throws in try await store.put(ObjectBody([6]), at: name, ifAbsent: false) },
      { () async throws in try await store.delete(name) },
    ] {
      let error = await #expect(throws: StoreError.self) { try await change() }
      #expect(error?.code == .forbidden)
    }
    #expect(memory.content == [name: [5]])
  }

  @Test func `a tally counts calls and bytes, and failures apart`() async throws {
    let faulty = FaultyStore(MemoryStore())
    faulty.plan(.get, .failure(StoreError(.unavailable, "cut")))
    let last = Locked(Tally())
    let store = TallyingStore(faulty) { tally in last.withLock { $0 = tally } }
    try await store.put(ObjectBody([1, 2, 3]), at: name, ifAbsent: false)
    await #expect(throws: StoreError.self) { _ = try await store.get(name, range: nil) }
    _ = try await store.get(name, range: 1..<3)
    _ = try await store.head(name)
    _ = try await store.list(prefix: "")
    try await store.delete(name)
    var expected = Tally()
    (expected.puts, expected.gets, expected.heads, expected.lists, expected.deletes) = (1, 1, 1, 1, 1)
    (expected.failures, expected.bytesUp, expected.bytesDown) = (1, 3, 2)
    #expect(store.tally == expected)
    #expect(last.withLock { $0 } == expected)
    #expect(expected.calls == 6)
  }
}

/// Notes how many deletions were under way at once.
private struct CrowdedStore: ObjectStore {
  let seen = Locked((now: 0, most: 0))
  var traits: StoreTraits { StoreTraits(location: "crowd:", concurrency: 100, conditionalPut: false) }

  func delete(_ name: ObjectName) async throws(StoreError) {
    seen.withLock { seen in
      seen.now += 1
      seen.most = max(seen.most, seen.now)
    }
    try? await Task.sleep(for: .milliseconds(1))
    seen.withLock { $0.now -= 1 }
  }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {}
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] { [] }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { nil }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { [] }
}

/// Holds a task up until it is opened.
private final class Gate: Sendable {
  private let state = Locked((reached: false, open: false))
  func wait() async {
    state.withLock { $0.reached = true }
    while !state.withLock({ $0.open }) { await Task.yield() }
  }
  func reached() async { while !state.withLock({ $0.reached }) { await Task.yield() } }
  func open() { state.withLock { $0.open = true } }
}
