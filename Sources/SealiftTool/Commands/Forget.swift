import ArgumentParser
import Sealift

struct Forget: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Let go of versions by rules, or by their ids.",
    discussion: """
      Says first of every version whether it stays, and why. What is forgotten does not count any more, and a later \
      prune frees its room; until then `sealift unforget` takes it back.

      A version stays when any rule keeps it. Hours, days, weeks, months and years are those of UTC, counted where there \
      is a version. The newest sound version always stays, and what is pinned. Damaged and incomplete versions take no \
      other's place. One that a rule would keep and whose packs somebody took away stays, and the exit status is 13: \
      put them back, or run `sealift repair`.

      Without rules on the line, each database's own are used: "keep" in the configuration.

        sealift forget --dry-run
        sealift forget app --keep-last 7 --keep-daily 14 --keep-tag before-upgrade
        # what a machine left that is no more
        sealift forget app --keep-last 1 --host web-2
        sealift --target nas forget 9c06ab3f

      Where a target lost the manifest of a version, and `sealift repair` cannot bring it back, nothing of that database is \
      forgotten or pruned until --lost gives it up: nobody could tell the gap from a listing that came up short.

        sealift forget --lost --dry-run
        sealift forget --lost app

      What was given up passes for forgotten, also to a later `sealift copy`, which does not bring it back: copy first what \
      another target has of it, or name it with `copy --versions`.
      """)

  @Argument(help: ArgumentHelp("Databases, or, without rules, ids of versions.", valueName: "name|version"))
  var arguments: [String] = []

  @OptionGroup(title: "Rules") var keep: KeepOptions

  @Flag(help: "Also databases that other hosts pushed.")
  var allHosts = false

  @Option(help: ArgumentHelp("Databases that this host pushed, instead of this machine's own.", valueName: "host"))
  var host: String?

  @Flag(help: "Give up versions whose manifests the target lost or spoilt.")
  var lost = false

  @Flag(name: [.long, .customShort("n")], help: "Say what would go, and why the rest stays; change nothing.")
  var dryRun = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if host != nil, allHosts { throw ValidationError("--host and --all-hosts exclude each other") }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    if lost { return try await giveUp(in: session, configuration, targets) }
    let wish = try ForgetWish(arguments, keep.rules, configuration)
    if host != nil, wish.isByID {
      throw OperationError(
        .usage, "--host is for rules and --lost: an id names one version, whichever host pushed it",
        hint: "Leave --host out.")
    }
    let chosen = wish.isByID ? [try targets.one()] : try targets.all()
    try wish.passOver(targets, session.terminal)
    let forget = ForgetVersions(try session.world(configuration))
    var report = ForgetReport(isDryRun: dryRun)
    for target in chosen {
      guard var request = try wish.request(at: target, of: targets) else { continue }
      (request.allHosts, request.host, request.dryRun) = (allHosts, host, dryRun)
      request.unsettled = Restore.unsettled(among: configuration.databases.map(\.source))
      await report.run(request, forget, at: target, targets, session.terminal)
    }
    return try report.end(session.terminal)
  }
}

extension Forget {
  /// - Throws: `.usage` where rules are given too.
  private func giveUp(
    in session: Session, _ configuration: Configuration, _ targets: Targets
  ) async throws -> ExitStatus {
    guard keep.rules == nil else {
      throw OperationError(
        .usage, "--lost and rules exclude each other", hint: "Give up what is lost first, then forget by rules.")
    }
    var request = ForgetLost.Request()
    (request.allHosts, request.host, request.dryRun) = (allHosts, host, dryRun)
    let forget = ForgetLost(try session.world(configuration))
    var tries = Tries<ForgetLost.Outcome>()
    for target in try targets.all() {
      guard let here = targets.among(arguments, at: target) else { continue }
      request.named = here
      await tries.attempt(target.name, session.terminal) { [request] in
        try await forget.run(request, at: try targets.access(target))
      }
    }
    let outcomes = tries.done.map(\.outcome)
    if outcomes.contains(where: { !$0.chains.isEmpty }) { session.terminal.notice(hint) }
    if session.options.json {
      session.terminal.report(
        Documents.lost(outcomes, dryRun: dryRun, failures: tries.failures, notices: session.terminal.notices))
    } else {
      for line in outcomes.flatMap({ Self.lines($0, dryRun: dryRun) }) { session.terminal.report(printable(line)) }
      if !outcomes.isEmpty, outcomes.allSatisfy({ $0.chains.isEmpty && $0.problems.isEmpty }) {
        session.terminal.notice("nothing is lost that was not forgotten")
      }
    }
    return try tries.status(
      "targets", session.terminal, problems: outcomes.flatMap(\.problems),
      isAnythingDone: outcomes.contains { !$0.chains.isEmpty })
  }

