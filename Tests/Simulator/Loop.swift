import Glibc

/// Runs every task of this process on one thread, in the order in which they become ready: nothing else decides who goes on.
///
/// The tasks of the code under test are unstructured, detached, grouped; what they have in common is the global executor, and
/// the runtime lets one function take its place. When nothing is ready any more, every task waits for the simulated world.
final class Loop: TaskExecutor, @unchecked Sendable {
  static let shared = Loop()
  private var ready: [UnownedJob] = []
  private var next = 0

  /// Jobs run one after the other without a request between them; more is a task that spins.
  private static let most = 5_000_000

  struct Spinning: Error {}

  /// - Returns: false when this runtime has no such place.
  func takeOver() -> Bool {
    // swift_task_enqueueGlobal_hook: void (*)(Job *, void (*original)(Job *)), by the platform's calling convention for two pointers.
    typealias Hook = @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Void
    guard let place = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
    place.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in
      Loop.shared.ready.append(unsafeBitCast(job, to: UnownedJob.self))
    }
    return true
  }

  func enqueue(_ job: consuming ExecutorJob) { ready.append(UnownedJob(job)) }

  /// Returns when every task waits for something.
  func drain() throws(Spinning) {
    while next < ready.count {
      let job = ready[next]
      next += 1
      job.runSynchronously(on: asUnownedTaskExecutor())
      if next > Self.most { throw Spinning() }
    }
    ready.removeAll(keepingCapacity: true)
    next = 0
  }
}
