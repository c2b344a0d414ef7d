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
    return try readAll(descriptor, limit: limit)
  }

  /// Reads a descriptor to its end.
  static func readAll(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure() }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw Failure(reason: "it is longer than \(limit) bytes") }
    }
  }

  /// The same of what somebody writes meanwhile: a signal ends the wait.
  /// - Throws: `Failure`; `CancellationError`.
  static func readAll(asWritten descriptor: Int32, limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      try Task.checkCancellation()
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 100) > 0 else { continue }
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure() }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw Failure(reason: "it is longer than \(limit) bytes") }
    }
  }

  private static func failure() -> Failure {
    Failure(reason: String(cString: strerror(errno)).lowercased(), isAbsent: errno == ENOENT)
  }
}
