import Sealift

/// The same thing done for several targets: the failure of one does not stop the others.
struct Tries<Outcome> {
  private(set) var done: [(target: String, outcome: Outcome)] = []
  private var failed = Failures()

  var failures: [Documents.Failure] { failed.failures }

  /// The work was cancelled: that is the last word of the run.
  var isInterrupted: Bool { failed.isInterrupted }

  /// The first target that could not be verified: it goes before all else (`Docs/Decisions/0033`).
  var worst: OperationError? { failures.map(\.error).first { $0.kind == .verificationFailed } }

  /// What fails is kept, and the next one is tried all the same. Once the work was cancelled nothing more is begun.
  /// - Parameter interruption: where an outcome says what ended the work before all of it was done.
  mutating func attempt(
    _ target: String, _ terminal: Terminal, interruption: KeyPath<Outcome, OperationError?>? = nil,
    _ work: () async throws -> Outcome
  ) async {
    guard !failed.isInterrupted else { return }
    do {
      let outcome = try await work()
      done.append((target, outcome))
      if let interruption, let error = outcome[keyPath: interruption] { failed.add(error, at: target) }
    } catch {
      failed.add(error, at: target)
    }
  }

  /// - Parameter isLastWord: nothing worse is told after it: a run ends with one document.
  /// - Throws: the interruption; the first failure when nothing was done.
  func status(_ what: String, _ terminal: Terminal, isLastWord: Bool = true) throws -> ExitStatus {
    let part = "\(failures.count) of \(failures.count + done.count) \(what)"
    return try failed.status(part, isAnythingDone: !done.isEmpty, terminal, isLastWord: isLastWord)
  }

  /// The same of work that met problems also at targets that did not fail. What could not be verified goes before all
  /// else, here too.
  /// - Parameter isAnythingDone: at those targets; else the first problem's own status is that of the run.
  func status(
    _ what: String, _ terminal: Terminal, problems: [OperationError], isAnythingDone: Bool
  ) throws -> ExitStatus {
    for problem in problems { terminal.tell(problem) }
    let worst = problems.first { $0.kind == .verificationFailed }
    let status = try self.status(what, terminal, isLastWord: worst == nil)
    if let worst {
      terminal.tellDocument(worst)
      return .verificationFailed
    }
    guard let first = problems.first, status == .success else { return status }
    terminal.tellDocument(first)
    return isAnythingDone ? .partlyDone : ExitStatus(first.kind)
  }
}

/// What failed while the rest went on.
struct Failures {
  /// `status` tells people of each. With `--json` the document has to: the error is that of one, or something worse.
  private(set) var failures: [Documents.Failure] = []
  private var interruption: OperationError?

  var isInterrupted: Bool { interruption != nil }

  mutating func add(_ error: any Error, at target: String) {
    let error = OperationError(error)
    if error.kind == .cancelled { interruption = error } else { failures.append((target, error)) }
  }

  /// What could not be verified counts more than what could not be tried: one is an attack or damage, the other often no more
  /// than a network that is away.
  /// - Parameters:
  ///   - part: of the whole, that failed, such as "1 of 3 targets"; `nil` where there was one.
  ///   - isLastWord: nothing worse is told after it: a run ends with one document.
  /// - Throws: the interruption; the first failure when nothing was done.
  func status(
    _ part: String?, isAnythingDone: Bool, _ terminal: Terminal, isLastWord: Bool = true
  ) throws -> ExitStatus {
    if let interruption {
      for failure in failures { terminal.tell(failure.error) }
      throw interruption
    }
    guard let first = failures.first else { return .success }
    if let worst = failures.first(where: { $0.error.kind == .verificationFailed }) {
      for failure in failures { terminal.tell(failure.error) }
      if isLastWord { terminal.tellDocument(worst.error) }
      return .verificationFailed
    }
    guard isAnythingDone else {
      for failure in failures.dropFirst() { terminal.tell(failure.error) }
      throw first.error
    }
    for failure in failures { terminal.tell(failure.error) }
    guard isLastWord else { return .partlyDone }
    let context = part.map { "\($0) failed: " } ?? ""
    terminal.tellDocument(OperationError(.partlyDone, context + first.error.message, hint: first.error.hint))
    return .partlyDone
  }
}
