import ArgumentParser
import Glibc
import Sealift

/// The program: parses, runs one command, ends with its status. Everything else lives in the folders beside it.
@main
struct Sealift: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sealift",
    abstract: "Keeps SQLite databases safe off-site: deduplicated, encrypted, verified.",
    discussion: """
      Without any configuration file:

        sealift --target file:///srv/backup init
        sealift --target file:///srv/backup push ./app.db
        sealift --target file:///srv/backup pull latest -o restored.db

      Completions for bash, zsh or fish: sealift --generate-completion-script bash

      EXIT STATUS:
      \(ExitStatus.table)
      """,
    version: CommandLine.arguments.contains("--version") ? Versions.line : Versions.sealift,
    groupedSubcommands: [
      CommandGroup(name: "Keep safe", subcommands: [Init.self, PushCommand.self, Copy.self]),
      CommandGroup(
        name: "Find and bring back",
        subcommands: [List.self, Show.self, Status.self, PullCommand.self, RestoreCommand.self]),
      CommandGroup(name: "Make sure", subcommands: [Check.self, DrillCommand.self, Repair.self, Doctor.self]),
      CommandGroup(
        name: "Say something of versions", subcommands: [Tag.self, Note.self, Pin.self, Unpin.self]),
      CommandGroup(name: "Let go", subcommands: [Forget.self, Unforget.self, PruneCommand.self]),
      CommandGroup(name: "Set up", subcommands: [Key.self, Config.self]),
    ])

  @OptionGroup var global: GlobalOptions

  static func main() async {
    Hardening.apply()
    Allocator.bound()
    let arguments = Array(CommandLine.arguments.dropFirst())
    let status: Int32
    do {
      let signals = try begin()
      status = await run(arguments, signals)
    } catch {
      status = tell(OperationError(error), arguments)
    }
    Glibc.exit(status)
  }

  /// Looks for what no command can do without. Up to here nothing has left the first thread.
  private static func begin() throws -> Signals {
    try Arguments.demandAny()
    let signals = try Signals()
    try Threads.demand()
    return signals
  }

  private static func tell(_ error: OperationError, _ arguments: [String]) -> Int32 {
    let terminal = Terminal(Terminal.Manner(typed: arguments))
    terminal.tell(error)
    terminal.tellDocument(error)
    return ExitStatus(error.kind).rawValue
  }

  private static func run(_ arguments: [String], _ signals: Signals) async -> Int32 {
    do {
      try Arguments.demandText()
      let command = try await asyncParseAsRoot(arguments)
      if let command = command as? any SealiftCommand {
        try RepeatedOption.refuse(arguments, of: type(of: command))
      }
      return await run(command, arguments, signals)
    } catch {
      return UsageReport(error, arguments: arguments).tell()
    }
  }

  private static func run(_ command: any ParsableCommand, _ arguments: [String], _ signals: Signals) async -> Int32 {
    if let command = command as? any SealiftCommand {
      return await Session(command.global, signals).run(command)
    }
    do {
      var command = command
      try command.run()
      return ExitStatus.success.rawValue
    } catch {
      return UsageReport(error, arguments: arguments).tell()
    }
  }

  /// `sealift` alone asks for nothing; saying so beats a silent success in a script that lost its arguments.
  func run() throws {
    throw ValidationError("no command was given")
  }
}

/// A command of ours: parsed by ArgumentParser, performed in a session.
protocol SealiftCommand: AsyncParsableCommand, Sendable {
  var global: GlobalOptions { get }

  /// Calls one operation and reports what came of it.
  /// - Returns: `.success`, or `.partlyDone` and its like after the failures were told.
  func perform(in session: Session) async throws -> ExitStatus
}
