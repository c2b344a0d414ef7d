import Glibc
import Operations

/// Files that hold secrets: only their owner may read them.
enum PrivateFile {
  private static let limit = 64 << 10

  /// The whole content.
  /// - Throws: `.usage`; names the file and what is wrong with it, never the content.
  static func read(_ path: String) throws(OperationError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw unreadable(path, String(cString: strerror(errno)).lowercased()) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw unreadable(path, "it is no file")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw OperationError(
        .usage, code: "secretExposed", "\(path) can be read or changed by others than its owner",
        hint: "Close it with `chmod 600 \(path)`; if others have used this machine, change the secret too.")
    }
    let bytes = try content(of: descriptor, path)
    guard !bytes.isEmpty else {
      throw OperationError(
        .usage, code: "secretEmpty", "\(path) is empty",
        hint: "An empty key protects nothing. Write the secret into it.")
    }
    return bytes
  }

  private static func content(of descriptor: Int32, _ path: String) throws(OperationError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(path, String(cString: strerror(errno)).lowercased()) }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw unreadable(path, "it is longer than \(limit) bytes") }
    }
  }

  private static func unreadable(_ path: String, _ reason: String) -> OperationError {
    OperationError(
      .usage, code: "secretUnreadable", "cannot read the secret in \(path): \(reason)",
      hint: "Check the path, and that this user owns the file.")
  }
}
