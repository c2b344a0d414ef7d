/// Repeats what the store below says may be repeated, and gives up in the end with the last error.
///
/// A store that has answered before and now does not is waited for: by time, and not by tries, which are over in half a
/// minute (see `Outage`). Everything else gets its tries.
///
/// Pauses grow exponentially with full jitter (a random part of the pause, from nothing to all of it), so that
/// many clients that failed together do not come back together. A time named by the server is kept, within bounds.
package struct RetryingStore: ObjectStore {
  package struct Policy: Sendable {
    /// How often a request is made in all, at least once, where nothing is to be waited for. Once, where within `patience`
    /// before it another one had all its tries in vain.
    package var tries = 8
    /// How long a store that has answered is waited for, from the first failure after its last success; and how long a
    /// request is repeated at most while others succeed. The last pause and the last try may go beyond it.
    package var patience = Duration.seconds(15 * 60)
    /// The longest first pause; each next one may be twice as long.
    package var firstPause = Duration.milliseconds(300)
    package var longestPause = Duration.seconds(30)
    /// How long one request goes on in all where the server names the times: it may do so again and again. `patience`,
    /// where that is longer and the store has answered. A server that asks for more gets its error passed on.
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
  private let outage: Outage
  private let clock: StoreClock
  private let random: @Sendable () -> Double
  private let willRetry: @Sendable (Retry) -> Void

  /// - Parameters:
  ///   - outage: shared by all stores of one run at the same target, so that it is waited for once.
  ///   - random: a number in 0..<1, drawn for each pause.
  ///   - willRetry: told of the first failures, as many as there are tries, once where several requests fail side by side,
  ///     and of one a minute while an outage lasts.
  package init(
    _ base: any ObjectStore, policy: Policy = Policy(), outage: Outage = Outage(), clock: StoreClock = .system,
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    willRetry: @escaping @Sendable (Retry) -> Void = { _ in }
  ) {
    self.base = base
    self.policy = policy
    self.outage = outage
    self.clock = clock
    self.random = random
    self.willRetry = willRetry
  }

  package var traits: StoreTraits { base.traits }

  package func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await persist(isStoring: true) { () async throws(StoreError) in
      try await base.put(body, at: name, ifAbsent: ifAbsent)
    }
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

  /// What one request has met until now.
  private struct Trouble {
    /// How often it is made where the store is not waited for.
    let tries: Int
    let isStoring: Bool
    var failures = 0
    /// Answers that make no sense and may be better next time: no outage, however often they come.
    var oddities = 0
    /// An answer was doubted.
    var isDoubted = false
    /// When it failed for the first time.
    var began: Duration?
    /// The store has answered, so it is waited for.
    var isAwaited = false
    /// What it was waited for times that the server named.
    var named = Duration.zero
  }

  private func persist<Answer>(
    isStoring: Bool = false, _ request: () async throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    let isHopeless = outage.wasTriedInVain(within: policy.patience, at: clock.now())
    var trouble = Trouble(tries: isHopeless ? 1 : policy.tries, isStoring: isStoring)
    while true {
      do {
        let answer = try await request()
        outage.succeeded(at: clock.now(), hadFailed: trouble.failures > 0, patience: policy.patience)
        if isStoring { outage.stored() }
        return answer
      } catch {
        if error.retry == .once {
          guard mayDoubt(error, &trouble) else { throw error }
          continue
        }
        guard let pause = pause(after: error, &trouble) else { throw error }
        tell(of: error, trouble, pause)
        try await clock.pause(pause)
      }
    }
  }

  private func tell(of error: StoreError, _ trouble: Trouble, _ pause: Duration) {
    guard outage.isNews(trouble.failures, at: clock.now(), first: policy.tries) else { return }
    willRetry(Retry(error: error, failures: trouble.failures, pause: pause))
  }

  /// What made no sense is asked for once more, at once. So is what had no answer in all the time that there is for one: that
  /// took minutes, and is told. Who stored nothing both times is not waited for twice again, until something is stored.
  private func mayDoubt(_ error: StoreError, _ trouble: inout Trouble) -> Bool {
    let isSilence = error.code.isOutage
    let isKnown = isSilence && trouble.isStoring && outage.storesNothing
    guard !trouble.isDoubted, !isKnown else {
      if isSilence, trouble.isStoring { outage.storedInVain() }
      return false
    }
    trouble.isDoubted = true
    if isSilence {
      trouble.failures += 1
      tell(of: error, trouble, .zero)
    }
    return true
  }

  /// `nil` when trying again is of no use, or was tried for long enough.
  private func pause(after error: StoreError, _ trouble: inout Trouble) -> Duration? {
    guard case .later(let named) = error.retry, mayGoOn(after: error, &trouble) else { return nil }
    var ceiling = policy.firstPause
    for _ in 1..<trouble.failures where ceiling < policy.longestPause { ceiling *= 2 }
    let jittered = min(ceiling, policy.longestPause) * random()
    guard let named else { return jittered }
    let wanted = max(named, .zero)
    return mayWait(for: wanted, &trouble) ? wanted + jittered : nil
  }

  /// How long the request itself is under way is no part of it: a large object takes its time, each time.
  private func mayWait(for wanted: Duration, _ trouble: inout Trouble) -> Bool {
    let most = trouble.isAwaited ? max(policy.longestServerPause, policy.patience) : policy.longestServerPause
    guard trouble.named + wanted <= most else {
      if trouble.isAwaited, trouble.named > .zero { outage.giveUp(at: clock.now()) }
      if !trouble.isAwaited, trouble.named > .zero { outage.triedInVain(at: clock.now()) }
      return false
    }
    trouble.named += wanted
    return true
  }

  private func mayGoOn(after error: StoreError, _ trouble: inout Trouble) -> Bool {
    trouble.failures += 1
    guard error.code.isOutage else {
      trouble.oddities += 1
      return trouble.oddities < policy.tries
    }
    let now = clock.now()
    let own = trouble.began ?? now
    trouble.began = own
    // Noted in any case: the time runs from the first failure, not from the last of the tries.
    let common = outage.failed(at: now)
    trouble.isAwaited = common != nil
    if trouble.failures < trouble.tries { return true }
    guard let common else {
      // A single try says nothing new: after the patience one request has all its tries again.
      if trouble.failures >= policy.tries { outage.triedInVain(at: now) }
      return false
    }
    // Who fails alone while others succeed has no outage before it, and does not go on for ever either.
    if now - min(own, common) < policy.patience { return true }
    outage.giveUp(at: now)
    return false
  }
}

extension StoreError.Code {
  /// Network or server may be away. A handshake that failed at a store which has answered is that, too: what is wrong
  /// with certificates is not said to get better.
  fileprivate var isOutage: Bool { [.unavailable, .throttled, .tls].contains(self) }
}