  private var hint: String {
    dryRun
      ? "`sealift copy` takes what is given up for forgotten: copy what another target has of it first, or name it with `copy --versions` later"
      : "`sealift copy` takes what was given up for forgotten: what another target has of it is copied only where `copy --versions` names it"
  }

  static func lines(_ outcome: ForgetLost.Outcome, dryRun: Bool) -> [String] {
    outcome.chains.map { chain in
      let places = chain.lost.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
      let versions = chain.lost.count == 1 && chain.lost[0].count == 1 ? "version" : "versions"
      return
        "\(outcome.target): \(chain.database) of \(chain.host): \(dryRun ? "would give up" : "gave up") \(versions) \(places.joined(separator: ", "))"
    }
  }
}

/// What the words on the line mean: databases, or versions.
struct ForgetWish {
  private enum Kind {
    case ids([VersionSelector])
    case rulesForAll(RetentionRules)
    case configured([Configuration.DatabaseSettings])
  }

  private let kind: Kind
  private let names: [String]

  var isByID: Bool {
    if case .ids = kind { true } else { false }
  }

  /// With rules every word is the name of a database. Without, a word that is none of the configured is an id.
  /// - Throws: `.usage` where nothing says what is to be kept.
  init(_ arguments: [String], _ rules: RetentionRules?, _ configuration: Configuration) throws {
    if let rules {
      (kind, names) = (.rulesForAll(rules), arguments)
      return
    }
    let known = configuration.databases.map(\.source.name)
    let names = arguments.filter(known.contains)
    self.names = names
    let ids = arguments.filter { !known.contains($0) }
    guard ids.isEmpty || names.isEmpty else {
      throw OperationError(
        .usage, "'\(names[0])' is a database and '\(ids[0])' is none: forget takes databases or versions, not both",
        hint: "Run it twice.")
    }
    guard ids.isEmpty else {
      kind = .ids(try ids.map(Self.selector))
      return
    }
    let chosen = configuration.databases.filter { names.isEmpty || names.contains($0.source.name) }
    if let name = names.first(where: { name in chosen.contains { $0.source.name == name && $0.keep == nil } }) {
      var error = ForgetVersions.noRules
      error.message = "nothing says which versions of '\(name)' to keep"
      throw error
    }
    guard chosen.contains(where: { $0.keep != nil }) else { throw ForgetVersions.noRules }
    kind = .configured(chosen)
  }

  /// `--target` alone applies no database's rules where its own targets do not let it go.
  /// - Throws: `.usage` when none is left.
  func passOver(_ targets: Targets, _ terminal: Terminal) throws {
    guard case .configured(let databases) = kind, names.isEmpty else { return }
    let ruled = databases.filter { $0.keep != nil }
    try targets.tellPassedOver(ruled, not: "is passed over at", all: "forget its versions there all the same", terminal)
    try targets.demandSome(of: ruled, for: "forget", kind: "database with rules in the configuration")
  }

  /// - Returns: `nil` when there is nothing to forget at this target.
  func request(at target: TargetSettings, of targets: Targets) throws -> ForgetVersions.Request? {
    switch kind {
    case .ids(let selectors): return ForgetVersions.Request(.versions(selectors))
    case .rulesForAll(let rules):
      guard let here = targets.among(names, at: target) else { return nil }
      var request = ForgetVersions.Request(.rulesForAll(rules))
      request.named = here
      return request
    case .configured(let databases):
      let here = databases.filter { targets.expects($0, at: target, isNamed: !names.isEmpty) }
      let rules = here.compactMap { database in database.keep.map { (database.source.name, $0) } }
      guard !rules.isEmpty else { return nil }
      var request = ForgetVersions.Request(.rules(Dictionary(rules) { first, _ in first }))
      request.named = names.filter { name in here.contains { $0.source.name == name } }
      return request
    }
  }

  private static func selector(_ text: String) throws -> VersionSelector {
    do {
      return try VersionSelector(parsing: text)
    } catch {
      throw OperationError(
        .usage, code: "noRules", "'\(text)' is neither the id of a version nor a configured database",
        hint: "For a database that is not configured give a rule, such as --keep-daily 14.")
    }
  }
}
