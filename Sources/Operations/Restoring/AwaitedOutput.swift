import CLinux
import Glibc

/// A descriptor that somebody gave us, such as standard output. Whoever reads at its other end may stand still: each write
/// waits for room first, and cancellation ends the wait.
struct AwaitedOutput {
  private let descriptor: Int32
  private let isFile: Bool

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    var status = stat()
    isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Where there is room at all, a write of so many bytes ends at once. That no write waits cannot be asked of the
  /// descriptor: it may be the terminal's, and others' too.
  private var step: Int { isFile ? 1 << 20 : max(4096, sl_pipe_room(descriptor)) }

  /// - Returns: 0, or the error's number.
  /// - Throws: `CancellationError`.
  func write(_ bytes: UnsafeRawBufferPointer) throws -> Int32 {
    var done = 0
    while done < bytes.count {
      try Task.checkCancellation()
      guard hasRoom else { continue }
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let put = Glibc.write(descriptor, rest.baseAddress, min(rest.count, step))
      if put < 0, errno == EINTR || errno == EAGAIN { continue }
      guard put > 0 else { return put < 0 ? errno : EIO }
      done += put
    }
    return 0
  }

  /// Waits a moment for it. What is wrong with the descriptor counts as room: the write says what it is.
  private var hasRoom: Bool {
    var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&asked, 1, 100) > 0
  }
}
