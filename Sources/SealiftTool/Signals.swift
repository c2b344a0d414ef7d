import Glibc
import Sealift

/// SIGINT, SIGTERM and SIGHUP: the first asks the work to stop and clean up, the second ends the process at once.
///
/// The handler only writes the signal's number into a pipe; a thread reads it there, so that no code of ours runs in a
/// handler. (Blocking the signals and waiting for them would be simpler, but libdispatch keeps a thread that takes all
/// signals whatever we block.)
final class Signals: Sendable {
  private struct State {
    var first: Int32?
    var hasBegun = false
    var stop: (@Sendable () -> Void)?
  }
  private let state = Locked(State())

  /// Where the handler writes, and the thread reads.
  private static let pipeEnds: (read: Int32, write: Int32) = PrivatePipe.make() ?? (read: -1, write: -1)

  /// - Throws: `OperationError` where no thread can be started.
  init() throws {
    guard Self.pipeEnds.read >= 0 else { return }
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    let result = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<Signals>.fromOpaque(context).takeRetainedValue().wait()
        return nil
      }, context)
    guard result == 0 else { throw OperationError.noThread(result) }
    pthread_detach(thread)
    for number in [SIGINT, SIGTERM, SIGHUP] where number == SIGTERM || !Self.isIgnored(number) {
      signal(number) { number in
        let saved = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(Signals.pipeEnds.write, &byte, 1)
        errno = saved
      }
    }
  }

  /// Whoever started us with `nohup` wants us to go on when the line drops; a script that started us in the background, when
  /// somebody interrupts what is in the foreground. A signal that was not ignored is from now on.
  static func isIgnored(_ number: Int32) -> Bool {
    unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// The signal that came first, if one did.
  var received: Int32? { state.withLock { $0.first } }

  /// The work runs from now on, and can clean up.
  func noteBegun() { state.withLock { $0.hasBegun = true } }

  /// Runs `stop` at the first signal; at once when it has come already.
  func onFirst(_ stop: @escaping @Sendable () -> Void) {
    let late = state.withLock { state in
      state.stop = stop
      return state.first != nil
    }
    if late { stop() }
  }

  private func wait() {
    var byte: UInt8 = 0
    while true {
      let count = read(Self.pipeEnds.read, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return }
      let number = Int32(byte)
      let (isSecond, hasBegun, stop) = state.withLock { state in
        defer { state.first = state.first ?? number }
        return (state.first != nil, state.hasBegun, state.stop)
      }
      // Whoever closes a terminal sends it twice: the shell to its jobs, and the kernel to the group in the foreground.
      if isSecond, number == SIGHUP { continue }
      // What has not begun may never begin: tasks wait for ever for a thread that cannot be started.
      if isSecond || !hasBegun {
        Echo.restore()
        _exit(128 + number)
      }
      stop?()
    }
  }
}
