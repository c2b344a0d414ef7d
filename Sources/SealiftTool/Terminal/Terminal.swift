import Glibc
import Sealift

/// How the program speaks. The rules:
///
/// - Results go to standard output, and nothing else does.
/// - Everything else goes to standard error, each line beginning with `sealift: `. What went wrong is `error: …`, the way
///   out is `hint: …`. Messages begin small and end without a full stop; hints are whole sentences.
/// - Questions are asked at the terminal itself (`/dev/tty`), never on the standard streams: see `Prompt`.
/// - Text from elsewhere (names, tags, notes, a server's words) has its control characters escaped.
/// - Colours and the progress bar appear on a terminal only; `NO_COLOR` and `--no-progress` are honoured.
/// - With `--json` standard output carries one document, standard error one `{"error": …}`, and remarks are kept for both,
///   which have them as `notices`. Where it carries a database there is no document, and remarks are said.
final class Terminal: Sendable {
  struct Manner: Sendable {
    var json = false
    var quiet = false
    var verbose = false
    var progress = ProgressMeter.Manner.silent
    var colours = false
    /// Characters of a line of standard output; `nil` where that is no terminal, and lines are as long as they have to be.
    var width: Int?
  }

  let manner: Manner
  private struct State {
    var meter: ProgressMeter
    var barIsShown = false
    var notices: [String] = []
    var hasDocument = true
    var unsaid: OperationError?
  }
  private let state: Locked<State>

  init(_ manner: Manner) {
    self.manner = manner
    state = Locked(State(meter: ProgressMeter(manner.progress)))
  }

  /// Remarks made so far, for the documents of `--json`.
  var notices: [String] { state.withLock { $0.notices } }

  /// Standard output carries a database: from now on remarks are said in `--json` too.
  func goWithoutDocument() { state.withLock { $0.hasDocument = false } }

  /// A line of the result.
  /// - Throws: `OperationError` when standard output cannot be written, such as a pipe that was closed.
  func result(_ text: String) throws {
    clearBar()
    guard Self.write(Array((text + "\n").utf8), to: STDOUT_FILENO) else {
      throw OperationError(
        .failed, code: "outputFailed", "cannot write to standard output: \(String(cString: strerror(errno)))")
    }
  }

  func result(_ document: Json) throws { try result(document.text) }

  /// Tells what came of a change that was made.
  /// - Parameter deed: what is added where standard output does not take it: nobody would know of it otherwise.
  func result(of deed: String, _ tell: () throws -> Void) throws {
    do { try tell() } catch {
      var unsaid = OperationError(error)
      unsaid.message += ": \(deed)"
      throw unsaid
    }
  }

  /// A line of what was done or found. That standard output would not take it ends nothing and hides nothing: the run goes
  /// on without it, and tells that last.
  func report(_ text: String) {
    guard unsaid == nil else { return }
    do { try result(text) } catch { state.withLock { $0.unsaid = OperationError(error) } }
  }

  func report(_ document: Json) { report(document.text) }

  /// Why standard output would not take what was reported.
  var unsaid: OperationError? { state.withLock { $0.unsaid } }

  /// A remark a person should see even when all goes well.
  func notice(_ text: String) {
    let hasDocument = state.withLock { state in
      state.notices.append(text)
      return state.hasDocument
    }
    guard !manner.quiet, !(manner.json && hasDocument) else { return }
    say(printable(text))
  }

  func debug(_ text: String) {
    guard manner.verbose else { return }
    say("\(dim("debug:")) \(printable(text))")
  }

  /// What went wrong, for people. In `--json` the session tells it once, at the end.
  func tell(_ error: OperationError) {
    guard !manner.json else { return }
    say("\(red("error:")) \(printable(error.message))")
    if let hint = error.hint { say("\(dim("hint:")) \(Self.faithful(hint))") }
    guard manner.verbose else { return }
    for cause in error.causes { say("\(dim("cause:")) \(printable(cause))") }
  }

  /// A command in it that was copied from where control characters are shown as escapes would be about other files.
  private static func faithful(_ hint: String) -> String {
    guard hint.unicodeScalars.contains(where: \.isControl) else { return hint }
    return "What to do names something with control characters: --json tells it as it is."
  }

  /// The last word of a failed run in `--json`.
  func tellDocument(_ error: OperationError) {
    guard manner.json else { return }
    _ = Self.write(Array((Documents.error(error, notices: notices).text + "\n").utf8), to: STDERR_FILENO)
  }

  func progress(_ progress: Progress) {
    guard manner.progress != .silent else { return }
    state.withLock { state in
      // Who reports may hold a lock of a database: a terminal that was stopped (Ctrl-S) must not hold it for longer. It is
      // asked only when there is something to show: a restore reports a hundred thousand times.
      let shown = state.meter.update(progress, at: monotonicSeconds(), within: Manner.width(of: STDERR_FILENO))
      guard let output = shown, Self.takesOutput(STDERR_FILENO) else { return }
      switch output {
      case .bar(let text):
        state.barIsShown = true
        _ = Self.write(Array("\r\(text)\u{1B}[K".utf8), to: STDERR_FILENO, waits: false)
      case .line(let text): _ = Self.write(Array("sealift: \(text)\n".utf8), to: STDERR_FILENO, waits: false)
      }
    }
  }

  /// Takes the progress bar off the screen, before anything else is said and when the work has ended.
  func clearBar() {
    state.withLock { state in
      guard state.barIsShown else { return }
      state.barIsShown = false
      _ = Self.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
    }
  }

  private func say(_ text: String) {
    clearBar()
    _ = Self.write(Array("sealift: \(text)\n".utf8), to: STDERR_FILENO)
  }

  private func red(_ text: String) -> String { manner.colours ? "\u{1B}[1;31m\(text)\u{1B}[0m" : text }
  private func dim(_ text: String) -> String { manner.colours ? "\u{1B}[2m\(text)\u{1B}[0m" : text }

  private static func takesOutput(_ descriptor: Int32) -> Bool {
    var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&asked, 1, 0) == 1 && Int32(asked.revents) & POLLOUT != 0
  }

  /// What is wrong with the descriptor counts as room: the write says what it is.
  private static func awaitRoom(_ descriptor: Int32) {
    var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = poll(&asked, 1, 1000)
  }

  /// False when not everything could be written; `errno` says why.
  /// - Parameter waits: where a descriptor does not, as whoever shares it may have set it, we wait for room ourselves.
  static func write(_ bytes: [UInt8], to descriptor: Int32, waits: Bool = true) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN, waits {
        awaitRoom(descriptor)
        continue
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}

/// The same text with its control characters made visible: nothing a server or a repository holds may drive a terminal.
func printable(_ text: String) -> String {
  guard !text.isPlainASCII, text.unicodeScalars.contains(where: \.isControl) else { return text }
  return text.unicodeScalars.reduce(into: "") { result, scalar in
    if scalar.isControl {
      // Swift leaves DEL as it is.
      result += scalar.value == 0x7F ? "\\u{007F}" : scalar.escaped(asASCII: true)
    } else {
      result.unicodeScalars.append(scalar)
    }
  }
}

extension String {
  /// True when every character is one of ASCII's that print: as many columns as bytes.
  var isPlainASCII: Bool { utf8.allSatisfy { (0x20...0x7E).contains($0) } }
}

extension Unicode.Scalar {
  /// General category Cc: C0, DEL and C1.
  var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }
}

func monotonicSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
