import ArgumentParser
import Sealift

struct Doctor: SealiftCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Try whether a target keeps the promises that sealift relies on.",
    discussion: """
      Stores, lists, reads and deletes objects of up to 8 MiB below a folder of their own, doctor/, and says in words \
      what was found. Nothing of a repository is touched. Also says when this machine's SQLite may lose pages.

        sealift --target nas doctor
      """)

  @OptionGroup var global: GlobalOptions

  func perform(in session: Session) async throws -> ExitStatus {
    let configuration = try session.configuration()
    let targets = try Targets(session, configuration)
    let world = try? session.world(configuration, readOnly: true)
    var tries = Tries<Examination>()
    for target in try targets.all() {
      await tries.attempt(target.name, session.terminal) {
        // What fails is the finding here, and nothing to be waited for.
        try await Self.examine(
          try targets.access(target, locking: false, isPatient: false), world, session.terminal
        ) { try await targets.lockDoubt(of: target) }
      }
    }
    let examinations = tries.done.map(\.outcome)
    let release = SQLiteRelease.ours
    if let caution = release?.caution { session.terminal.notice(caution) }
    if session.options.json {
      session.terminal.report(
        Documents.doctor(examinations, release, failures: tries.failures, notices: session.terminal.notices))
    }
    let complaint = Self.complaint(examinations)
    let status = try tries.status("targets", session.terminal, isLastWord: complaint == nil)
    guard let complaint else { return status }
    throw complaint
  }

  /// Tries everything at one target.
  /// - Parameter lockDoubt: why its object lock may be without effect; the trials store without it.
  /// - Throws: what says nothing of its promises: it does not answer, or not to us. What was proved before stays then.
  static func examine(
    _ target: TargetAccess, _ world: World?, _ terminal: Terminal, lockDoubt: () async throws -> String? = { nil }
  ) async throws -> Examination {
    let location = target.store.traits.location
    if !terminal.manner.json { terminal.report("\(printable(target.name)) (\(printable(location))):") }
    let outcome = await StoreContract.examine(target.store) { finding in
      guard !terminal.manner.json else { return }
      for line in Self.lines(finding) { terminal.report(printable(line)) }
    }
    if let folder = outcome.leftovers {
      terminal.notice("\(target.name): what the trials stored below \(folder)/ may be there still")
    }
    try Task.checkCancellation()
    tellUntried(outcome, of: target.name, terminal)
    do {
      if let world { try ListingProof.note(outcome.findings, isWhole: outcome.isWhole, of: target, world) }
    } catch {
      terminal.notice("\(target.name): what was found cannot be remembered: \(OperationError(error).message)")
    }
    let examination = Examination(
      target: target.name, location: location, findings: outcome.findings, mayNotDelete: outcome.mayNotDelete)
    guard let obstacle = outcome.obstacle else {
      if let doubt = try await lockDoubt() { terminal.notice("\(target.name): \(doubt)") }
      return examination
    }
    let error = OperationError(obstacle.error, doing: "trying \(target.name)")
    // What was found broken before is the news.
    guard examination.isSick else { throw error }
    terminal.notice(error.message)
    return examination
  }

  /// What the findings do not say: the trials that were not made.
  private static func tellUntried(_ outcome: StoreContract.Outcome, of target: String, _ terminal: Terminal) {
    if !terminal.manner.json {
      for promise in outcome.untried { terminal.report("  untried \(promise)") }
    } else if !outcome.untried.isEmpty {
      terminal.notice("\(target): not tried: \(outcome.untried.joined(separator: "; "))")
    }
  }

  /// What a run ends with that found something.
  static func complaint(_ examinations: [Examination]) -> OperationError? {
    if let sick = examinations.first(where: \.isSick) {
      return OperationError(
        .failed, code: "promiseBroken", "\(sick.target) does not keep what sealift relies on",
        hint: "Do not push there. Docs/Stores.md says what each promise is for, and what is known of some servers.")
    }
    guard let pushing = examinations.first(where: \.mayNotDelete) else { return nil }
    return OperationError(
      .failed, code: StoreError.Code.forbidden.rawValue,
      "\(pushing.target): these credentials may not delete, so not every promise was tried",
      hint: "For pushing they are fine. Run `sealift doctor` with those that prune.")
  }

  static func lines(_ finding: StoreContract.Finding) -> [String] {
    switch finding.verdict {
    case .kept: ["  ok      \(finding.promise)"]
    case .noted(let text): ["  ok      \(finding.promise)", "          \(text)"]
    case .broken(let seen):
      ["  BROKEN  \(finding.promise)"] + seen.split(separator: "\n").map { "          \($0)" }
    }
  }
}

/// What was found at one target.
struct Examination: Sendable {
  var target: String
  var location: String
  var findings: [StoreContract.Finding]
  /// The credentials are those of a machine that pushes and nothing else.
  var mayNotDelete = false
  var isSick: Bool { findings.contains(where: \.isBroken) }
}
