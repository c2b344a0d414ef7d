import ArgumentParser
import Glibc
import Sealift

/// What may be said to `pull` and `restore` alike.
struct RetrievalOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Refuse unless the chain contains this head, noted at a push.", valueName: "head"))
  var expect: String?

  @Flag(help: "Run SQLite's check on the result, also when it said ok at push and the content is proved identical.")
  var check = false
}

/// What `pull` and `restore` share: a version back, into a file or to standard output.
struct Retrieval {
  private let version: String
  /// `nil` is standard output.
  private let path: String?
  private let options: RetrievalOptions

  init(_ version: String, _ path: String?, _ options: RetrievalOptions) {
    self.version = version
    self.path = path
    self.options = options
  }

  func run(in session: Session) async throws -> ExitStatus {
    let selector = try VersionSelector(parsing: version)
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let target = try targets.access(try targets.one())
    let world = try session.world(configuration, readOnly: true)
    var pull = Pull(world)
    pull.alwaysChecks = options.check
    guard let path else {
      let outcome = try await pull.run(
        selector, from: target, to: .descriptor(STDOUT_FILENO), expect: options.expect)
      tell(outcome, session.terminal)
      return .success
    }
    let (exact, file) = try await destination(path, selector, target, world)
    let outcome = try await pull.run(exact, from: target, to: .file(file), expect: options.expect)
    if session.options.json {
      try session.terminal.result(Documents.pull(outcome, notices: session.terminal.notices))
    } else {
      try session.terminal.result(outcome.path ?? file)
      tell(outcome, session.terminal)
    }
    return .success
  }

  /// In a folder the file is named after the database and the time of the version, which must be known first.
  private func destination(
    _ path: String, _ selector: VersionSelector, _ target: TargetAccess, _ world: World
  ) async throws -> (VersionSelector, String) {
    guard path.hasSuffix("/") || Paths.isFolder(path) else { return (selector, path) }
    guard Paths.isFolder(path) else {
      throw OperationError(
        .usage, code: "noFolder", "there is no folder \(path)",
        hint: "Make it, or name a file without the slash at its end.")
    }
    let version = try await ListVersions(world).show(selector, at: target).summary
    let folder = path.hasSuffix("/") ? path : path + "/"
    return (.id(prefix: version.id), folder + Self.fileName(version))
  }

  /// `<basename>-<UTC yyyyMMdd'T'HHmmss'Z'>.sqlite`; what is no database goes without the ending.
  static func fileName(_ version: VersionSummary) -> String {
    let name = String(version.database.map { $0 == "/" || $0 == "\0" ? "_" : $0 })
    return "\(name)-\(Times.compact(version.time))\(version.isDatabase ? ".sqlite" : "")"
  }

  private func tell(_ outcome: Pull.Outcome, _ terminal: Terminal) {
    let version = outcome.version
    let since = outcome.checkedAt == .push ? " (at push; content proved identical)" : ""
    terminal.notice(
      "'\(version.database)' of \(Times.seconds(version.time)), version \(version.id.prefix(8)), check: \(outcome.check)\(since)"
    )
    if let folder = outcome.supportFolder { terminal.notice("its external files are in \(folder)") }
    if let folder = outcome.companionsFolder { terminal.notice("its companion files are in \(folder)") }
  }
}
