import Glibc

/// Runs blocking work on a thread of its own, so that no thread of the cooperative pool waits for a disk or a
/// lock. Cancelling the task raises the signal; the work must look at it often.
func onOwnThread<Value: Sendable>(_ work: @escaping @Sendable (StopSignal) throws -> Value) async throws -> Value {
  let stop = StopSignal()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      let code = startThread { continuation.resume(with: Result { try work(stop) }) }
      if code != 0 {
        continuation.resume(throwing: SnapshotError(.spool, "no thread could be started (error \(code))"))
      }
    }
  } onCancel: {
    stop.raise()
  }
}

private final class ThreadBody {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Returns 0, or the error number of `pthread_create`; the body does not run then.
private func startThread(_ run: @escaping @Sendable () -> Void) -> Int32 {
  let body = Unmanaged.passRetained(ThreadBody(run))
  var thread = pthread_t()
  let code = pthread_create(
    &thread, nil,
    { context in
      Unmanaged<ThreadBody>.fromOpaque(context.unsafelyUnwrapped).takeRetainedValue().run()
      return nil
    }, body.toOpaque())
  if code == 0 { pthread_detach(thread) } else { body.release() }
  return code
}
