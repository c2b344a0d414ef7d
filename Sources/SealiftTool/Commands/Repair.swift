import ArgumentParser
import Sealift

struct Repair: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Make whole again what is damaged at the targets, as far as it can be had.",
    discussion: """
      Reads everything, as check --read-data does. Versions that are harmed are written anew where all of their content \
      is left: in packs that are whole, in the database as it is now, or in images kept on this machine. A database whose \
      newest version is lost is pushed afresh. What cannot be saved is named and flagged. What only a newer sealift can \
      judge is named and left alone. What was found damaged earlier and is whole now loses its flag. New objects are \
      written, and nothing is deleted.

      A database that is not configured is given by the path that it is pushed from.

        sealift repair --dry-run
        sealift repair app
        sealift --target file:///srv/backup repair ./app.db
      """)

  @Argument(
    help: ArgumentHelp("Only versions of these databases: names, or paths.", valueName: "name|path"),
    completion: .file())
  var names: [String] = []

  @Option(help: "The database's name, when it is given as a path.")
  var name: String?

  @Option(
    name: .customLong("pack"), parsing: .singleValue,
    help: ArgumentHelp(
      "Take this pack for damaged, and read no others to find damage. May be given more than once.",
      valueName: "object"))
  var packs: [String] = []

  @Flag(name: [.long, .customShort("n")], help: "Say what could be saved; store nothing.")
  var dryRun = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if name != nil, names.count != 1 { throw ValidationError("--name needs exactly one database, given as a path") }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let world = try session.world(configuration)
    let chosen = try names.map { try ChosenDatabase($0, name: name, configuration) }
    let others = chosen.filter { !$0.isConfigured }.compactMap(\.settings?.source)
    var request = RepairRepository.Request(databases: configuration.databases.map(\.source) + others)
    (request.packs, request.dryRun) = (packs, dryRun)
    var tries = Tries<RepairRepository.Outcome>()
    for target in try targets.all() {
      guard let here = targets.among(chosen.map(\.name), at: target) else { continue }
      request.names = here
      await tries.attempt(target.name, session.terminal, interruption: \.interruption) { [request] in
        try await RepairRepository(world).run(request, at: try targets.access(target))
      }
    }
    let outcomes = tries.done.map(\.outcome)
    if session.options.json {
      session.terminal.report(
        Documents.repair(outcomes, failures: tries.failures, notices: session.terminal.notices))
    } else {
      for outcome in outcomes {
        for line in Self.lines(outcome) { session.terminal.report(printable(line)) }
      }
    }
    let broken = outcomes.first { !$0.isWhole }
    let unjudged = outcomes.first { tries.worst == nil && !$0.check.isJudged }
    // The last word is about one of them, unless a signal has it.
    let last = tries.isInterrupted ? nil : broken.flatMap(Self.failure)
    for failure in outcomes.flatMap(\.failures) where failure.message != last?.message {
      session.terminal.tell(failure)
    }
    let status = try tries.status("targets", session.terminal, isLastWord: broken == nil && unjudged == nil)
    if let broken {
      let others = targets.others(than: broken.target, for: broken.lostDatabases)
      throw OperationError(
        .verificationFailed, code: "notAllSaved", Self.summary(broken), hint: Self.hint(broken, others: others),
        cause: last?.cause)
    }
    if let unjudged { throw CheckLines.laterFormat(unjudged.check) }
    return status
  }

  /// - Parameter others: targets that may have what is lost here.
  static func hint(_ outcome: RepairRepository.Outcome, others: [String]) -> String? {
    if !outcome.elsewhere.isEmpty {
      return
        "A database of this machine that is not configured is given by its path, such as `sealift repair ./app.db`."
        + " Run `sealift repair` on the machines that push the others too: they may still have what is missing."
        + (wayFromOthers(outcome, others).map { " \($0)" } ?? "")
    }
    guard outcome.lost.isEmpty else {
      return (wayFromOthers(outcome, others).map { "\($0) " } ?? "")
        + "What is lost stays listed, flagged, until it is forgotten: `sealift check` names the objects. Versions whose manifests are gone are given up with `sealift forget --lost`."
    }
    return outcome.failures.first?.hint ?? outcome.unmended.first?.hint
  }

  /// What is flagged does not count as there: `copy` brings it anew. Of databases that are not named it would bring back
  /// what prunes have taken.
  private static func wayFromOthers(_ outcome: RepairRepository.Outcome, _ others: [String]) -> String? {
    let databases = outcome.lostDatabases
    guard !others.isEmpty, !databases.isEmpty else { return nil }
    let names = databases.count > mostNamed ? "NAME" : databases.map(shellQuoted).joined(separator: " ")
    let commands = others.map { other in
      "`sealift copy --from \(shellWord(other)) --to \(shellWord(outcome.target)) \(names)`, if \(other) has them"
    }
    let before = outcome.dryRun ? "once a repair without --dry-run has flagged them, " : ""
    return "What is lost here is copied anew from another target: \(before)\(commands.joined(separator: "; or "))."
  }

  /// So many databases are named in a hint.
  private static let mostNamed = 4

  static func lines(_ outcome: RepairRepository.Outcome) -> [String] {
    var lines = ["\(outcome.target):"]
    let stored = outcome.dryRun ? "would be stored anew" : "stored anew"
    for object in outcome.copies { lines.append("  \(stored)  \(object)") }
    for version in outcome.pushed { lines.append("  pushed  \(version.id.prefix(8)) of '\(version.database)'") }
    let saved = outcome.dryRun ? "can be saved" : "saved"
    for version in outcome.saved { lines.append("  \(saved)  \(CheckLines.name(version))") }
    let cleared = outcome.dryRun ? "would be taken back" : "taken back"
    for version in outcome.cleared {
      lines.append("  \(cleared)  \(CheckLines.name(version)) is whole, and was found damaged earlier")
    }
    func lost(_ version: CheckRepository.Version) -> String {
      CheckLines.name(version) + (version.sparesDatabase ? ": companions alone; its database is whole" : "")
    }
    for version in outcome.lost { lines.append("  LOST  \(lost(version))") }
    for version in outcome.elsewhere { lines.append("  NOT SAVED  \(lost(version))") }
    for finding in outcome.unmended { lines.append("  NOT MENDED  \(finding.object): \(finding.what)") }
    for finding in outcome.check.findings where finding.leavesDoubt {
      lines.append("  LATER  \(finding.object): \(finding.what)")
    }
    for version in outcome.check.unjudged { lines.append("  NOT JUDGED  \(CheckLines.name(version))") }
    if lines.count == 1, outcome.isWhole {
      lines.append(
        outcome.readAll
          ? "  nothing to repair: \(Count.text(outcome.check.whole.count, "version is", "versions are")) whole"
          : "  nothing to repair: no version needs a pack that was named, and no others were read")
    }
    return lines
  }

  /// What the summary says of it, where nothing is lost.
  private static func failure(_ outcome: RepairRepository.Outcome) -> OperationError? {
    outcome.lost.isEmpty && outcome.elsewhere.isEmpty ? outcome.failures.first : nil
  }

  static func summary(_ outcome: RepairRepository.Outcome) -> String {
    let lost = outcome.lost.count + outcome.elsewhere.count
    guard lost == 0 else {
      return "\(outcome.target): \(Count.text(lost, "version")) cannot be saved from here"
    }
    if let failure = Self.failure(outcome) { return failure.message }
    let objects = outcome.unmended.count
    return "\(outcome.target): \(Count.text(objects, "object")) cannot be stored anew"
  }
}

extension RepairRepository.Outcome {
  /// Of versions that were not saved, as far as anything says whose they were.
  fileprivate var lostDatabases: [String] {
    (lost + elsewhere).compactMap(\.database).reduce(into: [String]()) { names, name in
      if !names.containsName(name) { names.append(name) }
    }
  }
}
