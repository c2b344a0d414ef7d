@preconcurrency import Glibc
import Sealift

/// Runs a command of the configuration that prints a secret, such as `pass show sealift`.
enum SecretCommand {
  private static let limit = 64 << 10
  /// Hundredths of a second that a command has to end in after SIGTERM.
  private static let grace = 500

  /// What `/bin/sh -c line` wrote to its standard output. Its standard error goes to ours.
  /// - Parameter name: how messages call it.
  /// - Throws: `.usage` when it cannot be run, fails, or writes more than 64 KiB; `CancellationError`.
  static func output(of line: String, calledBy name: String) throws -> [UInt8] {
    guard let ends = PrivatePipe.make() else {
      throw failure(name, "cannot be run: \(String(cString: strerror(errno)))")
    }
    defer { close(ends.read) }
    let child: pid_t
    do {
      defer { close(ends.write) }
      child = try spawn(line, name, output: ends.write)
    }
    do {
      let bytes = try FileContent.readAll(asWritten: ends.read, limit: limit)
      let status = wait(child)
      guard status == 0 else { throw failure(name, "ended with status \(status)") }
      return bytes
    } catch let error as FileContent.Failure {
      send(SIGKILL, to: child)
      _ = wait(child)
      throw failure(name, "wrote no secret: \(error.reason)")
    } catch let error as CancellationError {
      end(child)
      throw error
    }
  }

  private static func spawn(_ line: String, _ name: String, output: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    // A passphrase comes through it, which is not the command's: else what it opens first would get that number.
    if fcntl(STDIN_FILENO, F_GETFD) & FD_CLOEXEC != 0 {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    }

    // What we ignore, the child would ignore too; and the thread that this is may have every signal blocked, which the
    // child would inherit, and all that it starts: nothing but SIGKILL could end them.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var usual = sigset_t()
    sigemptyset(&usual)
    for number in [SIGPIPE, SIGXFSZ] { sigaddset(&usual, number) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

    var arguments: [UnsafeMutablePointer<CChar>?] = ["/bin/sh", "-c", line].map { (text: String) in strdup(text) }
    arguments.append(nil)
    defer { arguments.forEach { free($0) } }
    var child: pid_t = 0
    let result = posix_spawn(&child, "/bin/sh", &actions, &attributes, &arguments, environ)
    guard result == 0 else { throw failure(name, "cannot be run: \(String(cString: strerror(result)))") }
    return child
  }

  /// Asks it to end, with all that it started, and ends what does not.
  private static func end(_ child: pid_t) {
    let started = send(SIGTERM, to: child)
    var isGone = false
    for _ in 0..<grace {
      isGone = isGone || waitpid(child, nil, WNOHANG) == child
      if isGone, !started.contains(where: ProcessTree.isRunning) { return }
      usleep(10_000)
    }
    for process in started where ProcessTree.isRunning(process) { kill(process, SIGKILL) }
    guard !isGone else { return }
    send(SIGKILL, to: child)
    _ = wait(child)
  }

  /// A signal to it, and to all that it started: a shell ends, and leaves what it runs.
  /// - Returns: what it started.
  @discardableResult
  private static func send(_ number: Int32, to child: pid_t) -> [pid_t] {
    let started = ProcessTree.below(child)
    for process in [child] + started { kill(process, number) }
    return started
  }

  /// The exit status, or 128 and the signal.
  private static func wait(_ child: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {
      guard errno == EINTR else { return -1 }
    }
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  static let hint =
    "Try it in a shell: it must print the secret alone to its standard output, and end with status 0."

  /// The command line itself is not shown: people put secrets where they should not.
  private static func failure(_ name: String, _ what: String) -> OperationError {
    OperationError(.usage, code: "secretCommandFailed", "\(name) \(what)", hint: hint)
  }
}
