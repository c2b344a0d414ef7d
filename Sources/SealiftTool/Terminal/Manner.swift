import Glibc

extension Terminal.Manner {
  /// How to speak here: by the options, by what the standard streams are, by `NO_COLOR` (https://no-color.org) and `TERM`.
  init(_ options: GlobalOptions) {
    json = options.json
    quiet = options.quiet
    verbose = options.verbose
    let onTerminal = isatty(STDERR_FILENO) == 1 && Environment["TERM"] != "dumb"
    colours = onTerminal && (Environment["NO_COLOR"] ?? "").isEmpty && !options.json
    if options.json || options.quiet || options.noProgress {
      progress = .silent
    } else {
      progress = onTerminal ? .bar : .lines
    }
    width = Self.widthOfOutput()
  }

  private static func widthOfOutput() -> Int? {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    var size = winsize()
    // Some terminals do not know how wide they are.
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return Table.usualWidth }
    return Int(size.ws_col)
  }
}

/// The environment variables of this process.
enum Environment {
  static subscript(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// A variable that is set to nothing counts as not set.
  static func filled(_ name: String) -> String? {
    guard let value = self[name], !value.isEmpty else { return nil }
    return value
  }

  /// One that names a folder of the user's: a relative one would be another one wherever a command is run.
  static func folder(_ name: String) -> String? { filled(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
}
