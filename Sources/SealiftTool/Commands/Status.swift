import ArgumentParser
import Sealift

struct Status: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Say of every database whether it is safe, and how fresh.",
    discussion: """
      The newest version at each target, whether the database changed since, the last drill, what was found damaged. \
      Ends with 13 when something is wrong at a target, with 3 when nothing is but one of several cannot be reached, \
      or a newest version is of a time that has not come; when none can be reached, with that failure's own status. \
      Whatever is not 0 deserves a look.

        sealift status
        sealift status app --json
      """)

  @Argument(help: "Only these databases, by their names.")
  var names: [String] = []

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let databases = try chosen(configuration)
    // Where none is configured, what is at the target is told, of all databases or of those.
    let wanted = databases == nil ? names : []
    if names.isEmpty, let databases { try targets.demandSome(of: databases, for: "status") }
    let operation = StatusOfDatabases(try session.world(configuration, readOnly: true))
    var tries = Tries<StatusOfDatabases.Outcome>()
    for target in try targets.all() {
      let here = databases?.filter { targets.expects($0, at: target, isNamed: !names.isEmpty) }.map(\.source)
      if let here, here.isEmpty {
        if !session.options.targets.isEmpty { session.terminal.notice("no configured database goes to \(target.name)") }
        continue
      }
      await tries.attempt(target.name, session.terminal) {
        let outcome = try await operation.run(
          here, named: wanted, at: try targets.access(target, isPatient: false))
        if !session.options.json {
          for line in StatusLines.lines(outcome) { session.terminal.report(line) }
        }
        return outcome
      }
    }
    let outcomes = tries.done.map(\.outcome)
    if session.options.json {
      session.terminal.report(
        Documents.status(outcomes, unreachable: tries.failures, notices: session.terminal.notices))
    }
    for outcome in outcomes { for problem in outcome.problems { session.terminal.tell(problem) } }
    for unsound in StatusLines.unsound(outcomes) { session.terminal.tell(unsound) }
    let found = StatusLines.alarm(outcomes)
    // What nobody can tell does not hide what could not be verified.
    let isHarmed = tries.failures.contains { $0.error.kind == .verificationFailed }
    let alarm = isHarmed && found?.kind != .verificationFailed ? nil : found
    let status = try tries.status("targets", session.terminal, isLastWord: alarm == nil)
    if alarm == nil, status == .success { try demand(wanted, in: outcomes) }
    let absences = StatusLines.absences(outcomes)
    for absence in absences { session.terminal.tell(absence) }
    guard let alarm else {
      guard status == .success, let first = absences.first else { return status }
      session.terminal.tellDocument(first)
      return .partlyDone
    }
    session.terminal.tellDocument(alarm)
    return ExitStatus(alarm.kind)
  }

  /// - Throws: `.noSuchVersion` when no target has any version of one.
  private func demand(_ wanted: [String], in outcomes: [StatusOfDatabases.Outcome]) throws {
    let found = outcomes.flatMap(\.databases).filter(\.isExpected).map(\.name)
    guard let missing = wanted.first(where: { !found.containsName($0) }), let first = outcomes.first else { return }
    let targets = outcomes.map(\.target).joined(separator: ", ")
    throw StatusLines.absence(of: missing, at: targets, first.host, .noSuchVersion)
  }

  /// - Returns: `nil` when none is configured: then what is at the target is told.
  private func chosen(_ configuration: Configuration) throws -> [Configuration.DatabaseSettings]? {
    let known = configuration.databases.map(\.source.name)
    if let path = names.first(where: { $0.contains("/") }) {
      let meant = try? ChosenDatabase(path, name: nil, configuration).name
      throw OperationError(
        .usage, code: "unknownDatabase", "'\(path)' is a path, and not the name of a database",
        hint: meant.map { "Did you mean '\($0)'?" } ?? "`sealift list` shows the names.")
    }
    guard !known.isEmpty else { return nil }
    if let stray = names.first(where: { !known.contains($0) }) {
      throw OperationError(
        .usage, code: "unknownDatabase", "'\(stray)' is not a configured database",
        hint: Nearest.match(for: stray, among: known).map { "Did you mean '\($0)'?" }
          ?? "`sealift list \(shellWord(stray))` shows its versions.")
    }
    return configuration.databases.filter { names.isEmpty || names.contains($0.source.name) }
  }
}

