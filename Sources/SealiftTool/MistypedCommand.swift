import ArgumentParser
import Sealift

/// A word that stands where a command should.
struct MistypedCommand {
  private let word: String
  /// The command that it would be a part of; `nil` for the program itself.
  private let parent: String?
  /// Those that may have been meant.
  private let known: [String]

  /// ArgumentParser calls it an unexpected argument, together with all that follow it.
  init?(_ text: String, _ arguments: [String]) {
    let quoted = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard text.lowercased().contains("unexpected argument"), quoted.count == 3 else { return nil }
    parent = arguments.first { Self.command($0, among: Self.commands) != nil }
    known = Self.names(below: parent)
    guard !known.isEmpty, !arguments.contains(where: known.contains) else { return nil }
    word = String(quoted[1])
  }

  /// ArgumentParser shows the help of what stands before it, as if all were well.
  init?(afterHelp arguments: [String]) {
    let before = arguments.prefix { $0 != "help" }
    guard !before.contains(where: { Self.command($0, among: Self.commands) != nil }) else { return nil }
    var path: [String] = []
    var commands = Self.commands
    for word in arguments.dropFirst(before.count + 1).prefix(while: { !$0.hasPrefix("-") }) where word != "help" {
      guard let next = Self.command(word, among: commands) else {
        self.word = word
        parent = path.isEmpty ? nil : path.joined(separator: " ")
        known = commands.map { $0._commandName }
        return
      }
      path.append(word)
      commands = next.configuration.subcommands
    }
    return nil
  }

  var message: String { "'\(word)' is not a command\(parent.map { " of '\($0)'" } ?? "")" }

  var hint: String? {
    if let nearest = Nearest.command(for: word, among: known) { return "Did you mean '\(nearest)'?" }
    return parent.map { "`sealift help \($0)` shows what there is." }
  }

  private static var commands: [any ParsableCommand.Type] { Sealift.configuration.subcommands }

  private static func command(
    _ name: String, among commands: [any ParsableCommand.Type]
  ) -> (any ParsableCommand.Type)? {
    commands.first { $0._commandName == name }
  }

  private static func names(below parent: String?) -> [String] {
    let below = parent.map { command($0, among: commands)?.configuration.subcommands ?? [] } ?? commands
    return below.map { $0._commandName }
  }
}
