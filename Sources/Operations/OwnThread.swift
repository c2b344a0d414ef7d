import Platform
import Storage

/// Runs blocking work on a thread of its own, so that no thread of the cooperative pool waits for a disk, or for whoever
/// writes into a pipe: those who write may be waiting for that very thread.
/// - Parameter work: is told whether its task was cancelled; what may wait for long must ask that often.
package func onOwnThread<Value: Sendable>(
  _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> Value
) async throws -> Value {
  let cancelled = Locked(false)
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      let failure = startThread {
        continuation.resume(with: Result { try work({ cancelled.withLock { $0 } }) })
      }
      guard failure == 0 else { return continuation.resume(throwing: OperationError.noThread(failure)) }
    }
  } onCancel: {
    cancelled.withLock { $0 = true }
  }
}

extension OperationError {
  /// - Parameter code: the error number of `pthread_create`.
  package static func noThread(_ code: Int32) -> OperationError {
    OperationError(.failed, ThreadRefusal.message(code), hint: ThreadRefusal.hint)
  }
}
