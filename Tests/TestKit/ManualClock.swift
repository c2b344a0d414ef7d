package import Storage

/// Time that passes only when somebody waits for it; every wait is noted.
package final class ManualClock: Sendable {
  private struct State {
    var now = Duration.zero
    var waits: [Duration] = []
  }

  private let state = Locked(State())

  package init() {}

  package var storeClock: StoreClock {
    StoreClock(now: { self.now }) { duration in
      try Task.checkCancellation()
      self.state.withLock { state in
        state.now += duration
        state.waits.append(duration)
      }
    }
  }

  package var now: Duration { state.withLock { $0.now } }
  /// All waits so far, in order.
  package var waits: [Duration] { state.withLock { $0.waits } }

  package func advance(by duration: Duration) { state.withLock { $0.now += duration } }
}
