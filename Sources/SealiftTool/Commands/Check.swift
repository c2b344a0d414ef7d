import ArgumentParser
import Sealift

struct Check: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Look whether everything versions need is at the targets, and is what was stored.",
    discussion: """
      Every manifest, map and directory is opened, every pack must be there in its right length. With --read-data packs \
      are read whole, every page is decoded, and the digest of every version is computed. Nothing is changed there. What \
      is damaged or missing is named, with the versions that need it, and those that are whole; then the exit status is \
      13, and this machine's pushes build on none of it, and its `status` tells of it until it is whole again. \
      What only a newer sealift can judge is named too; the exit status is 3 where nothing worse was found.

        sealift check
        sealift check app --read-data
        # a part a day, each week everything
        sealift check --read-data --subset 3/7
      """)

  @Argument(help: ArgumentHelp("Only versions of these databases.", valueName: "name"))
  var names: [String] = []

  @Flag(help: "Read packs whole, and decode everything in them.")
  var readData = false

  @Option(
    help: ArgumentHelp(
      "Read only so much: a share such as 5%, a part such as 3/7, or a size such as 2GiB.", valueName: "subset"))
  var subset: String?

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    guard let subset else { return }
    guard readData else { throw ValidationError("--subset is for --read-data") }
    guard Self.reading(subset) != nil else {
      throw ValidationError("'\(subset)' is no subset: give 5%, 3/7 or 2GiB")
    }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let chosen = try targets.all()
    let world = try session.world(configuration, readOnly: true)
    let reading = readData ? subset.flatMap(Self.reading) ?? .all : .structure
    var tries = Tries<CheckRepository.Outcome>()
    for target in chosen {
      guard let here = targets.among(names, at: target) else { continue }
      await tries.attempt(target.name, session.terminal) {
        try await CheckRepository(world).run(at: try targets.access(target), databases: here, reading)
      }
    }
    let outcomes = tries.done.map(\.outcome)
    if session.options.json {
      session.terminal.report(
        Documents.check(outcomes, failures: tries.failures, notices: session.terminal.notices))
    } else {
      for outcome in outcomes {
        for line in CheckLines.lines(outcome) { session.terminal.report(printable(line)) }
      }
    }
    let broken = outcomes.first { !$0.isSound }
    let unjudged = outcomes.first { tries.worst == nil && !$0.isJudged }
    let status = try tries.status("targets", session.terminal, isLastWord: broken == nil && unjudged == nil)
    if let broken {
      throw OperationError(
        .verificationFailed, code: "damageFound", CheckLines.summary(broken), hint: Self.hint(broken))
    }
    if let unjudged { throw CheckLines.laterFormat(unjudged) }
    return status
  }

  static func hint(_ outcome: CheckRepository.Outcome) -> String {
    // Where nothing else is wrong, a repair would have nothing to do.
    let isOfWords = outcome.problems.count == outcome.lostWords.count && !outcome.findings.contains(where: \.isDamage)
    if isOfWords, !outcome.lacksConfiguration, let way = outcome.lostWords.first?.hint { return way }
    let way =
      outcome.lacksConfiguration
      ? wayToConfiguration(outcome)
      : "`sealift repair` stores anew what can be had."
    return "\(way) Versions that are whole restore as ever."
  }

  private static func wayToConfiguration(_ outcome: CheckRepository.Outcome) -> String {
    guard !outcome.remembersConfiguration else {
      return "`sealift repair` on this machine writes the objects below config/ back, as it remembers them, and"
        + " stores anew what else can be had."
    }
    return "Bring back the objects below config/ from a copy of the target, or copy the versions to a new one:"
      + " `sealift copy --from \(shellWord(outcome.target)) --to NEW`. Until then `sealift repair` is refused, but on a"
      + " machine that has pushed or read there and remembers them."
  }

  /// `5%`, `3/7`, `2GiB`.
  static func reading(_ text: String) -> CheckRepository.Reading? {
    if text.hasSuffix("%") {
      guard let percent = Double(text.dropLast()), percent > 0, percent <= 100 else { return nil }
      return .share(percent / 100)
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 2 {
      guard let part = Int(parts[0]), let count = Int(parts[1]), part > 0, part <= count else { return nil }
      return .part(part, of: count)
    }
    return ByteCount.parse(text).flatMap { $0 > 0 ? .bytes($0) : nil }
  }
}

