import Glibc
import Storage

/// Runs blocking work on a thread of its own: a disk that hangs must not take a thread from all other tasks.
func onOwnThread<Answer: Sendable>(
  _ work: @escaping @Sendable () throws(StoreError) -> Answer
) async throws(StoreError) -> Answer {
  let outcome: Result<Answer, StoreError> = await withCheckedContinuation { continuation in
    let task = ThreadWork { continuation.resume(returning: Result(catching: work)) }
    var thread = pthread_t()
    let failure = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<ThreadWork>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(task).toOpaque())
    guard failure == 0 else {
      Unmanaged.passUnretained(task).release()
      let reason = String(cString: strerror(failure))
      continuation.resume(returning: .failure(StoreError(.fileSystem, "no thread could be started: \(reason)")))
      return
    }
    pthread_detach(thread)
  }
  return try outcome.get()
}

private final class ThreadWork: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
