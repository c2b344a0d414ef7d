import ArgumentParser
import Glibc
import Operations

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

      EXIT STATUS:
      \(ExitStatus.table)
      """,
    version: CommandLine.arguments.contains("--version") ? Versions.line : Versions.sealift,
    subcommands: [
      Init.self, PushCommand.self, List.self, Show.self, PullCommand.self, Restore.self, Key.self, Doctor.self,
      DrillCommand.self, Copy.self,
      Config.self,
      Status.self, Tag.self, Note.self, Pin.self, Unpin.self, Forget.self, Unforget.self,
    ])

  @OptionGroup var global: GlobalOptions

  static func main() async {
    Hardening.apply()
    Allocator.bound()
    let signals = Signals()
    let arguments = Array(CommandLine.arguments.dropFirst())
    let status: Int32
    do {
      let command = try await asyncParseAsRoot(arguments)
      status = await run(command, arguments, signals)
    } catch {
      status = UsageReport(error, arguments: arguments).tell()
    }
    Glibc.exit(status)
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
