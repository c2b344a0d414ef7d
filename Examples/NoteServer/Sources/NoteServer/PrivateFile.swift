import Foundation

/// A file that holds a secret.
enum PrivateFile {
  /// - Throws: `Failure` when it is not there, or others than its owner may read it.
  static func demandPrivate(_ path: String) throws {
    var status = stat()
    guard stat(path, &status) == 0 else { throw wrong("\(path): \(String(cString: strerror(errno)))") }
    guard status.st_mode & 0o077 == 0 else {
      throw wrong("\(path) can be read by others", hint: "Run: chmod 600 '\(path)'")
    }
  }

  static func firstLine(_ path: String) throws -> String {
    try demandPrivate(path)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    guard let line = text.split(separator: "\n").first else {
      throw wrong("\(path) is empty", hint: "Write the secret into it.")
    }
    return String(line)
  }

  private static func wrong(_ message: String, hint: String? = nil) -> Failure {
    Failure(.internalServerError, code: "settings", message, hint: hint)
  }
}
