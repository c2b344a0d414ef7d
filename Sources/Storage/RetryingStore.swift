/// Repeats what the store below says may be repeated, and gives up in the end with the last error.
///
/// Pauses grow exponentially with full jitter (a random part of the pause, from nothing to all of it), so that
/// many clients that failed together do not come back together. A time named by the server is kept.
package struct RetryingStore: ObjectStore {
  package struct Policy: Sendable {
    /// How often a request is made in all, at least once.
    package var tries = 8
    /// The longest first pause; each next one may be twice as long.
    package var firstPause = Duration.milliseconds(300)
    package var longestPause = Duration.seconds(30)
    /// A server that asks for more patience than this gets its error passed on.
    package var longestServerPause = Duration.seconds(300)

    package init() {}
  }

  /// What a person may want to hear about a failed try.
  package struct Retry: Sendable {
    package let error: StoreError
    /// 1 after the first failure.
    package let failures: Int
    package let pause: Duration
  }

  private let base: any ObjectStore
  private let policy: Policy
  private let clock: StoreClock
  private let random: @Sendable () -> Double
  private let willRetry: @Sendable (Retry) -> Void

  /// - Parameter random: a number in 0..<1, drawn for each pause.
  package init(
    _ base: any ObjectStore, policy: Policy = Policy(), clock: StoreClock = .system,
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    willRetry: @escaping @Sendable (Retry) -> Void = { _ in }
  ) {
    self.base = base
    self.policy = policy
    self.clock = clock
    self.random = random
    self.willRetry = willRetry
  }

  package var traits: StoreTraits { base.traits }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await persist { () async throws(StoreError) in try await base.put(body, at: name, ifAbsent: ifAbsent) }
  }

  package func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    try await persist { () async throws(StoreError) in try await base.get(name, range: range) }
  }

  package func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? {
    try await persist { () async throws(StoreError) in try await base.head(name) }
  }

  package func list(prefix: String) async throws(StoreError) -> [ObjectInfo] {
    try await persist { () async throws(StoreError) in try await base.list(prefix: prefix) }
  }

  package func delete(_ name: ObjectName) async throws(StoreError) {
    try await persist { () async throws(StoreError) in try await base.delete(name) }
  }

  private func persist<Answer>(_ request: () async throws(StoreError) -> Answer) async throws(StoreError) -> Answer {
    var failures = 0
    while true {
      do {
        return try await request()
      } catch {
        failures += 1
        guard let pause = pause(after: error, failures: failures) else { throw error }
        willRetry(Retry(error: error, failures: failures, pause: pause))
        try await clock.pause(pause)
      }
    }
  }

  /// `nil` when trying again is of no use, or was tried often enough.
  private func pause(after error: StoreError, failures: Int) -> Duration? {
    guard case .later(let named) = error.retry, failures < policy.tries else { return nil }
    var ceiling = policy.firstPause
    for _ in 1..<failures where ceiling < policy.longestPause { ceiling *= 2 }
    let jittered = min(ceiling, policy.longestPause) * random()
    guard let named else { return jittered }
    return named <= policy.longestServerPause ? max(named, .zero) + jittered : nil
  }
}
