import Glibc

/// What keeps secrets in this process from leaving it by accident. Done before anything else.
enum Hardening {
  static func apply() {
    umask(0o077)
    signal(SIGPIPE, SIG_IGN)
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    forbidDumps()
    forbidBacktraces()
  }

  /// Swift's runtime answers a crash with a page of registers and the memory they point to, on standard error, where logs
  /// are made of it. A crash of ours ends the process, and says nothing.
  private static func forbidBacktraces() {
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(number, SIG_DFL) }
  }

  /// `PR_SET_DUMPABLE` 0: no core, and no other process of the same user can read our memory. Root still can trace us.
  private static func forbidDumps() {
    typealias ProcessControl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    guard let address = LoadedSymbol.address("prctl") else { return }
    let setDumpable: Int32 = 4
    _ = unsafeBitCast(address, to: ProcessControl.self)(setDumpable, 0, 0, 0, 0)
  }
}
