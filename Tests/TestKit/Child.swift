import Glibc

/// A process that the test started: a writer, a lock holder. Killed when the value goes.
package final class Child {
  package let pid: Int32
  private var status: Int32?

  /// - Parameters:
  ///   - command: the program, found on the path, and its arguments.
  ///   - output: a file that gets what it prints.
  package init(_ command: [String], output: String? = nil) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let output { posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644) }
    // Whoever runs the tests in the background may have them ignore these, and what they start would too.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var usual = sigset_t()
    sigemptyset(&usual)
    for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] { sigaddset(&usual, number) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var started = pid_t()
    let code = posix_spawnp(&started, command[0], &actions, &attributes, &arguments, environ)
    guard code == 0 else { throw CouldNotStart(command: command, code: code) }
    pid = started
  }

  package struct CouldNotStart: Error {
    let command: [String]
    let code: Int32
  }

  deinit {
    if status == nil {
      kill(pid, SIGKILL)
      var ignored: Int32 = 0
      waitpid(pid, &ignored, 0)
    }
  }

  package func signal(_ number: Int32) { kill(pid, number) }

  /// Waits for its end. Negative: the signal that ended it; else its exit status.
  @discardableResult
  package func end() async throws -> Int32 {
    while status == nil {
      var raw: Int32 = 0
      if waitpid(pid, &raw, WNOHANG) == pid {
        status = raw & 0x7f != 0 ? -(raw & 0x7f) : (raw >> 8) & 0xff
      } else {
        try await Task.sleep(for: .milliseconds(5))
      }
    }
    return status!
  }

  /// Runs a Python program (standard library only) as a child.
  package static func python(_ program: String, _ arguments: String..., output: String? = nil) throws -> Child {
    try Child(["python3", "-c", program] + arguments, output: output)
  }
}

/// Waits until something is so; false when it is not after `limit`. The limit is there for what never comes: where a thousand
/// tests share two threads, a sleep of five milliseconds can take minutes, so that a look is also the last thing that is done.
package func eventually(within limit: Duration = .seconds(600), _ isSo: () throws -> Bool) async throws -> Bool {
  let end = ContinuousClock.now + limit
  while ContinuousClock.now < end {
    if try isSo() { return true }
    try await Task.sleep(for: .milliseconds(5))
  }
  return try isSo()
}
