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

  /// Waits for the line, and takes it for as long as so many bytes need. Where the work fails, what cannot have flowed is
  /// given back: nobody waits for a line that carries nothing.
  package func whileTaking<Value: Sendable>(
    _ bytes: Int, _ work: () async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    while let wait = begin(bytes) { try await clock.pause(min(wait, Self.longestWait)) }
    let began = clock.now()
    do throws(StoreError) {
      return try await work()
    } catch {
      let now = clock.now()
      let unused = max(.zero, duration(of: bytes) - (now - began))
      freeAt.withLock { $0 = max(now, $0 - unused) }
      throw error
    }
  }

  /// Notes bytes whose number was not known before; those who come later wait for them.
  package func add(_ bytes: Int) { freeAt.withLock { $0 = max(clock.now(), $0) + duration(of: bytes) } }

  /// The line may become free earlier: so often it is looked at again.
  private static let longestWait = Duration.seconds(5)

  /// - Returns: `nil` when these bytes may flow now; else how long the line is taken.
  private func begin(_ bytes: Int) -> Duration? {
    let now = clock.now()
    return freeAt.withLock { freeAt in
      guard freeAt <= now else { return freeAt - now }
      freeAt = now + duration(of: bytes)
      return nil
    }
  }

  private func duration(of bytes: Int) -> Duration { .seconds(1) * (Double(bytes) / Double(bytesPerSecond)) }
}
