import Glibc

/// Whole small files, read once.
enum FileContent {
  struct Failure: Error {
    /// What the system says.
    let reason: String
    /// There is no such file.
    var isAbsent = false
  }

  /// - Parameter limit: more bytes than this are refused.
  static func read(_ path: String, limit: Int, accepting: (stat) throws(Failure) -> Void = { _ throws(Failure) in })
    throws(Failure) -> [UInt8]
  {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure() }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw Failure(reason: "it is a folder") }
    try accepting(status)
    var bytes: [UInt8] = []
    while try readMore(descriptor, &bytes, limit: limit) {}
    return bytes
  }

  /// Reads to its end what somebody writes meanwhile: a signal ends the wait.
  /// - Throws: `Failure`; `CancellationError`.
  static func readAll(asWritten descriptor: Int32, limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      try Task.checkCancellation()
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 100) > 0 else { continue }
      guard try readMore(descriptor, &bytes, limit: limit) else { return bytes }
    }
  }

  /// - Returns: false at the end.
  private static func readMore(_ descriptor: Int32, _ bytes: inout [UInt8], limit: Int) throws(Failure) -> Bool {
    let count = bytes.count
    let read = withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
      let read = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      if read > 0 { bytes.append(contentsOf: buffer[..<read]) }
      return read
    }
    if read < 0, errno == EINTR { return true }
    guard read >= 0 else { throw failure() }
    guard count + read <= limit else { throw Failure(reason: "it is longer than \(limit) bytes") }
    return read > 0
  }

  private static func failure() -> Failure {
    Failure(reason: String(cString: strerror(errno)).lowercased(), isAbsent: errno == ENOENT)
  }
}
