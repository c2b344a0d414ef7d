import Sealift

/// What became of all drills of one run: each database at each target.
struct DrillReport {
  private(set) var drilled: [Drill.Drilled] = []
  private(set) var failures: [(database: String?, target: String, error: OperationError)] = []

  private var interruption: OperationError?

  /// Drills at one target. Its failure is kept, and the next one is tried all the same. Once the work was cancelled nothing
  /// more is begun.
  mutating func drill(
    _ request: Drill.Request, at target: String, _ world: World, _ terminal: Terminal,
    _ access: () throws -> TargetAccess
  ) async {
    guard interruption == nil else { return }
    let ended = Locked<[Drill.Drilled]>([])
    do {
      let outcome = try await Drill(world).run(request, at: access()) { one in
        ended.withLock { $0.append(one) }
        guard !terminal.manner.json else { return }
        for line in Self.lines(one) { terminal.report(line) }
      }
      for one in outcome.drilled { add(one) }
      for failure in outcome.failures { failed(failure.database, target, failure.error) }
    } catch {
      let error = OperationError(error)
      for one in ended.withLock({ $0 }) { add(one) }
      if error.kind == .cancelled { interruption = error } else { failed(nil, target, error) }
    }
  }

  mutating func failed(_ database: String?, _ target: String, _ error: OperationError) {
    failures.append((database, target, error))
  }

  mutating func add(_ one: Drill.Drilled) { drilled.append(one) }

  /// Says what is left to say. What did not pass counts more than what could not be tried.
  /// - Throws: the interruption; the first failure when nothing was tried.
  func end(_ terminal: Terminal) throws -> ExitStatus {
    if drilled.isEmpty, failures.isEmpty, interruption == nil { terminal.notice("there was nothing to drill") }
    if terminal.manner.json { terminal.report(Documents.drill(self, notices: terminal.notices)) }
    let errors = drilled.filter { !$0.hasPassed }.map(Self.error) + failures.map(\.error)
    if let interruption {
      for error in errors { terminal.tell(error) }
      throw interruption
    }
    guard let first = errors.first(where: { $0.kind == .verificationFailed }) ?? errors.first else { return .success }
    for error in errors { terminal.tell(error) }
    guard first.kind != .verificationFailed, !drilled.isEmpty else {
      terminal.tellDocument(first)
      return ExitStatus(first.kind)
    }
    terminal.tellDocument(
      OperationError(
        .partlyDone,
        "\(failures.count) of \(failures.count + drilled.count) drills could not be made: \(first.message)",
        hint: first.hint))
    return .partlyDone
  }

  private static func error(_ one: Drill.Drilled) -> OperationError {
    OperationError(
      .verificationFailed, code: "drillFailed",
      "\(place(one)): the drill failed: \(one.text)",
      hint: one.isRestored ? lookHint : repairHint)
  }

  private static let repairHint =
    "Run `sealift repair` on the machine that pushes the database: it saves what can be had, and pushes the database "
    + "anew where its newest version is lost. Until then drill an older version with --versions."
  private static let lookHint =
    "What was pushed came back as it was: look at the database itself. `sealift list` shows older versions, to be "
    + "drilled with --versions."

  /// `app, version 3f2a91c0 of 2026-11-20T12:00:00Z at nas`.
  private static func place(_ one: Drill.Drilled) -> String {
    let version = one.version
    return
      "\(version.database), version \(version.id.prefix(8)) of \(Times.seconds(version.time)) at \(version.target)"
  }

  static func lines(_ one: Drill.Drilled) -> [String] {
    let checks =
      one.findings.map { "  failed: \($0)" } + one.passed.map { "  passed: \($0)" }
      + one.unchecked.map { "  not looked at: \($0)" }
    return ([place(one) + (one.hasPassed ? ": passed" : ": FAILED")] + checks).map(printable)
  }
}
