import Platform
import Storage

/// Runs blocking work on a thread of its own: a disk that hangs must not take a thread from all other tasks.
/// - Parameter start: starts it. Tests have it fail.
func onOwnThread<Answer: Sendable>(
  _ work: @escaping @Sendable () throws(StoreError) -> Answer,
  startedBy start: (@escaping @Sendable () -> Void) -> Int32 = startThread
) async throws(StoreError) -> Answer {
  let outcome: Result<Answer, StoreError> = await withCheckedContinuation { continuation in
    let failure = start { continuation.resume(returning: Result(catching: work)) }
    if failure != 0 { continuation.resume(returning: .failure(.noThread(failure))) }
  }
  return try outcome.get()
}

extension StoreError {
  /// Where there are too many, one of them may end soon.
  /// - Parameter code: the error number of `pthread_create`.
  fileprivate static func noThread(_ code: Int32) -> StoreError {
    let isPassing = code == EAGAIN
    return StoreError(
      isPassing ? .unavailable : .fileSystem, ThreadRefusal.message(code), hint: ThreadRefusal.hint,
      retry: isPassing ? .later(after: nil) : .never)
  }
}
