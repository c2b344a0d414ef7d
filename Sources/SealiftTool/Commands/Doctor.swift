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
      try await tries.attempt(target.name, session.terminal) {
        try await examine(try targets.access(target, locking: false), world, session.terminal)
      }
    }
    let examinations = tries.done.map(\.outcome)
    let release = SQLiteRelease.ours
    if let caution = release?.caution { session.terminal.notice(caution) }
    if session.options.json {
      try session.terminal.result(
        Documents.doctor(examinations, release, failures: tries.failures, notices: session.terminal.notices))
    }
    let sick = examinations.first(where: \.isSick)
    let status = try tries.status("targets", session.terminal, isLastWord: sick == nil)
    guard let sick else { return status }
    throw OperationError(
      .failed, code: "promiseBroken", "\(sick.target) does not keep what sealift relies on",
      hint: "Do not push there. Docs/Stores.md says what each promise is for, and what is known of some servers.")
  }

  private func examine(_ target: TargetAccess, _ world: World?, _ terminal: Terminal) async throws -> Examination {
    let location = target.store.traits.location
    if !terminal.manner.json { try terminal.result("\(printable(target.name)) (\(printable(location))):") }
    let findings = await StoreContract.run(on: target.store) { finding in
      guard !terminal.manner.json else { return }
      for line in Self.lines(finding) { try? terminal.result(printable(line)) }
    }
    try Task.checkCancellation()
    do {
      if let world { try ListingProof.note(findings, of: target, world) }
    } catch {
      terminal.notice("\(target.name): what was found cannot be remembered: \(Session.known(error).message)")
    }
    return Examination(target: target.name, location: location, findings: findings)
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
  var isSick: Bool { findings.contains(where: \.isBroken) }
}
