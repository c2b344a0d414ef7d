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
      named after the database and the time. With -o - only verified bytes are written to standard output. --all fetches \
      the newest version of every database of this host, or of the only host there: a target and its key are enough. What \
      was cut goes on where it was when the same command is run again, and with --all what stands there already, to the \
      byte, counts as done; with --vacuum or --journal it is refused. --no-companions fetches the database alone, where \
      what comes with it is damaged or has no room.

        sealift pull latest -o restored.db
        sealift pull app@2026-11-20T12:00:00Z -o /tmp/
        sealift pull app:latest -o - | sha256sum
        sealift pull app:latest -o restored.db --no-companions
        sealift --target s3://bucket/backup pull --all /srv/restored
      """)

  @Argument(help: "An id or at least 4 digits of it, NAME:latest, NAME@TIME, or latest: of all databases and hosts.")
  var version: String?

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("The new file, a folder for it, or - for standard output.", valueName: "file"),
    completion: .file())
  var output: String?

  @Option(
    help: ArgumentHelp("Fetch every database's newest version into this folder.", valueName: "folder"),
    completion: .directory)
  var all: String?

  @Option(help: ArgumentHelp("With --all: the databases of this host.", valueName: "host"))
  var host: String?

  @OptionGroup var options: RetrievalOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if all == nil {
      guard version != nil else { throw ValidationError("name a version, or fetch all with --all FOLDER") }
      guard output?.isEmpty == false else { throw ValidationError("name the file to write with -o FILE") }
      if host != nil { throw ValidationError("--host goes with --all") }
      if output == "-", options.dryRun { throw ValidationError("--dry-run goes with a file, not with -o -") }
    } else {
      guard version == nil, output == nil, options.expect.isEmpty else {
        throw ValidationError("--all goes without a version, -o and --expect")
      }
    }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    if let all { return try await RetrievalOfAll(options, host).pull(into: all, in: session) }
    let retrieval = Retrieval(version ?? "", options)
    guard output == "-" else { return try await retrieval.pull(to: output, in: session) }
    guard isatty(STDOUT_FILENO) == 0 else {
      throw OperationError(
        .usage, code: "terminalOutput", "a database is not written to a terminal",
        hint: "Name a file with -o FILE, or use a pipe.")
    }
    session.terminal.goWithoutDocument()
    return try await retrieval.pull(to: nil, in: session)
  }
}
