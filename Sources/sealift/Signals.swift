import Glibc
import Storage

/// SIGINT and SIGTERM: the first asks the work to stop and clean up, the second ends the process at once.
///
/// The signals are blocked everywhere and waited for on a thread of their own, so no code ever runs in a handler.
/// Must be made before any other thread is.
final class Signals: Sendable {
  private struct State {
    var first: Int32?
    var stop: (@Sendable () -> Void)?
  }
  private let state = Locked(State())

  init() {
    var set = Self.awaited()
    pthread_sigmask(SIG_BLOCK, &set, nil)
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    let result = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<Signals>.fromOpaque(context).takeRetainedValue().wait()
      }, context)
    if result == 0 { pthread_detach(thread) }
  }

  /// The signal that came first, if one did.
  var received: Int32? { state.withLock { $0.first } }

  /// Runs `stop` at the first signal; at once when it has come already.
  func onFirst(_ stop: @escaping @Sendable () -> Void) {
    let late = state.withLock { state in
      state.stop = stop
      return state.first != nil
    }
    if late { stop() }
  }

  private func wait() -> Never {
    var set = Self.awaited()
    while true {
      var number: Int32 = 0
      guard sigwait(&set, &number) == 0 else { continue }
      let (isSecond, stop) = state.withLock { state in
        defer { state.first = state.first ?? number }
        return (state.first != nil, state.stop)
      }
      if isSecond {
        Echo.restore()
        _exit(128 + number)
      }
      stop?()
    }
  }

  private static func awaited() -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGTERM)
    return set
  }
}
