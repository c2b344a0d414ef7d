import ArgumentParser
import Glibc
import Sealift

extension MakeOver.Journal: ExpressibleByArgument {}

/// What may be said to `pull` and `restore` alike.
struct RetrievalOptions: ParsableArguments {
  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      "Refuse unless the chain contains this head, noted at a push. May be given more than once.", valueName: "head"))
  var expect: [String] = []

  @Flag(help: "Run SQLite's check on the result, also when it said ok at push and the content is proved identical.")
  var check = false

  @Flag(help: "Repack the restored database; it is not byte for byte the version then.")
  var vacuum = false

  @Option(
    help: "Let the restored database be in this journal mode: wal or delete.", completion: .list(["wal", "delete"]))
  var journal: MakeOver.Journal?

  @Flag(help: "Restore the database alone, without its companions; those that stand at the destination stay.")
  var noCompanions = false

  @Flag(name: [.long, .customShort("n")], help: "Say what would be done, and do nothing.")
  var dryRun = false

  func pull(_ world: World) -> Pull {
    var pull = Pull(world)
    pull.alwaysChecks = check
    pull.makeOver = MakeOver(vacuum: vacuum, journal: journal)
    pull.leavesCompanions = noCompanions
    return pull
  }
}

/// What `pull` and `restore` share: a version back, into a file or to standard output.
struct Retrieval {
  private let version: String
  private let options: RetrievalOptions

  init(_ version: String, _ options: RetrievalOptions) {
    self.version = version
    self.options = options
  }

  /// - Parameter path: `nil` is standard output.
  func pull(to path: String?, in session: Session) async throws -> ExitStatus {
    let source = try Source(version, session)
    return try await source.namingOthers { try await pull(to: path, from: source, in: session) }
  }

  private func pull(to path: String?, from source: Source, in session: Session) async throws -> ExitStatus {
    let pull = options.pull(source.world)
    guard let path else {
      let outcome = try await pull.run(
        source.selector, from: source.target, to: .descriptor(STDOUT_FILENO), expect: options.expect)
      return try Report.end(outcome.damage, session.terminal) { Report.tell(outcome, session.terminal) }
    }
    let (exact, file) = try await source.destination(path)
    if options.dryRun {
      return try Report.show(
        try await pull.preview(exact, from: source.target, to: file, expect: options.expect), session.terminal)
    }
    let outcome = try await pull.run(exact, from: source.target, to: .file(file), expect: options.expect)
    return try Report.end(outcome.damage, session.terminal) {
      try session.terminal.result(of: "\(outcome.path ?? file) is there") {
        if session.options.json {
          try session.terminal.result(Documents.pull(outcome, notices: session.terminal.notices))
        } else {
          defer { Report.tell(outcome, session.terminal) }
          try session.terminal.result(outcome.path ?? file)
        }
      }
    }
  }

  /// - Parameter path: `nil` is where the database is by the configuration.
  func restore(to path: String?, _ asked: Restore.Request, in session: Session) async throws -> ExitStatus {
    let source = try Source(version, session)
    return try await source.namingOthers { try await restore(to: path, asked, from: source, in: session) }
  }

  private func restore(
    to path: String?, _ asked: Restore.Request, from source: Source, in session: Session
  ) async throws -> ExitStatus {
    var (request, selector) = (asked, source.selector)
    request.expect = options.expect
    request.configured = source.configuration.paths
    request.busyTimeouts = source.configuration.busyTimeouts
    if let path {
      let exact = try Paths.fromRoot(path)
      let file: String
      (selector, file) = asked.mode == .new ? try await source.destination(path) : (selector, exact)
      request.place = .file(file)
    } else {
      request.place = .origin(source.configuration.paths)
    }
    let restore = Restore(options.pull(source.world))
    if options.dryRun {
      return try Report.show(try await restore.preview(selector, from: source.target, request), session.terminal)
    }
    let outcome = try await restore.run(selector, from: source.target, request)
    return try Report.end(outcome.damage, session.terminal) { try Report.tell(outcome, session.terminal) }
  }

