import Glibc
import Sealift

/// Whether there can be threads. Swift's tasks run on those of libdispatch, which tries again for ever, without a word,
/// where none can be started.
enum Threads {
  /// So many at once, beside the one that waits for signals: with fewer no command gets far.
  private static let fewest = 3

  /// - Throws: `OperationError` where they cannot be started.
  static func demand() throws {
    let gate = Locked(false)
    var started: [pthread_t] = []
    let failure = gate.withLock { _ in start(at: gate, &started) }
    for thread in started { pthread_join(thread, nil) }
    guard failure == 0 else { throw OperationError.noThread(failure) }
  }

  /// Each waits at the gate, so that all of them are there at once.
  /// - Returns: 0, or the error number of the first that could not be started.
  private static func start(at gate: Locked<Bool>, _ started: inout [pthread_t]) -> Int32 {
    for _ in 0..<fewest {
      var thread = pthread_t()
      let context = Unmanaged.passRetained(gate)
      let code = pthread_create(
        &thread, nil,
        { context in
          guard let context else { return nil }
          Unmanaged<Locked<Bool>>.fromOpaque(context).takeRetainedValue().withLock { $0 = true }
          return nil
        }, context.toOpaque())
      guard code == 0 else {
        context.release()
        return code
      }
      started.append(thread)
    }
    return 0
  }
}
