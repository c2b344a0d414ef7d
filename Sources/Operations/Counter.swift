import Storage

/// A sum that several tasks add to.
final class Counter: Sendable {
  private let total = Locked(0)

  /// Adds and returns the new total.
  func add(_ count: Int) -> Int {
    total.withLock { total in
      total += count
      return total
    }
  }
}
