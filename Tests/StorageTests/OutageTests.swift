import Storage
import TestKit
import Testing

/// Stores that have answered, and then do not.
@Suite struct OutageTests {
  private let clock = ManualClock()
  private let memory = MemoryStore()
  private let faulty: FaultyStore
  private let away = StoreError(.unavailable, "away", retry: .later(after: nil))
  private let name = ObjectName("packs/a")!

  init() {
    memory.content = [name: [1, 2, 3]]
    faulty = FaultyStore(memory)
  }

  /// Pauses of 1, 2, 4 and from then on 5 s: the fifth try is made after 12 s.
  private func store(
    patience: Duration = .seconds(60), outage: Outage = Outage(), clock: StoreClock? = nil,
    willRetry: @escaping @Sendable (RetryingStore.Retry) -> Void = { _ in }
  ) -> RetryingStore {
    var policy = RetryingStore.Policy()
    policy.tries = 5
    policy.patience = patience
    policy.firstPause = .seconds(1)
    policy.longestPause = .seconds(5)
    return RetryingStore(
      faulty, policy: policy, outage: outage, clock: clock ?? self.clock.storeClock, random: { 1 }, willRetry: willRetry
    )
  }

  private func read(_ store: RetryingStore) async -> StoreError? {
    do {
      _ = try await store.get(name, range: nil)
      return nil
    } catch { return error }
  }

  @Test(arguments: [StoreError.Code.unavailable, .throttled, .tls])
  func `a store that comes back in time has only been slow`(_ code: StoreError.Code) async throws {
    let store = store()
    _ = try await store.head(name)
    faulty.plan(.get, .failure(StoreError(code, "away", retry: .later(after: nil))), times: 14)
    #expect(await read(store) == nil)
    #expect(faulty.count(.get) == 15 && clock.now == .seconds(62))
  }

  @Test func `it is waited for as long as the patience lasts`() async throws {
    let store = store()
    _ = try await store.head(name)
    // How long nobody asked is no part of it.
    clock.advance(by: .seconds(7200))
    faulty.plan(.get, .failure(away), times: 15)
    #expect(await read(store)?.message == "away")
    #expect(faulty.count(.get) == 15 && clock.now == .seconds(7262))
  }

  @Test func `one that was waited for in vain gets its tries, until it is seen to come back`() async throws {
    let store = store()
    _ = try await store.head(name)
    faulty.plan(.get, .failure(away), times: 15)
    #expect(await read(store) != nil)
    // As what cleans up meets it, and the next database of the run.
    faulty.plan(.get, .failure(away), times: 5)
    #expect(await read(store) != nil)
    #expect(faulty.count(.get) == 20)
    // Other requests that succeed do not say that these would.
    _ = try await store.head(name)
    faulty.plan(.get, .failure(away), times: 5)
    #expect(await read(store) != nil)
    #expect(faulty.count(.get) == 25)
    clock.advance(by: .seconds(60))
    faulty.plan(.get, .failure(away), times: 2)
    #expect(await read(store) == nil)
    faulty.plan(.get, .failure(away), times: 10)
    #expect(await read(store) == nil)
    // The next day nobody asks how the night was.
    faulty.plan(.get, .failure(away), times: 15)
    #expect(await read(store) != nil)
    clock.advance(by: .seconds(60))
    _ = try await store.head(name)
    faulty.plan(.get, .failure(away), times: 10)
    #expect(await read(store) == nil)
    #expect(faulty.unfiredFaults.isEmpty)
  }

  @Test func `one that never answered, or is not to be waited for, gets its tries`() async throws {
    faulty.plan(.get, .failure(away), times: 5)
    #expect(await read(store()) != nil)
    #expect(faulty.count(.get) == 5)
    let impatient = store(patience: .zero)
    _ = try await impatient.head(name)
    faulty.plan(.get, .failure(away), times: 5)
    #expect(await read(impatient) != nil)
    #expect(faulty.count(.get) == 10 && faulty.unfiredFaults.isEmpty)
  }

  /// Hundreds of databases go to one dead target, and to others that are well.
  @Test func `one that was tried in vain is asked once for a while, and then with all tries again`() async throws {
    let outage = Outage()
    // Each database has its own store.
    for count in [5, 6, 7] {
      faulty.plan(.get, .failure(away), times: count == 5 ? 5 : 1)
      #expect(await read(store(outage: outage)) != nil)
      #expect(faulty.count(.get) == count && clock.now == .seconds(12))
    }
    // The time runs from the last of the tries, whatever was asked since.
    clock.advance(by: .seconds(30))
    faulty.plan(.get, .failure(away))
    #expect(await read(store(outage: outage)) != nil)
    #expect(faulty.count(.get) == 8)
    clock.advance(by: .seconds(30))
    faulty.plan(.get, .failure(away), times: 5)
    #expect(await read(store(outage: outage)) != nil)
    #expect(faulty.count(.get) == 13)
    // It is back, and then waited for.
    #expect(await read(store(outage: outage)) == nil)
    faulty.plan(.get, .failure(away), times: 10)
    #expect(await read(store(outage: outage)) == nil)
    #expect(faulty.unfiredFaults.isEmpty)
  }

  @Test func `a server that named times in vain is asked once for a while`() async throws {
    let store = store(patience: .seconds(600))
    faulty.plan(.get, .failure(StoreError(.throttled, "later", retry: .later(after: .seconds(200)))), times: 3)
    for count in [2, 3] {
      #expect(await read(store) != nil)
      #expect(faulty.count(.get) == count && clock.now == .seconds(201))
    }
  }

