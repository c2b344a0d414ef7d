import Platform
import Storage

/// Runs blocking work on a thread of its own: a disk that hangs must not take a thread from all other tasks.
func onOwnThread<Answer: Sendable>(
  _ work: @escaping @Sendable () throws(StoreError) -> Answer
) async throws(StoreError) -> Answer {
  let outcome: Result<Answer, StoreError> = await withCheckedContinuation { continuation in
    let failure = startThread { continuation.resume(returning: Result(catching: work)) }
    guard failure == 0 else {
      let reason = String(cString: strerror(failure))
      continuation.resume(returning: .failure(StoreError(.fileSystem, "no thread could be started: \(reason)")))
      return
    }
  }
  return try outcome.get()
}
