import ArgumentParser
import Sealift

/// What ArgumentParser has to say: help and versions to standard output, mistakes as ours, with our status.
struct UsageReport {
  private let isClean: Bool
  private let text: String
  private let manner: Terminal.Manner
  /// The word that stands where a command should.
  private let noCommand: String?

  /// - Parameter arguments: the line as it was typed: when it cannot be parsed, `--json` must be looked for by hand.
  init(_ error: any Error, arguments: [String]) {
    isClean = Sealift.exitCode(for: error) == .success
    text = isClean ? Sealift.fullMessage(for: error) : Sealift.message(for: error)
    noCommand = Self.wordForCommand(text, arguments)
    var options = GlobalOptions()
    options.targets = []
    options.config = nil
    options.json = arguments.prefix { $0 != "--" }.contains("--json")
    options.quiet = false
    options.verbose = false
    options.noProgress = true
    manner = Terminal.Manner(options)
  }

  /// Says it.
  /// - Returns: the exit status.
  func tell() -> Int32 {
    let terminal = Terminal(manner)
    if isClean {
      let isWritten = (try? terminal.result(text)) != nil
      return (isWritten ? ExitStatus.success : .failed).rawValue
    }
    let error = OperationError(.usage, message, hint: hint)
    terminal.tell(error)
    terminal.tellDocument(error)
    return ExitStatus.usage.rawValue
  }

  /// ArgumentParser writes sentences, the second of them advice; our messages begin small and end without a full stop.
  private var message: String {
    if let noCommand { return "'\(noCommand)' is not a command" }
    let sentence = sentences[0]
    let begun = sentence.prefix(1).lowercased() + sentence.dropFirst()
    return begun.hasSuffix(".") ? String(begun.dropLast()) : begun
  }

  private var hint: String {
    if let nearest = noCommand.flatMap({ Nearest.match(for: $0, among: Self.commands) }) {
      return "Did you mean '\(nearest)'?"
    }
    return sentences.count > 1 ? sentences[1] : "`sealift --help` and `sealift help COMMAND` show what there is."
  }

  private static let commands = Sealift.configuration.subcommands.map { $0._commandName }

  /// ArgumentParser calls a mistyped command an unexpected argument, together with all that follow it.
  private static func wordForCommand(_ text: String, _ arguments: [String]) -> String? {
    guard text.lowercased().contains("unexpected argument"), !arguments.contains(where: commands.contains) else {
      return nil
    }
    let quoted = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    return quoted.count == 3 ? String(quoted[1]) : nil
  }

  private var sentences: [String] {
    let line = text.split(separator: "\n", maxSplits: 1).first.map(String.init) ?? text
    guard let advice = line.firstRange(of: ". Did you mean") else { return [line] }
    return [String(line[..<advice.lowerBound]), String(line[advice.lowerBound...].dropFirst(2))]
  }
}
