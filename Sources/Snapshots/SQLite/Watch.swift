import Platform

/// Says to a thread that it should stop, from any other. All that changes in it is behind its mutex.
final class StopSignal: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var raised = false

  init() {
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// - Returns: false where it was raised already.
  @discardableResult
  func raise() -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    defer { raised = true }
    return !raised
  }

  var isRaised: Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return raised
  }
}

/// Decides, many times a second and on the snapshot's own thread, whether the work goes on.
///
/// SQLite asks it from inside long statements and while it waits for a lock. A refusal is kept in `refusal`
/// with its reason, because all that SQLite can say then is "interrupted" or "busy".
final class Watch {
  private let stop: StopSignal
  private let busyTimeout: Duration
  /// By a clock that stands while the machine sleeps: whoever has the lock sleeps, too.
  private var lockWaitBegan = SuspendingClock.now
  /// Called now and then while a statement runs; may throw to end it.
  var whileWorking: () throws -> Void = {}
  /// Called when a wait for a lock is over, so that the clocks of a read transaction begin where it does.
  var afterLockWait: () -> Void = {}
  private(set) var refusal: (any Error)?

  init(_ stop: StopSignal, busyTimeout: Duration) {
    self.stop = stop
    self.busyTimeout = busyTimeout
  }

  /// Another one that heeds the same signal: what it refuses, this one does not.
  func again() -> Watch { Watch(stop, busyTimeout: busyTimeout) }

  func goesOn() -> Bool {
    guard refusal == nil else { return false }
    do {
      try check()
      try whileWorking()
      return true
    } catch {
      refusal = error
      return false
    }
  }

  /// Throws when the task was cancelled.
  func check() throws(SnapshotError) {
    if stop.isRaised { throw SnapshotError(.cancelled, "the snapshot was cancelled") }
  }

  /// Sleeps 1 to 25 ms, and says whether to try for the lock again.
  func waitsForLock(_ attempt: Int32) -> Bool {
    if attempt == 0 { lockWaitBegan = .now }
    guard SuspendingClock.now - lockWaitBegan < busyTimeout else { return false }
    if stop.isRaised {
      refusal = SnapshotError(.cancelled, "the snapshot was cancelled")
      return false
    }
    usleep(UInt32(min(25, 1 + attempt)) * 1000)
    afterLockWait()
    return true
  }
}
