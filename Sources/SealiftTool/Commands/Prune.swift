import ArgumentParser
import Sealift

/// `prune`; the operation is called `PruneRepository`.
struct PruneCommand: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune",
    abstract: "Delete at the targets what no version needs any more.",
    discussion: """
      What forgotten versions and pushes that were cut left behind, also in tmp/ (not with --host: nothing there says whose it is). Pushes may run meanwhile, on any machine. Where a \
      target's listings may be late, one run condemns and another one, a day and a version later, deletes; `sealift \
      doctor` finds out. Where no version will come, because nobody pushes that database any more, --one-run deletes. A versioned bucket keeps what is deleted as older versions, and you are told. Where anything is in doubt, nothing is deleted. What a push that was cut left may be gone on \
      with: what a long push left is left alone until that database has a later version; of a short one, for --min-age.

        sealift prune --dry-run
        sealift prune app --min-age 2d
        sealift prune app --host web-2
        sealift prune --forgotten-for 30d
      """)

  @Argument(help: ArgumentHelp("Only what belongs to these databases.", valueName: "name"))
  var databases: [String] = []

  @Option(help: ArgumentHelp("Only what this host pushed, instead of all hosts.", valueName: "host"))
  var host: String?

  @Flag(name: [.long, .customShort("n")], help: "Say what would be deleted; delete and condemn nothing.")
  var dryRun = false

  @Option(help: ArgumentHelp("Leave packs alone that are younger, such as 12h.", valueName: "time"))
  var minAge = "24h"

  @Option(help: ArgumentHelp("Delete only versions that were forgotten so long ago, such as 30d.", valueName: "time"))
  var forgottenFor: String?

  @Flag(help: "Condemn and delete in one run, whatever is known of the target.")
  var oneRun = false

  @Flag(help: "Condemn now, delete in a later run.")
  var twoRuns = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if oneRun && twoRuns { throw ValidationError("--one-run and --two-runs exclude each other") }
    if TimeSpan.parse(minAge) == nil { throw ValidationError("--min-age needs a time with its unit, such as 24h") }
    if let forgottenFor, TimeSpan.mayMeanMonths(forgottenFor) {
      throw ValidationError("--forgotten-for \(KeepRule.monthsOrMinutes), not '\(forgottenFor)'")
    }
    if let forgottenFor, TimeSpan.parse(forgottenFor) == nil {
      throw ValidationError("--forgotten-for needs a time with its unit, such as 30d")
    }
  }

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let chosen = try targets.all()
    let world = try session.world(configuration)
    var tries = Tries<Pruning>()
    for target in chosen {
      guard let here = targets.among(databases, at: target) else { continue }
      await tries.attempt(target.name, session.terminal, interruption: \.outcome.interruption) {
        let outcome = try await PruneRepository(world).run(request(of: here), at: try targets.access(target))
        return Pruning(target: target.name, outcome: outcome)
      }
    }
    let prunings = tries.done.map(\.outcome)
    if session.options.json {
      session.terminal.report(
        Documents.prune(prunings, dryRun: dryRun, failures: tries.failures, notices: session.terminal.notices))
    } else {
      for pruning in prunings { show(pruning, session.terminal) }
    }
    return try tries.status(
      "targets", session.terminal, problems: prunings.flatMap(\.outcome.problems),
      isAnythingDone: Self.isAnythingDone(prunings))
  }

  /// A chain that was cut in the middle is told of, and the exit status is all the same that of what cut it.
  static func isAnythingDone(_ prunings: [Pruning]) -> Bool {
    prunings.flatMap(\.outcome.chains).contains { !$0.isCut }
  }

  private func request(of databases: [String]) -> PruneRepository.Request {
    var request = PruneRepository.Request()
    request.databases = databases
    request.host = host
    request.dryRun = dryRun
    request.minAge = UInt64(max(0, TimeSpan.parse(minAge) ?? 0))
    request.forgottenFor = UInt64(max(0, forgottenFor.flatMap(TimeSpan.parse) ?? 0))
    request.runs = oneRun ? .one : twoRuns ? .two : nil
    return request
  }

  private func show(_ pruning: Pruning, _ terminal: Terminal) {
    let name = printable(pruning.target)
    for chain in pruning.outcome.chains {
      let parts = Self.parts(chain, dryRun: dryRun)
      let what = parts.isEmpty ? "nothing to delete" : parts.joined(separator: "; ")
      terminal.report("\(name): \(printable(chain.database)) of \(printable(chain.host)): \(what)")
      if chain.resting > 0 {
        terminal.notice(
          "\(pruning.target): forgotten versions of '\(chain.database)' that stay for now (--forgotten-for): \(chain.resting)"
        )
      }
      if chain.young.objects > 0 {
        terminal.notice(
          "\(pruning.target): packs of '\(chain.database)' younger than \(minAge) that stay for now (--min-age): "
            + ByteCount.text(chain.young.bytes))
      }
      if let reason = chain.retainedBecause { terminal.notice("\(pruning.target): \(reason)") }
    }
    let leftovers = pruning.outcome.leftovers
    if leftovers.objects > 0 {
      terminal.report(
        "\(name): \(dryRun ? "would free" : "freed") \(Count.text(leftovers.objects, "leftover")) of uploads, \(ByteCount.text(leftovers.bytes))"
      )
    }
    if pruning.outcome.hidden > 0 {
      terminal.notice(
        "\(pruning.target): the bucket keeps \(pruning.outcome.hidden) of the deleted objects as older versions; their bytes cost until a lifecycle rule removes those"
      )
    }
    if pruning.outcome.chains.isEmpty, pruning.outcome.problems.isEmpty {
      terminal.notice("\(pruning.target): no versions")
    }
    for notice in Self.notices(pruning) { terminal.notice(notice) }
  }

  /// What becomes of what waits, and the way out where it would wait for ever.
  static func notices(_ pruning: Pruning) -> [String] {
    let target = pruning.target
    var notices: [String] = []
    func again(_ chain: PruneRepository.Outcome.Chain) -> String {
      "sealift --target \(shellWord(target)) prune \(shellWord(chain.database)) --host \(shellWord(chain.host))"
    }
    for chain in pruning.outcome.chains where chain.waitsForTime > 0 {
      let what = "\(Count.text(chain.waitsForTime, "forgotten version")) of '\(chain.database)' of \(chain.host)"
      notices.append(
        "\(target): \(what) would go by this machine's clock (--forgotten-for), and nothing was stored there since "
          + "that shows how late it is there. Set the clock if it is ahead; the next version there shows it. "
          + "When no host pushes there: `\(again(chain))` deletes all that was "
          + "forgotten of '\(chain.database)' of \(chain.host), also a moment ago")
    }
    guard pruning.outcome.runs == .two else { return notices }
    if pruning.outcome.chains.contains(where: { $0.waiting.objects > $0.waitsForVersion.objects }) {
      notices.append(
        "\(target): what is condemned is deleted by a run at least a day and a newer version later; "
          + "where `sealift doctor` is content, one run does both")
    }
    for chain in pruning.outcome.chains where chain.waitsForVersion.objects > 0 {
      notices.append(
        "\(target): what was condemned of '\(chain.database)' of \(chain.host) waits for a newer version, "
          + "and for a week or longer none was pushed. When \(chain.host) pushes no '\(chain.database)' there any more: "
          + "`\(again(chain)) --one-run`")
    }
    return notices
  }

  static func parts(_ chain: PruneRepository.Outcome.Chain, dryRun: Bool) -> [String] {
    let all = [
      (dryRun ? "would free" : "freed", chain.freed),
      (dryRun ? "would wait" : "condemned for a later run", chain.waiting),
      ("kept by the target", chain.retained),
    ]
    return all.filter { $0.1.objects > 0 }.map { what, amount in
      "\(what) \(Count.text(amount.objects, "object")), \(ByteCount.text(amount.bytes))"
    }
  }
}

/// What was pruned at one target.
struct Pruning {
  var target: String
  var outcome: PruneRepository.Outcome
}
