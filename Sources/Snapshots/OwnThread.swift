import Platform

/// Runs blocking work on a thread of its own, so that no thread of the cooperative pool waits for a disk or a
/// lock. Cancelling the task raises the signal; the work must look at it often.
func onOwnThread<Value: Sendable>(_ work: @escaping @Sendable (StopSignal) throws -> Value) async throws -> Value {
  let stop = StopSignal()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      let code = startThread { continuation.resume(with: Result { try work(stop) }) }
      if code != 0 {
        continuation.resume(
          throwing: SnapshotError(.spool, ThreadRefusal.message(code), hint: ThreadRefusal.hint))
      }
    }
  } onCancel: {
    stop.raise()
  }
}
