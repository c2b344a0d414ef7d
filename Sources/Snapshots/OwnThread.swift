import Glibc
import Synchronization

/// Runs blocking work on a thread of its own, so that the tasks of the rest of the program keep their threads.
/// - Parameter body: asks `Cancellation` now and then; a cancelled task sets it.
func onOwnThread<Result: Sendable>(
  _ body: @escaping @Sendable (Cancellation) throws -> Result
) async throws -> Result {
  let cancellation = Cancellation()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      let work = Work { continuation.resume(with: Swift.Result { try body(cancellation) }) }
      var thread = pthread_t()
      let failed = pthread_create(
        &thread, nil,
        { context in
          guard let context else { return nil }
          Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
          return nil
        }, Unmanaged.passRetained(work).toOpaque())
      guard failed == 0 else {
        Unmanaged.passUnretained(work).release()
        continuation.resume(
          throwing: SnapshotError(.sqlite, "no thread could be started: \(String(cString: strerror(failed)))"))
        return
      }
      pthread_detach(thread)
    }
  } onCancel: {
    cancellation.cancel()
  }
}

/// Says to another thread that its work is not wanted any more.
final class Cancellation: Sendable {
  private let flag = Atomic(false)

  var isCancelled: Bool { flag.load(ordering: .relaxed) }
  func cancel() { flag.store(true, ordering: .relaxed) }

  func check() throws {
    if isCancelled { throw SnapshotError(.cancelled, "interrupted") }
  }
}

private final class Work: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
