import Glibc
import Sealift

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

  /// By a line as it was typed, which was not parsed.
  init(typed arguments: [String]) {
    var options = GlobalOptions()
    options.targets = []
    options.config = nil
    options.json = arguments.prefix { $0 != "--" }.contains("--json")
    options.quiet = false
    options.verbose = false
    options.noProgress = true
    self.init(options)
  }

  private static func widthOfOutput() -> Int? {
    isatty(STDOUT_FILENO) == 1 ? width(of: STDOUT_FILENO) : nil
  }

  /// Columns of a terminal. Some do not know how many they have.
  static func width(of descriptor: Int32) -> Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return Table.usualWidth }
    return Int(size.ws_col)
  }
}

/// The environment variables of this process.
enum Environment {
  static subscript(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  private static let places = [
    "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "SEALIFT_CONFIG", "SEALIFT_STATE", "SEALIFT_PASSPHRASE_FILE",
    "AWS_CA_BUNDLE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
  ]

  /// Paths are text. What is none in a variable that names a place has become something else on its way here, and names
  /// another place.
  /// - Throws: `.usage` for the first that is not UTF-8.
  static func demandText() throws {
    for name in places {
      guard let value = getenv(name), String(validatingCString: value) == nil else { continue }
      throw OperationError(
        .usage, "the environment variable \(name) is not UTF-8: it cannot be told which place it names",
        hint: "Set it to the path of a place whose name is UTF-8 (a link will not do), or unset it.")
    }
  }

  /// A variable that is set to nothing counts as not set.
  static func filled(_ name: String) -> String? {
    guard let value = self[name], !value.isEmpty else { return nil }
    return value
  }

  /// One that names a folder of the user's: a relative one would be another one wherever a command is run.
  static func folder(_ name: String) -> String? { filled(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
}
