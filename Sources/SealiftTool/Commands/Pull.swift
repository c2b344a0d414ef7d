import ArgumentParser
import Glibc
import Sealift

/// `pull`; the operation is called `Pull`.
struct PullCommand: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "pull",
    abstract: "Fetch a version into a new file, or to standard output.",
    discussion: """
      The file gets its name only when everything was verified; nothing that exists is replaced. Into a folder it is \
      named after the database and the time. With -o - only verified bytes are written to standard output.

        sealift pull latest -o restored.db
        sealift pull app@2026-11-20T12:00:00Z -o /tmp/
        sealift pull app:latest -o - | sqlite3 -readonly /dev/stdin .schema
      """)

  @Argument(help: "An id or a prefix of it, latest, NAME:latest, or NAME@TIME.")
  var version: String

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("The new file, a folder for it, or - for standard output.", valueName: "file"),
    completion: .file())
  var output: String

  @OptionGroup var options: RetrievalOptions
  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    guard output == "-" else { return try await Retrieval(version, output, options).run(in: session) }
    guard isatty(STDOUT_FILENO) == 0 else {
      throw OperationError(
        .usage, code: "terminalOutput", "a database is not written to a terminal",
        hint: "Name a file with -o FILE, or use a pipe.")
    }
    return try await Retrieval(version, nil, options).run(in: session)
  }
}

struct Restore: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Restore a version to where an application will use it.",
    discussion: """
      Into a new file, verified before it gets its name. A file or side file (-wal, -shm, -journal) that exists is never \
      replaced: move it aside first, with the application stopped.

        sealift restore app:latest --to /var/lib/app/app.db
      """)

  @Argument(help: "An id or a prefix of it, latest, NAME:latest, or NAME@TIME.")
  var version: String

  @Option(help: ArgumentHelp("The new file, or a folder for it.", valueName: "file"), completion: .file())
  var to: String

  @OptionGroup var options: RetrievalOptions
  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    guard to != "-" else {
      throw OperationError(
        .usage, "restore writes a file, not standard output",
        hint: "Use `sealift pull VERSION -o -`, or write ./- for a file of that name.")
    }
    return try await Retrieval(version, to, options).run(in: session)
  }
}
