import ArgumentParser
import Sealift

/// `push`; the operation is called `Push`.
struct PushCommand: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Take a copy of databases, seal it and store it.",
    discussion: """
      An argument with a '/' in it is the path of a database file (of a configured one: that one, as it is configured), \
      any other is a name from the configuration. A file that is not configured is called as its file is, without the \
      ending; two of one name need --name. Without \
      arguments all configured databases are pushed. Applications may go on writing meanwhile.

        sealift push
        sealift push app --tag before-upgrade --note "schema 12"
        sealift --target file:///srv/backup push ./app.db
      """)

  @Argument(help: ArgumentHelp("Names from the configuration, or paths.", valueName: "name|path"), completion: .file())
  var databases: [String] = []

  @Option(name: .customLong("tag"), parsing: .singleValue, help: "A tag for the version; may be given more than once.")
  var tags: [String] = []

  @Option(help: ArgumentHelp("A note for the version.", valueName: "text"))
  var note = ""

  @Option(
    help: "How to copy: vacuum (smallest), pages (exact), or file (what is no SQLite database, as it is).",
    completion: .list(DatabaseSource.Method.allCases.map(\.rawValue)))
  var method: DatabaseSource.Method?

  @Flag(name: [.long, .customShort("n")], help: "Take the copy and count what would be new; store nothing.")
  var dryRun = false

  @Flag(help: "Store all of it anew, in new packs, and keep this version as the base of those to come.")
  var rebuildBase = false

  @Option(help: "The database's name, when it is given as a path.")
  var name: String?

  @Flag(help: "Let SQLite roll back a hot journal, which changes the database file.")
  var allowRecovery = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if name != nil, databases.count != 1 { throw ValidationError("--name needs exactly one database, given as a path") }
    if method == .file, allowRecovery {
      throw ValidationError("--allow-recovery is for databases, not for --method file")
    }
    if dryRun, allowRecovery {
      throw ValidationError("--allow-recovery changes the database, and --dry-run changes nothing")
    }
    if tags.contains("") { throw ValidationError("a tag must not be empty") }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let chosen = try chosen(configuration)
    let isNamed = !databases.isEmpty
    let pushes = try chosen.map { (database: $0, targets: try targets.all(for: $0, isNamed: isNamed)) }
    if !isNamed { try passOver(chosen, targets, session.terminal) }
    let world = try session.world(configuration)
    let wishes = pushes.map { (database: $0.database.source, targets: $0.targets.map(\.name)) }
    var report = PushReport(of: wishes)
    for turn in RunTurn.inOrder(wishes, world) {
      let (database, settings) = pushes[turn.database]
      guard report.awaits(database.source) else { continue }
      let meant = settings.filter { turn.targets.contains($0.name) }
      let opened = await open(meant, of: database, targets, world, &report)
      guard !opened.isEmpty else { continue }
      var request = Push.Request(database: database.source, targets: opened)
      (request.tags, request.note, request.dryRun) = (tags, note, dryRun)
      request.rebuildBase = rebuildBase
      request.verifyRemoteEvery = configuration.verifyRemote
      await report.push(request, world, session.terminal)
    }
    return try report.end(session.terminal)
  }

  /// `--target` alone does not send a database where its own targets do not let it go.
  /// - Throws: `.usage` when none is left.
  private func passOver(
    _ databases: [Configuration.DatabaseSettings], _ targets: Targets, _ terminal: Terminal
  ) throws {
    try targets.tellPassedOver(databases, not: "is not pushed to", all: "push it there all the same", terminal)
    try targets.demandSome(of: databases, for: "push")
  }

  /// A target that cannot even be opened fails like one that breaks later: the others go on.
  private func open(
    _ settings: [TargetSettings], of database: Configuration.DatabaseSettings, _ targets: Targets, _ world: World,
    _ report: inout PushReport
  ) async -> [TargetAccess] {
    let turns = PushTurns(of: database.source, dryRun: dryRun, world)
    var opened: [TargetAccess] = []
    for target in settings {
      do {
        // A folder may lie on a disk that does not answer.
        let access = try await turns.asking(target.name) {
          // Of a database that did not change nothing is asked.
          try targets.access(
            target, readsSecrets: false, doing: "pushing '\(database.source.name)' to \(target.name)")
        }
        opened.append(access)
      } catch {
        report.failed(database.source.name, target.name, OperationError(error))
      }
    }
    return opened
  }

  /// What the command line and the configuration say together may make no sense, though each does alone.
  private func refuseIdle(_ source: DatabaseSource) throws {
    let isSaid = source.allowRecovery || source.keepFreePages || source.maxWalGrowth != nil
    guard source.method == .file, isSaid else { return }
    throw OperationError(
      .usage, code: "notForFiles", "'\(source.name)' is pushed as a file, but is to be treated as a database",
      hint: "allowRecovery, keepFreePages and maxWalGrowth go with the methods vacuum and pages.")
  }

  private func chosen(_ configuration: Configuration) throws -> [Configuration.DatabaseSettings] {
    if databases.isEmpty, configuration.databases.isEmpty {
      throw OperationError(
        .usage, code: "noDatabase", "no database is named, and none is configured",
        hint: "Give the path of one, such as `sealift push ./app.db`, or write a configuration.")
    }
    var chosen = databases.isEmpty ? configuration.databases : try databases.map { try database($0, configuration) }
    for index in chosen.indices {
      if let method { (chosen[index].source.method, chosen[index].source.insistsOnMethod) = (method, true) }
      if allowRecovery { chosen[index].source.allowRecovery = true }
      try refuseIdle(chosen[index].source)
    }
    try refuseTwoOfOneName(chosen + configuration.databases)
    return chosen
  }

  /// A name stands for one database: two files under it would be taken for versions of each other.
  private func refuseTwoOfOneName(_ databases: [Configuration.DatabaseSettings]) throws {
    // Nobody could tell two databases apart whose names only look alike.
    var paths: [String: String] = [:]
    for source in databases.map(\.source) {
      let other = paths.updateValue(source.path, forKey: source.name)
      guard let other, !Paths.leadToOnePlace(other, source.path) else { continue }
      throw OperationError(
        .usage, code: "sameName", "'\(source.name)' would be the name of both \(other) and \(source.path)",
        hint: "Push one of them alone, under a name of its own: add `--name NAME`.")
    }
  }

  private func database(_ text: String, _ configuration: Configuration) throws -> Configuration.DatabaseSettings {
    if let settings = try ChosenDatabase(text, name: name, configuration).settings { return settings }
    throw OperationError(
      .usage, code: "unknownDatabase", "'\(text)' is not a configured database", hint: hint(for: text, configuration))
  }

  private func hint(for text: String, _ configuration: Configuration) -> String {
    let known = configuration.databases.map(\.source.name)
    let nearest = Nearest.match(for: text, among: known)
    let slash = "A file in this folder is written with a slash: ./\(text)"
    if Paths.isFile(text) { return slash + (nearest.map { ". Or did you mean '\($0)'?" } ?? "") }
    if let nearest { return "Did you mean '\(nearest)'?" }
    return known.isEmpty ? "Nothing is configured: give its path, such as ./\(text)." : slash
  }
}

extension DatabaseSource.Method: ExpressibleByArgument {}
