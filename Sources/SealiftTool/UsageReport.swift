import ArgumentParser
import Sealift

/// What ArgumentParser has to say: help and versions to standard output, mistakes as ours, with our status.
struct UsageReport {
  private let isClean: Bool
  private let text: String
  private let manner: Terminal.Manner
  private let mistyped: MistypedCommand?
  private let arguments: [String]

  /// - Parameter arguments: the line as it was typed: when it cannot be parsed, `--json` must be looked for by hand.
  init(_ error: any Error, arguments: [String]) {
    self.arguments = arguments
    let isAnswer = Sealift.exitCode(for: error) == .success
    text = isAnswer ? Sealift.fullMessage(for: error) : Sealift.message(for: error)
    let mistyped = isAnswer ? MistypedCommand(afterHelp: arguments) : MistypedCommand(text, arguments)
    self.mistyped = mistyped
    isClean = isAnswer && mistyped == nil
    manner = Terminal.Manner(typed: arguments)
  }

  /// Says it.
  /// - Returns: the exit status.
  func tell() -> Int32 {
    let terminal = Terminal(manner)
    if isClean {
      do { try terminal.result(text) } catch {
        let unsaid = OperationError(error)
        terminal.tell(unsaid)
        terminal.tellDocument(unsaid)
        return ExitStatus.failed.rawValue
      }
      return ExitStatus.success.rawValue
    }
    let error = OperationError(.usage, message, hint: hint)
    terminal.tell(error)
    terminal.tellDocument(error)
    return ExitStatus.usage.rawValue
  }

  /// ArgumentParser writes sentences, the second of them advice; our messages begin small and end without a full stop.
  private var message: String {
    if let mistyped { return mistyped.message }
    let sentence = sentences[0]
    let begun = sentence.prefix(1).lowercased() + sentence.dropFirst()
    return begun.hasSuffix(".") ? String(begun.dropLast()) : begun
  }

  private var hint: String {
    if let hint = mistyped?.hint { return hint }
    // What `pull` calls so.
    if arguments.contains("restore"), text.contains("'-o'") || text.contains("'--output'") {
      return "`restore` puts it to the file of --to; `pull` writes a file with -o."
    }
    return sentences.count > 1 ? sentences[1] : "`sealift --help` and `sealift help COMMAND` show what there is."
  }

  private var sentences: [String] {
    let line = text.split(separator: "\n", maxSplits: 1).first.map(String.init) ?? text
    guard let advice = line.firstRange(of: ". Did you mean") else { return [line] }
    return [String(line[..<advice.lowerBound]), String(line[advice.lowerBound...].dropFirst(2))]
  }
}