/// What `status` says of one target.
enum StatusLines {
  static func lines(_ outcome: StatusOfDatabases.Outcome) -> [String] {
    guard !outcome.databases.isEmpty else { return [printable(nothing(outcome))] }
    return outcome.databases.flatMap { lines($0, at: outcome.target) }.map(printable)
  }

  /// On a machine with another name than the one that pushed there is nothing of this one, and everything of that one.
  private static func nothing(_ outcome: StatusOfDatabases.Outcome) -> String {
    let others = outcome.otherHosts ?? []
    guard !others.isEmpty else { return "\(outcome.target): no versions" }
    return "\(outcome.target): no versions of host \(outcome.host); \(haveSome(others)): see `sealift list`"
  }

  /// - Parameter hosts: at least one.
  static func haveSome(_ hosts: [String]) -> String {
    let named = hosts.prefix(5).joined(separator: ", ") + (hosts.count > 5 ? " and \(hosts.count - 5) more" : "")
    return "\(named) \(hosts.count == 1 ? "has" : "have") some"
  }

  private static func lines(_ database: StatusOfDatabases.Database, at target: String) -> [String] {
    let place = "\(database.name) -> \(target):"
    guard let newest = database.newest else { return ["\(place) \(noVersions(of: database))"] }
    let age = database.age.map { "\(ago($0)) old" } ?? "age unknown: ahead of this clock"
    var facts = [age, ByteCount.text(newest.size)]
    switch database.change {
    case .unchanged: facts.append("unchanged since")
    case .changed: facts.append("changed since")
    case .unknown: break
    }
    let count = Count.text(database.versions, "version")
    var rest = [database.forgotten == 0 ? count : "\(count), \(database.forgotten) forgotten and not pruned"]
    rest.append(drill(database.decidingDrill))
    if newest.lacksCompanions == true { rest.append("companions lost") }
    if newest.damaged { rest.append("DAMAGED when it was pushed") }
    if database.foundDamaged > 0 { rest.append("\(database.foundDamaged) FOUND DAMAGED\(spared(database))") }
    if !database.harmed.isEmpty { rest.append("\(database.harmed.count) FOUND HARMED by a check or a drill") }
    let lines = [
      "\(place) version \(newest.id.prefix(8)) of \(Times.seconds(newest.time)), \(facts.joined(separator: ", "))",
      "  \(rest.joined(separator: ", ")), head \(newest.head)",
    ]
    return lines + (database.failedDrill.map { ["  \(failure($0))"] } ?? [])
  }

  /// Of how many of those the database comes back.
  private static func spared(_ database: StatusOfDatabases.Database) -> String {
    switch database.losingCompanions {
    case 0: ""
    case database.foundDamaged: " in companions alone"
    default: ", \(database.losingCompanions) of them in companions alone"
    }
  }

  private static func noVersions(of database: StatusOfDatabases.Database) -> String {
    guard let others = database.otherHosts, !others.isEmpty else { return "no versions" }
    return "no versions of host \(database.host); \(haveSome(others))"
  }

  private static func drill(_ last: StatusOfDatabases.LastDrill?) -> String {
    guard let last else { return "never drilled" }
    return "drilled \(Times.seconds(last.time)): \(last.passed ? "passed" : "FAILED")"
  }

  private static func failure(_ drill: StatusOfDatabases.LastDrill, of database: String = "") -> String {
    "the drill of version \(drill.version.prefix(8))\(database) failed: \(drill.text)"
  }

  /// `3 d`, `17 h`, `5 m`, `12 s`.
  static func ago(_ milliseconds: UInt64) -> String {
    let seconds = milliseconds / 1000
    if seconds >= 2 * 86_400 { return "\(seconds / 86_400) d" }
    if seconds >= 2 * 3600 { return "\(seconds / 3600) h" }
    return seconds >= 120 ? "\(seconds / 60) m" : "\(seconds) s"
  }

