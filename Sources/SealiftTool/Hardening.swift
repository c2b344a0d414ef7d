import Glibc

/// What keeps secrets in this process from leaving it by accident. Done before anything else.
enum Hardening {
  static func apply() {
    keepStandardStreams()
    umask(0o077)
    // A write that fails says so.
    for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
    // Who starts us may ignore it: how a command ended that prints a secret could not be asked then.
    signal(SIGCHLD, SIG_DFL)
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    forbidDumps()
    forbidBacktraces()
    tellOfMappedFiles()
  }

  /// Whoever started us with a standard stream closed gets none of our files in its place: the next one that is opened would
  /// be it, and what is said would go there. What takes the place cannot be used, so that writing fails as it did.
  /// - Parameter nothing: a place of which nothing comes; where there is none, as in a bare `chroot`, a folder does as well.
  static func keepStandardStreams(_ nothing: String = "/dev/null") {
    for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) < 0 {
      // The lowest number that is free is the stream's own.
      if open(nothing, stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) == stream { continue }
      if open("/", O_RDONLY | O_DIRECTORY) == stream { continue }
      _exit(1)
    }
  }

  /// Swift's runtime answers a crash with a page of registers and the memory they point to, on standard error, where logs
  /// are made of it. A crash of ours ends the process, and says nothing.
  private static func forbidBacktraces() {
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSEGV]
    where number != SIGQUIT || !Signals.isIgnored(number) {
      signal(number, SIG_DFL)
    }
  }

  /// What a disk refuses of a file that is mapped comes as a signal, where no code of ours could ask why. The text is there
  /// from the start: whatever is called in a handler must need no memory and no lock.
  private static func tellOfMappedFiles() {
    signal(SIGBUS) { _ in
      let text: StaticString =
        "sealift: error: a file that is mapped into memory could not be read or written: its disk is full or failing, or the file was cut short\n"
      _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
      _exit(1)
    }
  }

  /// `PR_SET_DUMPABLE` 0: no core, and no other process of the same user can read our memory. Root still can trace us.
  private static func forbidDumps() {
    typealias ProcessControl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    guard let address = LoadedSymbol.address("prctl") else { return }
    let setDumpable: Int32 = 4
    _ = unsafeBitCast(address, to: ProcessControl.self)(setDumpable, 0, 0, 0, 0)
  }
}
