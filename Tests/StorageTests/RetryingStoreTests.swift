import Storage
import TestKit
import Testing

@Suite struct RetryingStoreTests {
  private let clock = ManualClock()
  private let memory = MemoryStore()
  private let busy = StoreError(.unavailable, "busy", retry: .later(after: nil))
  private let name = ObjectName("packs/a")!

  private func retrying(_ base: any ObjectStore, tries: Int = 5, random: Double = 1) -> RetryingStore {
    var policy = RetryingStore.Policy()
    policy.tries = tries
    policy.firstPause = .seconds(1)
    policy.longestPause = .seconds(5)
    return RetryingStore(base, policy: policy, clock: clock.storeClock, random: { random })
  }

  @Test(arguments: FaultyStore.Call.allCases)
  func `every call is tried again until it succeeds`(_ call: FaultyStore.Call) async throws {
    let faulty = FaultyStore(memory)
    memory.content = [name: [1, 2, 3]]
    faulty.plan(call, .failure(busy), times: 3)
    let store = retrying(faulty)
    switch call {
    case .put: try await store.put(ObjectBody([4]), at: name, ifAbsent: false)
    case .get: #expect(try await store.get(name, range: 1..<2) == [2])
    case .head: #expect(try await store.head(name)?.size == 3)
    case .list: #expect(try await store.list(prefix: "packs/").count == 1)
    case .delete: try await store.delete(name)
    }
    #expect(faulty.count(call) == 4)
    #expect(faulty.unfiredFaults.isEmpty)
    #expect(clock.waits == [.seconds(1), .seconds(2), .seconds(4)])
  }

