import Glibc

/// What a program that ran to its end has left.
package struct ProgramEnd: Sendable {
  /// Its exit status; negative: the signal that ended it.
  package let status: Int32
  package let output: String
  package let error: String

  package var isSuccess: Bool { status == 0 }
}

extension Child {
  /// Runs a program, with nothing to read, to its end.
  /// - Parameters:
  ///   - command: the program, found on the path, and its arguments.
  ///   - environment: all of it; ours, unless one is given.
  package static func run(_ command: [String], environment: [String: String]? = nil) async throws -> ProgramEnd {
    let output = try PrintedText()
    let error = try PrintedText()
    let child = try Child(command, environment: environment) { actions in
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, output.descriptor, 1)
      posix_spawn_file_actions_adddup2(&actions, error.descriptor, 2)
    }
    let status = await child.end()
    return ProgramEnd(status: status, output: try output.text(), error: try error.text())
  }
}

/// What a program prints: a file without a name, so that no program waits until somebody reads.
private final class PrintedText: Sendable {
  let descriptor: Int32

  init() throws {
    let path = "\(Scratch.place)/sealift-test-printed-\(UInt64.random(in: 0 ... .max))"
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Unreadable(code: errno) }
    unlink(path)
  }

  deinit { close(descriptor) }

  func text() throws -> String {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Unreadable(code: errno) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var read = 0
    while read < bytes.count {
      let count = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress! + read, $0.count - read, off_t(read))
      }
      guard count > 0 else { throw Unreadable(code: errno) }
      read += count
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  struct Unreadable: Error { let code: Int32 }
}
