import Glibc

/// A file that this process has open and locked, as a library of its application would. To close any other descriptor of
/// the file drops that lock (sqlite.org/howtocorrupt.html, 2.2).
package final class HeldLock: Sendable {
  private let descriptor: Int32

  package init(on path: String) throws {
    descriptor = open(path, O_RDWR | O_CLOEXEC)
    var lock = Self.exclusive
    guard descriptor >= 0, fcntl(descriptor, F_SETLK, &lock) == 0 else { throw NotLocked(code: errno) }
  }

  deinit { close(descriptor) }

  /// Asked as a stranger would: a lock of the open file (`F_OFD_GETLK`) meets those of its own process as well.
  package var stands: Bool {
    var lock = Self.exclusive
    return fcntl(descriptor, 36, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }

  private static var exclusive: flock {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    return lock
  }

  package struct NotLocked: Error { let code: Int32 }
}
