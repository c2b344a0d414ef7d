import Glibc
import Sealift

/// Asks at the terminal, without echo.
enum Prompt {
  /// - Parameters:
  ///   - twice: a new passphrase is typed twice, because nobody sees it.
  ///   - screen: where a progress bar may stand, which makes room for the question.
  ///   - missing: what to say where there is no terminal.
  /// - Throws: `.usage` when there is no terminal, nothing is typed, or the two differ; `CancellationError`.
  static func passphrase(
    _ question: String, twice: Bool, on screen: Terminal, missing: OperationError = noTerminal
  ) throws -> [UInt8] {
    let first = try ask("\(question): ", screen, missing)
    guard !first.isEmpty else {
      throw OperationError(
        .usage, code: "secretEmpty", "no passphrase was given", hint: "An empty passphrase protects nothing.")
    }
    guard twice else { return first }
    guard try ask("\(question), again: ", screen, missing) == first else {
      throw OperationError(
        .usage, code: "passphrasesDiffer", "the two passphrases differ", hint: "Nothing was changed. Try again.")
    }
    return first
  }

  /// One line, without its newline.
  private static func ask(_ question: String, _ screen: Terminal, _ missing: OperationError) throws -> [UInt8] {
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { throw missing }
    defer { close(terminal) }
    Echo.turnOff(terminal)
    defer { Echo.restore() }
    screen.clearBar()
    _ = Terminal.write(Array("sealift: \(printable(question))".utf8), to: terminal)
    defer { _ = Terminal.write([UInt8(ascii: "\n")], to: terminal) }
    return try line(from: terminal)
  }

  private static func line(from terminal: Int32) throws -> [UInt8] {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      try Task.checkCancellation()
      var waiting = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 100) > 0 else { continue }
      let count = read(terminal, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1, byte != UInt8(ascii: "\n"), line.count < 4096 else { return line }
      line.append(byte)
    }
  }

  static let noTerminal = OperationError(
    .usage, code: "secretMissing", "a passphrase is needed, and there is no terminal to ask at",
    hint: """
      Give one of passphraseFile, passphraseCommand or keyFile in the configuration, SEALIFT_PASSPHRASE_FILE, \
      --passphrase-file, --passphrase-fd, --key-file or --recovery-key-file.
      """)

  /// Of a key that is added to others: what opens the repository now is given by other options.
  static let noTerminalForAdded = OperationError(
    .usage, code: "secretMissing", "the new passphrase is needed, and there is no terminal to ask at",
    hint: "Give --new-passphrase-file or --new-key-file.")
}

/// The echo of the terminal, turned off while something secret is typed, and back on in every way out.
enum Echo {
  private static let saved = Locked<(terminal: Int32, settings: termios)?>(nil)

  static func turnOff(_ terminal: Int32) {
    var settings = termios()
    guard tcgetattr(terminal, &settings) == 0 else { return }
    saved.withLock { $0 = (terminal, settings) }
    settings.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(terminal, TCSAFLUSH, &settings)
  }

  static func restore() {
    saved.withLock { saved in
      guard var (terminal, settings) = saved else { return }
      tcsetattr(terminal, TCSAFLUSH, &settings)
      saved = nil
      terminal = -1
    }
  }
}
