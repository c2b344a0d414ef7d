import ArgumentParser
import Glibc
import Sealift

/// `restore`; the operation is called `Restore`.
struct RestoreCommand: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Restore a version to where an application will use it.",
    discussion: """
      To the place where the database is by the configuration, or to --to FILE; verified before anything there changes. \
      What exists is refused, unless one of these is given. --replace moves the old database and its side files aside: \
      nobody may have it open. --live puts the version into the database that is there, in one transaction, whoever has \
      it open. Both print how to take it back. Companions come to lie beside the database where it is by the configuration, \
      those with an absolute path under their last name, and in FILE.companions beside any other file. With \
      --no-companions the database comes back alone, and the companions that stand there stay as they are. What --all \
      finds in its place already, to the byte, counts as done; with --vacuum or --journal it is refused. A database that \
      lies in a folder that comes with another comes from its own newest version; of two that cannot both have their \
      places --all brings back one, and names the other. With --if-missing a database that is there is left alone, \
      whatever it is, nothing is asked of the target, and the status is 0: for what starts a container.

        sealift restore app:latest
        sealift restore app:latest --if-missing
        sealift restore app:latest --to /var/lib/app/app.db
        sealift restore app@2026-11-20T12:00:00Z --live
        sealift restore 9c06ab3f --table orders,items --into /var/lib/app/app.db
        sealift restore --all --replace --dry-run
      """)

  @Argument(help: "An id or at least 4 digits of it, NAME:latest, NAME@TIME, or latest: of all databases and hosts.")
  var version: String?

  @Option(help: ArgumentHelp("The file, or a folder for a new one.", valueName: "file"), completion: .file())
  var to: String?

  @Flag(help: "Move what is there aside; nobody may have it open.")
  var replace = false

  @Flag(help: "Into the database that is there, while applications use it.")
  var live = false

  @Flag(help: "Be content, and restore nothing, where a database is there already.")
  var ifMissing = false

  @Flag(help: "With --live: do not keep a copy of the old content.")
  var noUndo = false

  @Option(
    help: ArgumentHelp(
      "With --live and --table: how long to wait for locks (default: the database's busyTimeout, else 30s).",
      valueName: "time"))
  var busyTimeout: String?

  @Option(
    name: .customLong("table"), parsing: .singleValue,
    help: ArgumentHelp(
      "Only these tables, with their indexes and triggers. May be given more than once.", valueName: "names"))
  var tables: [String] = []

  @Option(
    help: ArgumentHelp("With --table: the database that gets them.", valueName: "file"), completion: .file())
  var into: String?

  @Flag(help: "The newest version of every database of the configuration.")
  var all = false

  @Option(help: ArgumentHelp("With --all: versions of this host.", valueName: "host"))
  var host: String?

  @OptionGroup var options: RetrievalOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if replace, live { throw ValidationError("--replace and --live exclude each other") }
    if ifMissing, replace || live || !tables.isEmpty || all {
      throw ValidationError("--if-missing goes without --replace, --live, --table and --all")
    }
    if noUndo, !live { throw ValidationError("--no-undo goes with --live") }
    if busyTimeout != nil, !live, tables.isEmpty {
      throw ValidationError("--busy-timeout goes with --live and --table")
    }
    if let busyTimeout, TimeSpan.parse(busyTimeout) == nil {
      throw ValidationError("--busy-timeout is a time such as 30s, not '\(busyTimeout)'")
    }
    if live, options.vacuum || options.journal != nil {
      throw ValidationError(
        "--vacuum and --journal do not go with --live: the database keeps its journal mode and its free pages")
    }
    if tables.isEmpty != (into == nil) { throw ValidationError("--table and --into go together") }
    if host != nil, !all { throw ValidationError("--host goes with --all") }
    guard all == (version == nil) else {
      throw ValidationError(all ? "--all goes without a version" : "name a version, or restore all with --all")
    }
    if to?.isEmpty == true || into?.isEmpty == true { throw ValidationError("--to and --into name a file") }
    if all, to != nil || !options.expect.isEmpty { throw ValidationError("--all goes without --to and --expect") }
    try validateTables()
  }

  private func validateTables() throws {
    guard !tables.isEmpty else { return }
    if all || to != nil || replace || live || options.vacuum || options.journal != nil || options.noCompanions {
      throw ValidationError(
        "--table goes without --all, --to, --replace, --live, --vacuum, --journal and --no-companions")
    }
    if tableNames.contains("") { throw ValidationError("--table is a list of names such as orders,items") }
  }

  private var tableNames: [String] {
    tables.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    if let into { return try await restore(tableNames, into: into, in: session) }
    guard to != "-" else {
      throw OperationError(
        .usage, "restore writes a file, not standard output",
        hint: "Use `sealift pull VERSION -o -`, or write ./- for a file of that name.")
    }
    var request = Restore.Request(place: .origin([:]), mode: replace ? .replace : live ? .live : .new)
    request.keepsUndo = !noUndo
    request.busyTimeout = patience
    request.onlyIfMissing = ifMissing
    if all { return try await RetrievalOfAll(options, host).restore(request, in: session) }
    let retrieval = Retrieval(version ?? "", options)
    if ifMissing, let there = try retrieval.standing(at: to, in: session) {
      for remark in Restore.remarks(on: there) { session.terminal.notice(remark) }
      return try Retrieval.Report.alreadyThere(there, dryRun: options.dryRun, session.terminal)
    }
    return try await retrieval.restore(to: to, request, in: session)
  }

  /// `nil` where it is not said.
  private var patience: Duration? { busyTimeout.flatMap(TimeSpan.parse).map { .milliseconds($0) } }

  private func restore(_ tables: [String], into database: String, in session: Session) async throws -> ExitStatus {
    let source = try Retrieval.Source(version ?? "", session)
    return try await source.namingOthers { try await restore(tables, into: database, from: source, in: session) }
  }

  private func restore(
    _ tables: [String], into database: String, from source: Retrieval.Source, in session: Session
  ) async throws -> ExitStatus {
    var request = RestoreTables.Request(tables: tables, into: try Paths.fromRoot(database))
    (request.expect, request.dryRun) = (options.expect, options.dryRun)
    if let patience = patience ?? source.configuration.busyTimeout(at: request.database) {
      request.busyTimeout = patience
    }
    let outcome = try await RestoreTables(options.pull(source.world)).run(
      source.selector, from: source.target, request)
    // The last word is that of the damage.
    if outcome.damage != nil, let left = outcome.shortfall { session.terminal.notice(left.message) }
    return try Retrieval.Report.end(outcome.damage ?? outcome.shortfall, session.terminal) {
      guard !outcome.dryRun else { return try tell(outcome, session.terminal) }
      let names = outcome.tables.map(\.name)
      let deed = "\(names.joined(separator: ", ")) \(names.count == 1 ? "was" : "were") copied to \(outcome.path)"
      try session.terminal.result(of: deed) { try tell(outcome, session.terminal) }
    }
  }

  private func tell(_ outcome: RestoreTables.Outcome, _ terminal: Terminal) throws {
    guard !terminal.manner.json else {
      return try terminal.result(Documents.tables(outcome, notices: terminal.notices))
    }
    for line in Retrieval.Report.misgivings(about: outcome.version) { terminal.notice(line) }
    for table in outcome.tables {
      let parts = (table.indexes.map { "index \($0)" } + table.triggers.map { "trigger \($0)" })
      let with = parts.isEmpty ? "" : ", with \(parts.joined(separator: ", "))"
      let verb = outcome.dryRun ? "would copy" : "copied"
      let rows = Count.text(table.rows, "row")
      try terminal.result(printable("\(verb) \(table.name) to \(outcome.path): \(rows)\(with)"))
    }
  }
}