  @Test func `it gives up with the last error after its tries`() async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.get, .failure(busy), times: 4)
    faulty.plan(.get, .failure(StoreError(.throttled, "the last one", retry: .later(after: nil))))
    let error = await #expect(throws: StoreError.self) { _ = try await retrying(faulty).get(name, range: nil) }
    #expect(error?.message == "the last one")
    #expect(faulty.count(.get) == 5)
    #expect(clock.waits == [.seconds(1), .seconds(2), .seconds(4), .seconds(5)])
  }

  @Test(arguments: [1, 2])
  func `an answer without sense is asked for once more, at once`(failures: Int) async throws {
    let faulty = FaultyStore(memory)
    memory.content = [name: [1, 2, 3]]
    faulty.plan(.get, .failure(busy))
    faulty.plan(.get, .failure(StoreError(.badAnswer, "a page", retry: .once)), times: failures)
    let answer = try? await retrying(faulty).get(name, range: nil)
    #expect(answer == (failures == 1 ? [1, 2, 3] : nil))
    #expect(faulty.count(.get) == 3)
    #expect(clock.waits == [.seconds(1)])
  }

  @Test func `what cannot get better is not tried again`() async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.put, .failure(StoreError(.full, "no space")))
    let error = await #expect(throws: StoreError.self) {
      try await retrying(faulty).put(ObjectBody([]), at: name, ifAbsent: false)
    }
    #expect(error?.code == .full)
    #expect(faulty.count(.put) == 1)
    #expect(clock.waits.isEmpty)
  }

  @Test func `pauses are jittered fully, and a time named by the server is kept`() async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.list, .failure(busy))
    faulty.plan(.list, .failure(StoreError(.throttled, "slow down", retry: .later(after: .seconds(20)))))
    _ = try await retrying(faulty, random: 0.25).list(prefix: "")
    #expect(clock.waits == [.milliseconds(250), .milliseconds(20_500)])
  }

  @Test func `a server that asks for hours gets its error passed on`() async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.list, .failure(StoreError(.throttled, "tomorrow", retry: .later(after: .seconds(86_400)))))
    await #expect(throws: StoreError.self) { _ = try await retrying(faulty).list(prefix: "") }
    #expect(clock.waits.isEmpty)
  }

  /// `status` would have stood for half an hour.
  @Test func `a server that names a time again and again is not waited for each time`() async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.list, .failure(StoreError(.throttled, "later", retry: .later(after: .seconds(300)))), times: 2)
    await #expect(throws: StoreError.self) { _ = try await retrying(faulty).list(prefix: "") }
    #expect(faulty.count(.list) == 2)
    #expect(clock.waits == [.seconds(301)])
  }

  @Test(arguments: [false, true])
  func `a store that has answered may name a longer time, within the patience`(hasAnswered: Bool) async throws {
    let faulty = FaultyStore(memory)
    memory.content = [name: [1]]
    faulty.plan(.get, .failure(StoreError(.throttled, "later", retry: .later(after: .seconds(301)))))
    let store = retrying(faulty)
    if hasAnswered { _ = try await store.head(name) }
    let answer = try? await store.get(name, range: nil)
    let waits: [Duration] = hasAnswered ? [.seconds(302)] : []
    #expect(answer == (hasAnswered ? [1] : nil) && clock.waits == waits)
  }

  @Test func `one that names times beyond the patience is not waited for again`() async throws {
    let faulty = FaultyStore(memory)
    memory.content = [name: [1]]
    let store = retrying(faulty)
    _ = try await store.head(name)
    faulty.plan(.get, .failure(StoreError(.throttled, "later", retry: .later(after: .seconds(600)))), times: 3)
    for _ in 0..<2 { await #expect(throws: StoreError.self) { _ = try await store.get(name, range: nil) } }
    #expect(faulty.count(.get) == 3)
    #expect(clock.waits == [.seconds(601)])
  }

  /// A large object on a slow line.
  @Test func `how long a request is under way is no part of the times that a server names`() async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.put, .failure(StoreError(.throttled, "later", retry: .later(after: .seconds(1)))), times: 2)
    let store = retrying(SlowStore(base: faulty, clock: clock))
    try await store.put(ObjectBody([7]), at: name, ifAbsent: false)
    #expect(memory.content == [name: [7]])
    #expect(faulty.count(.put) == 3 && clock.waits == [.seconds(2), .seconds(3)])
  }

  @Test func `one that was not waited for as long as it named may still be waited for`() async throws {
    let faulty = FaultyStore(memory)
    memory.content = [name: [1]]
    let store = retrying(faulty)
    _ = try await store.head(name)
    faulty.plan(.get, .failure(busy))
    faulty.plan(.get, .failure(StoreError(.throttled, "later", retry: .later(after: .seconds(1200)))))
    await #expect(throws: StoreError.self) { _ = try await store.get(name, range: nil) }
    faulty.plan(.get, .failure(StoreError(.throttled, "later", retry: .later(after: .seconds(301)))))
    #expect(try await store.get(name, range: nil) == [1])
    #expect(clock.waits == [.seconds(1), .seconds(302)])
  }

  @Test func `an answer that was lost does not make a conditional put fail`() async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.put, .lostAnswer(busy))
    try await retrying(faulty).put(ObjectBody([7]), at: name, ifAbsent: true)
    #expect(memory.content == [name: [7]])
    #expect(faulty.count(.put) == 2)
  }

  @Test func `each retry is told, with its error and pause`() async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.delete, .failure(busy), times: 2)
    let told = Locked<[String]>([])
    let store = RetryingStore(faulty, clock: clock.storeClock, random: { 0.5 }) { retry in
      told.withLock { $0.append("\(retry.failures) \(retry.error.message) \(retry.pause)") }
    }
    try await store.delete(name)
    #expect(told.withLock { $0 } == ["1 busy 0.15 seconds", "2 busy 0.3 seconds"])
  }

  @Test(arguments: [false, true]) func `a cancelled task stops waiting`(hasAnswered: Bool) async throws {
    let faulty = FaultyStore(memory)
    faulty.plan(.get, .failure(busy), times: 100)
    var policy = RetryingStore.Policy()
    policy.firstPause = .seconds(600)
    policy.longestPause = .seconds(600)
    let store = RetryingStore(faulty, policy: policy, clock: .system, random: { 1 })
    if hasAnswered { _ = try await store.head(name) }
    let task = Task { try await store.get(name, range: nil) }
    #expect(try await eventually { faulty.count(.get) == 1 })
    task.cancel()
    let error = await #expect(throws: StoreError.self) { _ = try await task.value }
    #expect(error?.code == .cancelled)
    #expect(faulty.count(.get) == 1)
  }
}

/// Takes its time over each upload.
private struct SlowStore: ObjectStore {
  let base: FaultyStore
  let clock: ManualClock
  var traits: StoreTraits { base.traits }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    clock.advance(by: .seconds(1000))
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }

  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] { [] }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { nil }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { [] }
  func delete(_ name: ObjectName) async throws(StoreError) {}
}
