import Glibc
import Storage

/// The end of a child, which a thread waits for.
final class ChildEnd: Sendable {
  private struct State {
    var status: Int32?
    var waiting: [CheckedContinuation<Int32, Never>] = []
  }

  private let pid: Int32
  private let state = Locked(State())

  init(of pid: Int32) {
    self.pid = pid
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { pointer in
        if let pointer { Unmanaged<ChildEnd>.fromOpaque(pointer).takeRetainedValue().watch() }
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    precondition(code == 0, "no thread could be started")
    pthread_detach(thread)
  }

  /// `nil` as long as it runs.
  var status: Int32? { state.withLock(\.status) }

  func signal(_ number: Int32) {
    // Once the kernel has forgotten it, its number may be another process's.
    state.withLock { if $0.status == nil { kill(pid, number) } }
  }

  func wait() async -> Int32 {
    await withCheckedContinuation { continuation in
      let status = state.withLock { state in
        if state.status == nil { state.waiting.append(continuation) }
        return state.status
      }
      if let status { continuation.resume(returning: status) }
    }
  }

  private func watch() {
    var info = siginfo_t()
    while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    let (status, waiting) = state.withLock { state in
      var raw: Int32 = 0
      while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
      let status = raw & 0x7f != 0 ? -(raw & 0x7f) : (raw >> 8) & 0xff
      state.status = status
      defer { state.waiting = [] }
      return (status, state.waiting)
    }
    for continuation in waiting { continuation.resume(returning: status) }
  }
}
