import FoundationEssentials
import Glibc
import Storage

/// A process that the test started: a writer, a lock holder, a program. Killed when the value goes.
///
/// A thread of its own waits for its end and takes it from the kernel at once. Where a thousand tests share two threads a
/// task can wait minutes for its turn; as long as any child has ended and is not taken note of, the testing library's
/// thread that waits for exit tests spins, on one of two cores (`Docs/Decisions/0028`).
package final class Child: Sendable {
  package let pid: Int32
  private let ending: ChildEnd

  /// - Parameters:
  ///   - command: the program, found on the path, and its arguments.
  ///   - output: a file that gets what it prints.
  package convenience init(_ command: [String], output: String? = nil) throws {
    try self.init(command, environment: nil) { actions in
      if let output { posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644) }
    }
  }

  init(
    _ command: [String], environment: [String: String]?, _ files: (inout posix_spawn_file_actions_t) -> Void
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    files(&actions)
    // Last of all: what this process has open, or was given by whoever runs the tests, is no business of what it starts.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
      if let descriptor = Int32(name), descriptor > 2 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    }
    // Whoever runs the tests in the background may have them ignore some, and threads of a pool block all of them; what they
    // start would too.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    for number in [SIGKILL, SIGSTOP] { sigdelset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = (environment ?? [:]).map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var started = pid_t()
    let code =
      environment == nil
      ? posix_spawnp(&started, command[0], &actions, &attributes, &arguments, environ)
      : posix_spawnp(&started, command[0], &actions, &attributes, &arguments, &variables)
    guard code == 0 else { throw CouldNotStart(command: command, code: code) }
    pid = started
    ending = ChildEnd(of: started)
  }

  package struct CouldNotStart: Error {
    let command: [String]
    let code: Int32
  }

  deinit {
    ending.signal(SIGKILL)
    while ending.status == nil { usleep(200) }
  }

  package func signal(_ number: Int32) { ending.signal(number) }

  /// Waits for its end. Negative: the signal that ended it; else its exit status.
  @discardableResult
  package func end() async -> Int32 { await ending.wait() }

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
