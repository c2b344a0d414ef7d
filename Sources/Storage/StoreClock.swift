/// Time as the wrappers see it: how much has passed, and a way to wait. Tests put their own in its place.
package struct StoreClock: Sendable {
  /// Time since some fixed moment; never runs backwards.
  package let now: @Sendable () -> Duration
  /// Throws only when the task was cancelled.
  package let wait: @Sendable (Duration) async throws -> Void

  package init(now: @escaping @Sendable () -> Duration, wait: @escaping @Sendable (Duration) async throws -> Void) {
    self.now = now
    self.wait = wait
  }

  /// The machine's own.
  package static let system: StoreClock = {
    // A machine that sleeps waits for nobody.
    let start = SuspendingClock.now
    return StoreClock(now: { SuspendingClock.now - start }, wait: { try await Task.sleep(for: $0) })
  }()

  /// - Throws: `.cancelled` when the task was cancelled.
  package func pause(_ duration: Duration) async throws(StoreError) {
    guard duration > .zero else { return }
    do { try await wait(duration) } catch { throw StoreError(.cancelled, "the work was cancelled while it waited") }
  }
}
