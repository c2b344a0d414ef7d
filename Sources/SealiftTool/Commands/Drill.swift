import ArgumentParser
import Sealift

/// `drill`; the operation is called `Drill`.
struct DrillCommand: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "drill",
    abstract: "Restore versions from a target alone, and try whether they can be lived with.",
    discussion: """
      Each version is restored into a scratch place with nothing that this machine remembers, and looked at: \
      integrity_check, foreign_key_check, the rows of each table as they were at push, the SHA-256, and a query of \
      your own. The outcome is noted with the version; one that cannot be restored is flagged as damaged. \
      Nothing of what was restored is left on this machine.

        sealift drill
        sealift drill app --random --query "SELECT 1 FROM orders WHERE day > date('now', '-2 days')"
        sealift --target nas drill --versions 3f2a91c0 --no-record
      """)

  @Argument(help: ArgumentHelp("Databases by name; all of this host when there are none.", valueName: "name"))
  var databases: [String] = []

  @Flag(help: "Take any version of each database instead of the newest.")
  var random = false

  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      "This version: an id, NAME:latest or NAME@TIME. May be given more than once.", valueName: "version"))
  var versions: [String] = []

  @Option(help: ArgumentHelp("A SELECT that must return a row.", valueName: "sql"))
  var query: String?

  @Option(help: ArgumentHelp("How long the query may take, such as 30s.", valueName: "time"))
  var queryTimeout: String?

  @Flag(help: "Do not mind rows that refer to rows that are not there.")
  var noForeignKeys = false

  @Flag(help: "Also databases that other hosts push.")
  var allHosts = false

  @Option(
    help: ArgumentHelp(
      "Restore below this folder, which must be there, instead of the state folder.", valueName: "folder"),
    completion: .directory)
  var scratch: String?

  @Flag(help: "Do not note the outcome at the target.")
  var noRecord = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if !versions.isEmpty, random || allHosts || !databases.isEmpty {
      throw ValidationError("--versions names what is drilled: it goes without names, --random and --all-hosts")
    }
    if let queryTimeout, TimeSpan.parseSome(queryTimeout) == nil {
      throw ValidationError("--query-timeout is a time above 0, such as 30s, not '\(queryTimeout)'")
    }
    if let query, query.isEmpty { throw ValidationError("--query is empty") }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    let selectors = try versions.map(VersionSelector.init(parsing:))
    let folder = try scratch.map(Paths.existingFolder)
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let chosen = try targets.all()
    let world = try session.world(configuration)
    var report = DrillReport()
    for target in chosen {
      guard let here = targets.among(databases, at: target) else { continue }
      var request = request(configuration)
      request.scratch = folder
      request.databases = here
      // One that was made for later, as when all moves to it.
      request.mayBeEmpty = here.isEmpty && targets.expectsNothing(at: target)
      if !selectors.isEmpty { request.choice = .versions(selectors) }
      await report.drill(request, at: target.name, world, session.terminal) { try targets.access(target) }
    }
    return try report.end(session.terminal)
  }

  private func request(_ configuration: Configuration) -> Drill.Request {
    var request = Drill.Request()
    request.allHosts = allHosts
    request.choice = random ? .random : .newest
    request.records = !noRecord
    for database in configuration.databases { request.trials[database.source.name] = asked(database.drill) }
    request.otherwise = asked(Drill.Trial())
    return request
  }

  /// The options of the command line go before the configuration.
  private func asked(_ trial: Drill.Trial) -> Drill.Trial {
    var trial = trial
    if let query { trial.query = query }
    if let limit = queryTimeout.flatMap(TimeSpan.parseSome) { trial.queryLimit = .milliseconds(limit) }
    if noForeignKeys { trial.foreignKeys = false }
    return trial
  }
}