  /// What stands where a database would come to be. A container that starts again may have no network: nothing is asked
  /// of the target for this.
  /// - Parameter path: as of `restore`.
  /// - Throws: `.usage` where only the target could tell what the file is called.
  func standing(at path: String?, in session: Session) throws -> String? {
    let selector = try VersionSelector(parsing: version)
    if let path {
      guard !path.hasSuffix("/"), !Paths.isFolder(path) else {
        throw OperationError(
          .usage, "--if-missing needs the name of the file, and \(path) is a folder", hint: "Name the file with --to.")
      }
      return Restore.standing(at: path)
    }
    guard let database = selector.database else {
      throw OperationError(
        .usage, "--if-missing has to know where the database belongs, and '\(version)' does not say which one it is",
        hint: "Name the version by its database, such as app:latest, or the file with --to.")
    }
    return try session.configuration().paths.value(ofName: database).flatMap(Restore.standing)
  }

  /// Where a version comes from, by what was said on the command line and in the configuration.
  struct Source {
    let selector: VersionSelector
    let configuration: Configuration
    let target: TargetAccess
    let world: World
    /// Other targets that the database goes to, where it is named and configured.
    private let others: [String]

    init(_ version: String, _ session: Session) throws {
      selector = try VersionSelector(parsing: version)
      configuration = try session.configuration()
      let targets = try Targets(session, configuration)
      let settings = try targets.one(for: [selector])
      target = try targets.access(settings)
      world = try session.world(configuration, readOnly: true)
      others = configuration.otherTargets(of: selector.database, besides: settings.name)
    }

    /// What is damaged or gone at this target may be whole at another one.
    func namingOthers<Value>(_ work: () async throws -> Value) async throws -> Value {
      do { return try await work() } catch {
        var told = OperationError(error)
        guard told.kind == .verificationFailed, let other = others.first else { throw error }
        let clause = "The database also goes to \(others.joined(separator: ", ")): `--target \(shellWord(other))`."
        told.hint = told.hint.map { "\($0) \(clause)" } ?? clause
        throw told
      }
    }

    /// In a folder the file is named after the database and the time of the version, which must be known first.
    func destination(_ path: String) async throws -> (VersionSelector, String) {
      guard path.hasSuffix("/") || Paths.isFolder(path) else { return (selector, path) }
      guard Paths.isFolder(path) else {
        throw OperationError(
          .usage, code: "noFolder", "there is no folder \(path)",
          hint: "Make it, or name a file without the slash at its end.")
      }
      let version = try await ListVersions(world).show(selector, at: target).summary
      let folder = path.hasSuffix("/") ? path : path + "/"
      return (.id(prefix: version.id), folder + Retrieval.fileName(version))
    }
  }

  /// `<basename>-<UTC yyyyMMdd'T'HHmmss'Z'>.sqlite`; what is no database goes without the ending.
  static func fileName(_ version: VersionSummary) -> String {
    "\(version.database.asFileName)-\(Times.compact(version.time))\(version.isDatabase ? ".sqlite" : "")"
  }
}

extension Configuration {
  /// Where each database is.
  var paths: [String: String] {
    Dictionary(databases.map { ($0.source.name, $0.source.path) }, uniquingKeysWith: { first, _ in first })
  }

  /// Targets that a database goes to; none where it is not configured.
  fileprivate func otherTargets(of name: String?, besides target: String) -> [String] {
    guard let database = databases.first(where: { $0.source.name == name }) else { return [] }
    return targets.map(\.name).filter { $0 != target && (database.targets?.contains($0) ?? true) }
  }

  /// How long locks are waited for, by the paths of databases.
  var busyTimeouts: [String: Duration] {
    let known = databases.map { ($0.source.path, Duration.milliseconds($0.source.busyTimeoutMilliseconds)) }
    return Dictionary(known, uniquingKeysWith: { first, _ in first })
  }

  /// - Returns: `nil` where no database of the configuration is at that path.
  func busyTimeout(at path: String) -> Duration? {
    Restore.busyTimeout(at: path, of: busyTimeouts)
  }
}
