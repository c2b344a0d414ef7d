import Glibc

/// Whole small files, read once.
package enum FileContent {
  package struct Failure: Error {
    /// What the system says.
    package let reason: String
    /// There is no such file.
    package let isAbsent: Bool

    package init(reason: String, isAbsent: Bool = false) {
      self.reason = reason
      self.isAbsent = isAbsent
    }
  }

  /// - Parameter limit: more bytes than this are refused.
  package static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
    try read(path, limit: limit) { (_, _) throws(Failure) in }
  }

  /// - Parameters:
  ///   - accepting: throws for what is not to be read; it gets the open file, too.
  ///   - isCancelled: ends the wait for a pipe.
  static func read(
    _ path: String, limit: Int, accepting: (stat, Int32) throws(Failure) -> Void,
    isCancelled: () -> Bool = { Task.isCancelled }
  ) throws(Failure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure() }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw Failure(reason: "it is a folder") }
    try accepting(status, descriptor)
    let isWritten = status.st_mode & S_IFMT == S_IFREG
    var bytes: [UInt8] = []
    while true {
      // A pipe may have nobody yet who writes it: a signal ends the wait.
      guard isWritten || !isCancelled() else { throw Failure(reason: "it was not written to its end") }
      guard isWritten || isReady(descriptor) else { continue }
      guard try readMore(descriptor, &bytes, limit: limit) else { return bytes }
    }
  }

  /// Reads to its end what somebody writes meanwhile: a signal ends the wait.
  /// - Throws: `Failure`; `CancellationError`.
  package static func readAll(asWritten descriptor: Int32, limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      try Task.checkCancellation()
      guard isReady(descriptor) else { continue }
      guard try readMore(descriptor, &bytes, limit: limit) else { return bytes }
    }
  }

  /// Waits a moment for something to read.
  private static func isReady(_ descriptor: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, 100) > 0
  }

  /// - Returns: false at the end.
  private static func readMore(_ descriptor: Int32, _ bytes: inout [UInt8], limit: Int) throws(Failure) -> Bool {
    let count = bytes.count
    let read = withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
      let read = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      if read > 0 { bytes.append(contentsOf: buffer[..<read]) }
      return read
    }
    if read < 0, errno == EINTR || errno == EAGAIN { return true }
    guard read >= 0 else { throw failure() }
    guard count + read <= limit else { throw Failure(reason: "it is longer than \(limit) bytes") }
    return read > 0
  }

  private static func failure() -> Failure {
    Failure(reason: String(cString: strerror(errno)).lowercased(), isAbsent: errno == ENOENT)
  }
}
