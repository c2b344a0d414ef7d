import Repositories
import Sealing
import Snapshots
import Storage

/// `sealift restore`: a version back to where an application uses it.
package struct Restore: Sendable {
  package enum Mode: String, Sendable {
    /// Nothing of that name may be there.
    case new
    /// What is there is moved aside first; nobody may have it open.
    case replace
    /// Into the database that is there, in one transaction, whoever has it open.
    case live
  }

  package enum Place: Sendable {
    case file(String)
    /// Where the database of that name is, by the configuration.
    case origin([String: String])
    /// Where the version's own database is known to be.
    case home(String)
  }

  package struct Request: Sendable {
    package var place: Place
    package var mode = Mode.new
    /// A live restore keeps the old content as a file first.
    package var keepsUndo = true
    /// Head codes that the chain must contain.
    package var expect: [String] = []
    /// Where databases are by the configuration: a file that is named may be one of them.
    package var configured: [String: String] = [:]
    /// What is there is left alone: no other mode is a way on.
    package var onlyIfMissing = false
    /// How long locks are waited for; `nil`: as long as pushes of the database in that place wait.
    package var busyTimeout: Duration?
    /// How long those wait, by the paths of the configuration.
    package var busyTimeouts: [String: Duration] = [:]

    package init(place: Place, mode: Mode = .new) {
      self.place = place
      self.mode = mode
    }

    package func patience(at path: String) -> Duration {
      busyTimeout ?? Restore.busyTimeout(at: path, of: busyTimeouts) ?? .seconds(30)
    }

    /// It is decided by the path that was asked for: what its links lead to may have another name.
    func waiting(at path: String) -> Request {
      var request = self
      request.busyTimeout = patience(at: path)
      return request
    }

    /// What comes with the database goes to where an application looks for it. Beside any other file stand companions of
    /// somebody else: those of the database that the version is of, perhaps.
    /// - Parameter path: of the restored database.
    func putsCompanionsInPlace(of database: String, at path: String) -> Bool {
      switch place {
      case .origin, .home: true
      case .file:
        if let known = configured.value(ofName: database), let home = try? Restore.realPlace(of: known),
          let real = try? Restore.realPlace(of: path)
        {
          MemberPath.isSame(home, real)
        } else {
          false
        }
      }
    }
  }

  package struct Move: Sendable, Hashable {
    package var from: String
    package var to: String
  }

  package struct Outcome: Sendable {
    package var pulled: Pull.Outcome
    package var mode: Mode
    /// What stood in its place, and where it is now.
    package var moved: [Move] = []
    /// Where the companions are, for a database that came back to where it is used.
    package var companions: [String] = []
    /// A copy of the content that a live restore took the place of.
    package var undoCopy: String?
    /// A line for a shell that takes the restore back.
    package var undo: String?

    /// Paths of all that came with the database.
    var putBeside: [String] { companions + pulled.putBeside }
  }

  /// In a live restore; for tests that let it die there.
  enum LiveMoment: Sendable {
    /// Some pages are written.
    case writing
    /// All pages are written and the companions are in their places: only the commit is left.
    case moved
  }

  package var pull: Pull
  var world: World { pull.world }
  var onLive: @Sendable (LiveMoment) throws -> Void = { _ in }
  /// In one that replaces: the companions are in their places, and the database has no name yet; for tests that let it
  /// die there.
  var onReplace: @Sendable () throws -> Void = {}
  /// Whether something is mounted right at a path; tests answer it themselves.
  var isMountPoint: @Sendable (String) -> Bool = { FileSystemKind.isMountPoint($0) }

  package init(_ pull: Pull) { self.pull = pull }

  package func run(_ selector: VersionSelector, from target: TargetAccess, _ request: Request) async throws -> Outcome {
    try await told(target) {
      try await restore(try await pull.find(selector, at: target, expect: request.expect), request)
    }
  }

  /// What `run` would do. Nothing is changed, and nothing of the version's content is fetched.
  package func preview(
    _ selector: VersionSelector, from target: TargetAccess, _ request: Request
  ) async throws -> RestorePreview {
    try await told(target) {
      try await RestorePreview(try await pull.find(selector, at: target, expect: request.expect), request, self)
    }
  }

  func told<Value>(_ target: TargetAccess, _ work: () async throws -> Value) async throws -> Value {
    do { return try await work() } catch {
      throw OperationError(error, doing: "restoring from \(target.name)")
    }
  }

  func restore(_ found: FoundVersion, _ request: Request) async throws -> Outcome {
    try demandSense(request, found)
    let path = try path(of: found, request)
    let unfinished = UnfinishedRestore(of: path)
    for remark in unfinished.remarks { world.reporter.notice(remark) }
    let place = try request.mode == .new ? path : Self.realPlace(of: path)
    try found.demandNoOwnFolder(of: request, beside: place, world)
    let outcome =
      switch request.mode {
      case .new: try await hinting(request, at: path) { try await restoreNew(found, at: path, request) }
      case .replace: try await replace(found, at: place, request.waiting(at: path))
      case .live: try await restoreLive(found, into: place, request.waiting(at: path))
      }
    NewIntent(database: place).tidy()
    // Files that are left alone are as the one that did not end has left them.
    if !found.leavesCompanions { unfinished.settle(outcome.companions, beside: place) }
    if let caution = found.manifest.body.remarks.store?.caution { world.reporter.notice(caution) }
    pull.tellLeftOut(found)
    return outcome
  }

  private func restoreNew(_ found: FoundVersion, at path: String, _ request: Request) async throws -> Outcome {
    try ReplaceIntent(database: path).demandSettled()
    NewIntent(database: path).tidy()
    try found.demandFreePlaces(for: request, beside: path)
    pull.tellDoubt(RestoreRoom(found, beside: path, pull.makeOver, state: world.stateFolder))
    let spooled = try await pull.spool(found, for: path)
    defer { spooled.discard() }
    let beside = try await pull.keeping(spooled) {
      try await RestoreBeside(found, spooled.reader, beside: path, self, request)
    }
    defer { beside.discard() }
    let naming = try await pull.keeping(spooled) {
      try await NewNaming.begin(path, try beside.claims(), within: request.patience(at: path), world)
    }
    defer { naming.end() }
    try beside.put(Times.compact(world.now()))
    do {
      try pull.onNew()
      try spooled.file.publish()
    } catch {
      beside.takeBack()
      throw pull.givenUp(spooled.file, after: error)
    }
    var outcome = Outcome(pulled: pull.outcome(found, spooled, path), mode: .new)
    beside.tell(&outcome)
    pull.tellHandingOver(path, with: outcome.putBeside)
    return outcome
  }

  /// - Throws: `.usage` for a version of another host, or of a database that is not configured; `.stateFolder` where it is
  ///   not known which host this one is.
  func path(of found: FoundVersion, _ request: Request) throws -> String {
    switch request.place {
    case .file(let path), .home(let path): return path
    case .origin(let paths):
      let (version, host) = (found.summary, try ownHost())
      guard host.isSameName(as: version.host) else {
        throw OperationError(
          .usage, code: "otherHost",
          "version \(version.id.prefix(8)) is of \(version.host), and this is \(host): its place here is not known",
          hint: "Name the file with --to FILE.")
      }
      guard let path = paths.value(ofName: version.database) else {
        throw OperationError(
          .usage, code: "noPlace", "no path is configured for the database '\(version.database)'",
          hint: "Name the file with --to FILE.")
      }
      return path
    }
  }

  private func ownHost() throws -> String {
    do { return try HostName.known(world) } catch {
      var problem = OperationError(error)
      let hints = [problem.hint, "Or restore it to another file with --to FILE, which asks for no name."]
      problem.hint = hints.compactMap { $0 }.joined(separator: " ")
      throw problem
    }
  }

  func demandSense(_ request: Request, _ found: FoundVersion) throws {
    guard request.mode == .live else { return }
    guard found.isImage else {
      throw OperationError(
        .usage, code: "noImage", "the version is no SQLite database, and cannot be restored into one",
        hint: "Restore it with --replace, or to a new file.")
    }
    guard pull.makeOver.isNothing else {
      throw OperationError(
        .usage, "--vacuum and --journal do not go with --live: the database keeps its journal mode and its free pages",
        hint: "Leave them out, and run VACUUM in the application afterwards.")
    }
  }

  /// Where something is in the way of a new file, a restore knows two ways on; where only what is to come with it stands
  /// there, nothing can be restored into.
  func hinting<Value>(
    _ request: Request, at path: String, _ work: () async throws -> Value
  ) async throws -> Value {
    do { return try await work() } catch var error as OperationError where error.code == "destinationExists" {
      let hints = [Self.hint(request, whenInTheWayOf: path), NewIntent.keeping(error)]
      error.hint = hints.compactMap { $0 }.joined(separator: " ")
      throw error
    }
  }

  private static func hint(_ request: Request, whenInTheWayOf path: String) -> String {
    guard !request.onlyIfMissing else {
      return "Move away what stands there: with --if-missing nothing is replaced."
    }
    let ways =
      CompanionsPlace.stands(path)
      ? "Stop its application and add --replace, or add --live while it runs"
      : "Stop its application and add --replace, or move that away"
    // Of all databases each has its place.
    return switch request.place {
    case .home: "\(ways)."
    case .file, .origin: "\(ways); or name another file with --to."
    }
  }
}