  /// What is wrong with each database beside the problems. Not that one was never pushed where a problem says that what
  /// was there is gone: to push it is not what helps then.
  static func unsound(_ outcomes: [StatusOfDatabases.Outcome]) -> [OperationError] {
    outcomes.flatMap { outcome in
      outcome.databases.filter { $0.isExpected && !$0.isSound && !($0.newest == nil && $0.isMissed) }
        .map { alarm($0, at: outcome.target) }
    }
  }

  /// What was asked for by its name, and has versions at another target at most.
  static func absences(_ outcomes: [StatusOfDatabases.Outcome]) -> [OperationError] {
    outcomes.flatMap { outcome in
      outcome.databases.filter { !$0.isExpected }
        .map { absence(of: $0.name, at: outcome.target, $0.host, .partlyDone) }
    }
  }

  static func absence(
    of database: String, at targets: String, _ host: String, _ kind: OperationError.Kind
  ) -> OperationError {
    OperationError(
      kind, code: "noSuchDatabase", "\(targets): there is no version of '\(database)' of host \(host)",
      hint: "`sealift list` shows what is there, also of other hosts.")
  }

  /// What ends a status with another status than success.
  static func alarm(_ outcomes: [StatusOfDatabases.Outcome]) -> OperationError? {
    let problems = outcomes.flatMap(\.problems)
    if let problem = problems.first(where: { $0.kind == .verificationFailed }) { return problem }
    for outcome in outcomes {
      let unsound = outcome.databases.first { $0.isExpected && !$0.isSound }
      if let unsound { return alarm(unsound, at: outcome.target) }
    }
    return problems.first
  }

  /// A first push under another name than the old machine's begins another chain beside that one's.
  private static func wayToFirst(of database: StatusOfDatabases.Database) -> String {
    guard let others = database.otherHosts, let first = others.first else {
      return "Push it: `sealift push \(shellWord(database.name))`."
    }
    let (old, name) = others.count == 1 ? (first, "\"\(first)\"") : ("one of them", "its name")
    return "If this machine takes the place of \(old), set \"host\": \(name) before any push (Docs/Operating.md);"
      + " `sealift list \(shellWord(database.name))` shows what can be restored. Else push it:"
      + " `sealift push \(shellWord(database.name))`."
  }

  private static func alarm(_ unsound: StatusOfDatabases.Database, at target: String) -> OperationError {
    guard let newest = unsound.newest else {
      return OperationError(
        .verificationFailed, code: "neverPushed", "there is no version of '\(unsound.name)' at \(target)",
        hint: wayToFirst(of: unsound))
    }
    // Nothing else is wrong: no list shows what is, least of all where the version was pruned since.
    let harm = harm(of: unsound)
    if let drill = unsound.failedDrill, harm == nil, !newest.damaged, unsound.foundDamaged == 0 {
      return OperationError(
        .verificationFailed, code: "unsound", failure(drill, of: " of '\(unsound.name)' at \(target)"),
        hint: "`sealift drill \(shellWord(unsound.name))` tries the newest version; when it passes, all is well again.")
    }
    let way = " `sealift repair` saves what was found damaged where it can, and takes it back where it is whole."
    if let harm, !newest.damaged, unsound.foundDamaged == 0 {
      return OperationError(
        .verificationFailed, code: "unsound", "'\(unsound.name)' at \(target): \(harm)",
        hint: "`sealift check --read-data` says what they need." + way)
    }
    // No rule ends that as long as one keeps them.
    let end =
      unsound.losingCompanions > 0
      ? " Where companions alone are lost, a rule keeps the version all the same: `sealift forget ID` lets it go." : ""
    return OperationError(
      .verificationFailed, code: "unsound",
      "something is wrong with versions of '\(unsound.name)' at \(target)" + (harm.map { "; \($0)" } ?? ""),
      hint: "`sealift list` shows which ones." + (unsound.foundDamaged > 0 || harm != nil ? way : "") + end)
  }

  /// No list shows those: nothing is said of them at the target.
  private static func harm(of database: StatusOfDatabases.Database) -> String? {
    guard let newest = database.harmed.last else { return nil }
    let count = database.harmed.count
    let which = "version \(newest.id.prefix(8)) of \(Times.seconds(newest.time))"
    return count == 1
      ? "\(which) was found damaged by a check or a drill on this machine"
      : "\(count) versions were found damaged by checks or drills on this machine, the newest of them \(which)"
  }
}