/// What a check found, as people read it.
enum CheckLines {
  static func lines(_ outcome: CheckRepository.Outcome) -> [String] {
    var lines = ["\(outcome.target):"]
    for finding in outcome.findings.sorted(by: { (rank($0), $0.object) < (rank($1), $1.object) }) {
      lines.append("  \(rank(finding) < 2 ? finding.kind.uppercased() : finding.kind)  \(finding.object)")
      lines.append("    \(finding.what)")
      if let hint = finding.hint { lines.append("    \(hint)") }
    }
    for problem in outcome.problems {
      lines.append("  PROBLEM  \(problem.message)")
      let isOfWords = outcome.lostWords.contains { $0.message == problem.message }
      if isOfWords, let hint = problem.hint { lines.append("    \(hint)") }
    }
    for version in outcome.harmed {
      lines.append("  HARMED  \(name(version))")
      for object in version.objects { lines.append("    needs \(object)") }
    }
    for version in outcome.unjudged {
      lines.append("  NOT JUDGED  \(name(version))")
      for object in version.objects { lines.append("    needs \(object)") }
    }
    if !outcome.harmed.isEmpty { lines += whole(outcome.whole) }
    let read = outcome.packsRead > 0 ? ", \(outcome.packsRead) read (\(ByteCount.text(outcome.bytesRead)))" : ""
    let unjudged = outcome.unjudged.isEmpty ? "" : ", \(outcome.unjudged.count) not judged"
    lines.append(
      "  \(Count.text(outcome.whole.count, "version")) whole\(pushedDamaged(outcome.whole)), \(outcome.harmed.count) harmed\(unjudged); \(Count.text(outcome.packs, "pack")) needed\(read)"
    )
    if let earlier = foundEarlier(outcome) { lines.append(earlier) }
    if let harmed = harmedEarlier(outcome) { lines.append(harmed) }
    if outcome.unreferenced > 0 {
      lines.append(
        "  \(Count.text(outcome.unreferenced, "pack belongs", "packs belong")) to nothing (\(ByteCount.text(outcome.unreferencedBytes))): cut pushes, or left for a prune"
      )
    }
    if outcome.bareChains > 0 {
      lines.append(
        "  \(outcome.barePacks) of them are of \(Count.text(outcome.bareChains, "chain")) without any manifest: first"
          + " pushes that were cut, or the objects below versions/ are gone: then bring those back before anything is"
          + " pruned (Docs/Stores.md)")
    }
    if outcome.unknown > 0 { lines.append("  \(Count.text(outcome.unknown, "object")) of other programs") }
    return lines
  }

  /// Damage first, then what leaves doubt, remarks last.
  private static func rank(_ finding: CheckRepository.Finding) -> Int {
    finding.isDamage ? 0 : finding.leavesDoubt ? 1 : 2
  }

  /// What can be restored all the same: of each database the newest.
  private static func whole(_ versions: [CheckRepository.Version]) -> [String] {
    let databases = Dictionary(grouping: versions) { [ExactName($0.database ?? ""), ExactName($0.host ?? "")] }
    return databases.sorted { $0.key.lexicographicallyPrecedes($1.key) }.flatMap { _, versions in
      let newest = versions.sorted { $0.sequence > $1.sequence }
      let older = newest.count - mostNamed
      let named = newest.prefix(mostNamed).map { version in
        "  whole  \(name(version))\(version.damaged == true ? ", damaged when it was pushed" : "")"
      }
      guard older > 0 else { return named }
      let others = "\(Count.text(older, "older one")) of '\(newest[0].database ?? "")'"
      return named + ["  whole  \(others); --json names \(older == 1 ? "it" : "them")"]
    }
  }

  /// What is whole is what was pushed, which need not be a sound database.
  private static func pushedDamaged(_ versions: [CheckRepository.Version]) -> String {
    let count = versions.count { $0.damaged == true }
    guard count > 0 else { return "" }
    return count == 1 ? " (1 was damaged when it was pushed)" : " (\(count) were damaged when they were pushed)"
  }

  /// What is known at the target stands against what was just seen, and `forget` goes by the former.
  private static func foundEarlier(_ outcome: CheckRepository.Outcome) -> String? {
    let count = outcome.foundEarlier.count
    guard count > 0 else { return nil }
    let (were, they, them) = count == 1 ? ("was", "it is", "it") : ("were", "they are", "them")
    return "  \(count) of them \(were) found damaged earlier: `sealift repair` takes that back where \(they) whole;"
      + " until then `forget` lets \(them) go"
  }

  /// What this machine remembers stands against what was just seen, and `status` goes by the former.
  private static func harmedEarlier(_ outcome: CheckRepository.Outcome) -> String? {
    let count = outcome.harmedEarlier.count
    guard count > 0 else { return nil }
    let (were, they, them) = count == 1 ? ("was", "it is", "it") : ("were", "they are", "them")
    return "  \(count) of them \(were) found harmed by an earlier check or drill on this machine,"
      + " in what was not read now: `sealift check --read-data` or `sealift repair` takes that back where \(they) whole;"
      + " until then `status` tells of \(them)"
  }

  private static let mostNamed = 10

  /// `3f2a91c0 of 'app', 2026-11-20T12:00:00Z`.
  static func name(_ version: CheckRepository.Version) -> String {
    let id = version.id.map { String($0.prefix(8)) } ?? "number \(version.sequence)"
    let database = version.database.map { " of '\($0)'" } ?? ""
    return id + database + (version.time.map { ", \(Times.seconds($0))" } ?? "")
  }

  static func summary(_ outcome: CheckRepository.Outcome) -> String {
    let damaged = outcome.findings.filter(\.isDamage).count
    if damaged == 0, let problem = outcome.problems.first { return problem.message }
    let harmed = outcome.harmed.count
    let all = harmed + outcome.whole.count + outcome.unjudged.count
    return
      "\(outcome.target): \(Count.text(damaged, "object is", "objects are")) damaged or missing, \(harmed) of \(Count.text(all, "version")) \(harmed == 1 ? "is" : "are") harmed"
  }

  /// How a run ends that could not judge everything, and found nothing worse.
  static func laterFormat(_ outcome: CheckRepository.Outcome) -> OperationError {
    let later = outcome.findings.filter(\.leavesDoubt).count
    let unjudged = outcome.unjudged.count
    return OperationError(
      .partlyDone, code: "unsupported",
      "\(outcome.target): \(Count.text(later, "object is", "objects are")) of a later format, \(Count.text(unjudged, "version")) could not be judged",
      hint: "Install a newer sealift.")
  }
}