  /// It has ten minutes for each answer, and hundreds of databases go there.
  @Test func `a server that stores nothing is told of, and then sent each object once, whatever is read there`() async {
    let (outage, told) = (Outage(), Locked<[RetryingStore.Retry]>([]))
    let silent = StoreError(.unavailable, "silent", retry: .once)
    // Each database has its own store.
    func put() async -> StoreError? {
      let store = store(outage: outage) { retry in told.withLock { $0.append(retry) } }
      do {
        try await store.put(ObjectBody([7]), at: name, ifAbsent: false)
        return nil
      } catch { return error }
    }
    for count in [2, 3, 4] {
      faulty.plan(.put, .failure(silent), times: count == 2 ? 2 : 1)
      #expect(await put()?.message == "silent")
      #expect(faulty.count(.put) == count)
      #expect(await read(store(outage: outage)) == nil)
      clock.advance(by: .seconds(3600))
    }
    #expect(told.withLock { $0.map(\.failures) } == [1] && told.withLock { $0.map(\.pause) } == [.zero])
    // What makes no sense is asked for once more all the same.
    faulty.plan(.put, .failure(StoreError(.badAnswer, "a page", retry: .once)))
    #expect(await put() == nil)
    // It has stored something, and was told of nothing that took no time.
    faulty.plan(.put, .failure(silent))
    #expect(await put() == nil)
    #expect(told.withLock { $0.map(\.error.message) } == ["silent", "silent"])
    #expect(faulty.count(.put) == 8 && faulty.unfiredFaults.isEmpty && clock.waits.isEmpty)
  }

  /// There may be too much of one database in one place.
  @Test func `a listing that does not come is told of, and says nothing of other ones`() async throws {
    let told = Locked(0)
    let silent = StoreError(.unavailable, "silent", retry: .once)
    let store = store(willRetry: { _ in told.withLock { $0 += 1 } })
    faulty.plan(.list, .failure(silent), times: 4)
    for count in [2, 4] {
      await #expect(throws: StoreError.self) { _ = try await store.list(prefix: "") }
      #expect(faulty.count(.list) == count && told.withLock { $0 } == count / 2)
      clock.advance(by: .seconds(900))
    }
    faulty.plan(.put, .failure(silent), times: 2)
    await #expect(throws: StoreError.self) { try await store.put(ObjectBody([7]), at: name, ifAbsent: false) }
    #expect(faulty.count(.put) == 2)
    faulty.plan(.list, .failure(silent))
    #expect(try await store.list(prefix: "").count == 1)
    #expect(faulty.count(.list) == 6 && faulty.unfiredFaults.isEmpty)
  }

  @Test func `what makes no sense is not waited for`() async throws {
    let store = store()
    _ = try await store.head(name)
    faulty.plan(.get, .failure(StoreError(.badAnswer, "odd", retry: .later(after: nil))), times: 5)
    #expect(await read(store)?.code == .badAnswer)
    #expect(faulty.count(.get) == 5)
  }

  @Test func `an outage is one for all stores of a run at that target`() async throws {
    let outage = Outage()
    _ = try await store(outage: outage).head(name)
    faulty.plan(.get, .failure(away), times: 10)
    #expect(await read(store(outage: outage)) == nil)
  }

  @Test func `a request that fails alone is not made for ever`() async throws {
    let common = Outage()
    let living = store(outage: common)
    _ = try await living.head(name)
    let clock = clock
    let name = name
    // Somebody else succeeds in each pause.
    let busy = StoreClock(now: { clock.now }) { duration in
      try await clock.storeClock.wait(duration)
      _ = try await living.head(name)
    }
    faulty.plan(.get, .failure(away), times: 15)
    #expect(await read(store(outage: common, clock: busy)) != nil)
    #expect(faulty.count(.get) == 15)
  }

  @Test func `many that fail together all come through`() async throws {
    let store = store(patience: .seconds(1000))
    _ = try await store.head(name)
    faulty.plan(.get, .failure(away), times: 60)
    let name = name
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<6 {
        group.addTask {
          let read = try await store.get(name, range: 1..<2)
          #expect(read == [2])
        }
      }
      try await group.waitForAll()
    }
    #expect(faulty.count(.get) == 66)
  }

  @Test func `a long outage is told now and then`() async throws {
    let told = Locked<[Int]>([])
    let store = store(patience: .seconds(200)) { retry in told.withLock { $0.append(retry.failures) } }
    _ = try await store.head(name)
    faulty.plan(.get, .failure(away), times: 100)
    #expect(await read(store) != nil)
    // The first tries, and then one a minute: after 72, 132 and 192 s.
    #expect(told.withLock { $0 } == [1, 2, 3, 4, 5, 17, 29, 41])
  }

  @Test func `requests that fail side by side are told of once`() async throws {
    let told = Locked<[Int]>([])
    // All of it within one moment.
    let still = StoreClock(now: { .zero }, wait: { _ in await Task.yield() })
    let store = store(patience: .zero, clock: still) { retry in told.withLock { $0.append(retry.failures) } }
    faulty.plan(.get, .failure(away), times: 30)
    let name = name
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<6 {
        group.addTask { await #expect(throws: StoreError.self) { _ = try await store.get(name, range: nil) } }
      }
    }
    #expect(faulty.count(.get) == 30)
    // Each of the six has its five tries, the last of which is no retry.
    #expect(told.withLock { $0 } == [1, 2, 3, 4])
    // It is there again, and then it is not.
    #expect(await read(store) == nil)
    faulty.plan(.get, .failure(away))
    #expect(await read(store) == nil)
    #expect(told.withLock { $0 } == [1, 2, 3, 4, 1])
  }
}
