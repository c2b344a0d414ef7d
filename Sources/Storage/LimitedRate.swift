/// A line that carries so many bytes a second, shared by all who send over it.
///
/// Each object takes the line for as long as its bytes need at that rate, and starts when the one before it is
/// through. The mean over any longer time is the limit; how evenly one object's own bytes flow is the backend's
/// part (the HTTP client caps each transfer at the same rate).
package final class LimitedRate: Sendable {
  /// The least that a person may ask for. With less, a transfer that has had its share rests for so long that it cannot
  /// be told from one that stands still.
  package static let least = 1024

  package let bytesPerSecond: Int
  private let clock: StoreClock
  private let freeAt = Locked(Duration.zero)

  /// - Parameter bytesPerSecond: at least 1.
  package init(bytesPerSecond: Int, clock: StoreClock = .system) {
    precondition(bytesPerSecond > 0, "a line that carries nothing would wait for ever")
    self.bytesPerSecond = bytesPerSecond
    self.clock = clock
  }

  /// Waits for the line, then takes it for `bytes`.
  package func take(_ bytes: Int) async throws(StoreError) { try await clock.pause(reserve(bytes)) }

  /// Notes bytes whose number was not known before; those who come later wait for them.
  package func add(_ bytes: Int) { _ = reserve(bytes) }

  /// How long to wait before these bytes may flow.
  private func reserve(_ bytes: Int) -> Duration {
    let now = clock.now()
    return freeAt.withLock { freeAt in
      let start = max(now, freeAt)
      freeAt = start + .seconds(1) * (Double(bytes) / Double(bytesPerSecond))
      return start - now
    }
  }
}
