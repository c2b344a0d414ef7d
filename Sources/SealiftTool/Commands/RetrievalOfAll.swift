import Sealift

/// `pull --all` and `restore --all`: each database in turn; what failed does not stop the others.
struct RetrievalOfAll {
  private let options: RetrievalOptions
  private let host: String?

  init(_ options: RetrievalOptions, _ host: String?) {
    self.options = options
    self.host = host
  }

  func pull(into folder: String, in session: Session) async throws -> ExitStatus {
    guard Paths.isFolder(folder) else {
      throw OperationError(
        .usage, code: "noFolder", "there is no folder \(folder)", hint: "Make it, or name another one.")
    }
    let path = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    return try await run(.pull(into: path), try session.configuration(), in: session)
  }

  func restore(_ request: Restore.Request, in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    guard !configuration.databases.isEmpty else {
      throw OperationError(
        .usage, code: "noPlace", "no databases are configured: where they belong is not known",
        hint: "Fetch all of them into a folder with `sealift pull --all FOLDER`.")
    }
    var request = request
    request.busyTimeouts = configuration.busyTimeouts
    return try await run(.restore(request, paths: configuration.paths), configuration, in: session)
  }

  private func run(
    _ work: RestoreAll.Work, _ configuration: Configuration, in session: Session
  ) async throws -> ExitStatus {
    let targets = try Targets(session, configuration)
    let settings = try targets.one()
    let target = try targets.access(settings)
    var all = RestoreAll(options.pull(try session.world(configuration, readOnly: true)))
    all.dryRun = options.dryRun
    // Of a target that only the command line knows nothing says what is there.
    if configuration.targets.contains(where: { $0.name == settings.name }) {
      all.elsewhere = Set(
        configuration.databases.filter { $0.targets?.contains(settings.name) == false }.map(\.source.name))
    }
    let outcome = try await all.run(work, from: target, host: host) { done in
      guard let outcome = done.outcome, !done.alreadyThere, !session.options.json else { return }
      Retrieval.Report.notes(outcome, session.terminal)
    }
    for name in outcome.passedOver {
      session.terminal.notice("'\(name)' is at \(target.name) and not in the configuration: passed over")
    }
    if host == nil { tell(outcome.others, at: target.name, session.terminal) }
    if !outcome.freshnessProvable { session.terminal.notice("\(target.name): \(ListLines.unproven); \(Self.heads)") }
    for one in outcome.done {
      guard let preview = one.preview else { continue }
      for line in Retrieval.Report.forewarnings(of: preview.version) + [preview.doubt].compactMap({ $0 }) {
        session.terminal.notice("'\(one.database)': \(line)")
      }
    }
    var unsaid: OperationError?
    do { try tell(outcome, session.terminal) } catch { unsaid = Self.unsaid(error, outcome, session.terminal) }
    return try end(outcome, unsaid, session.terminal)
  }

  private static let heads = "compare the heads that `sealift show` tells with those noted elsewhere"

  /// A repository may be that of a hundred hosts.
  private func tell(_ others: [(host: String, databases: [String])], at target: String, _ terminal: Terminal) {
    guard let other = others.first else { return }
    var (what, host) = (Self.few(10, of: other.databases), other.host)
    if others.count > 1 { (what, host) = ("databases", "HOST") }
    let hosts = Self.few(5, of: others.map(\.host))
    terminal.notice("\(target): also there, and not restored: \(what) of \(hosts) (--host \(host))")
  }

  private static func few(_ count: Int, of names: [String]) -> String {
    let more = names.count - count
    return names.prefix(count).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  private func tell(_ outcome: RestoreAll.Outcome, _ terminal: Terminal) throws {
    guard !terminal.manner.json else {
      return try terminal.result(
        Documents.restoredAll(outcome, dryRun: options.dryRun, notices: terminal.notices))
    }
    var table = Table(
      [("DATABASE", .left), ("TIME", .left), ("SIZE", .right), ("OUTCOME", .left)], names: ["DATABASE"])
    for one in outcome.done {
      guard let version = one.outcome?.pulled.version ?? one.preview?.version else { continue }
      let path = one.preview?.path ?? one.outcome?.pulled.path ?? ""
      let said = one.alreadyThere ? "already there: \(path)" : one.preview == nil ? path : "would be \(path)"
      table.add([one.database, Times.seconds(version.time), ByteCount.text(version.size), said])
    }
    for failure in outcome.failures { table.add([failure.database ?? "?", "", "", "FAILED (\(failure.error.code))"]) }
    for line in table.lines(within: terminal.manner.width) { try terminal.result(line) }
  }

  /// Without its document nobody would know where the old databases are; people were told one by one.
  private static func unsaid(
    _ error: any Error, _ outcome: RestoreAll.Outcome, _ terminal: Terminal
  ) -> OperationError {
    var unsaid = OperationError(error)
    let undo = outcome.done.compactMap { $0.outcome?.undo }
    if terminal.manner.json, !undo.isEmpty { unsaid.hint = "To take it back: \(undo.joined(separator: " && "))" }
    return unsaid
  }

  /// - Parameter unsaid: standard output would not take what was done: that hides nothing else.
  /// - Throws: the interruption; the first failure when nothing was done.
  private func end(
    _ outcome: RestoreAll.Outcome, _ unsaid: OperationError?, _ terminal: Terminal
  ) throws -> ExitStatus {
    let damages = outcome.done.compactMap { $0.outcome?.damage }
    if let unsaid {
      guard !outcome.failures.isEmpty || !damages.isEmpty || outcome.interruption != nil else { throw unsaid }
      terminal.tell(unsaid)
    }
    if var interruption = outcome.interruption {
      for told in damages + outcome.failures.map(\.error) { terminal.tell(told) }
      if let back = unsaid?.hint { interruption.hint = back }
      throw interruption
    }
    let errors = outcome.failures.map(\.error)
    // What is damaged says more than what could not be had.
    if var worst = errors.first(where: { $0.kind == .verificationFailed }) ?? damages.first {
      for told in damages + errors { terminal.tell(told) }
      if let back = unsaid?.hint { worst.hint = back }
      terminal.tellDocument(worst)
      return .verificationFailed
    }
    guard let first = errors.first else { return .success }
    for error in errors.dropFirst(outcome.done.isEmpty ? 1 : 0) { terminal.tell(error) }
    guard !outcome.done.isEmpty else { throw first }
    terminal.tellDocument(
      OperationError(
        .partlyDone,
        "\(outcome.failures.count) of \(outcome.failures.count + outcome.done.count) databases could not be restored: "
          + first.message, hint: unsaid?.hint ?? first.hint))
    return .partlyDone
  }
}
