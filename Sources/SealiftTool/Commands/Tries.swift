import Sealift

/// The same thing done for several targets: the failure of one does not stop the others.
struct Tries<Outcome> {
  private(set) var done: [(target: String, outcome: Outcome)] = []
  /// `status` tells people of each. With `--json` the document has to: the error is that of one, or something worse.
  private(set) var failures: [(target: String, error: OperationError)] = []

  private var interruption: OperationError?

  /// What fails is kept, and the next one is tried all the same. Once the work was cancelled nothing more is begun.
  mutating func attempt(_ target: String, _ terminal: Terminal, _ work: () async throws -> Outcome) async {
    guard interruption == nil else { return }
    do {
      done.append((target, try await work()))
    } catch {
      let error = Session.known(error)
      if error.kind == .cancelled { interruption = error } else { failures.append((target, error)) }
    }
  }

  /// What could not be verified counts more than what could not be tried: one is an attack or damage, the other often no more
  /// than a network that is away.
  /// - Parameter isLastWord: nothing worse is told after it: a run ends with one document.
  /// - Throws: the interruption; the first failure when nothing was done.
  func status(_ what: String, _ terminal: Terminal, isLastWord: Bool = true) throws -> ExitStatus {
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
    guard !done.isEmpty else {
      for failure in failures.dropFirst() { terminal.tell(failure.error) }
      throw first.error
    }
    for failure in failures { terminal.tell(failure.error) }
    guard isLastWord else { return .partlyDone }
    terminal.tellDocument(
      OperationError(
        .partlyDone, "\(failures.count) of \(failures.count + done.count) \(what) failed: \(first.error.message)",
        hint: first.error.hint))
    return .partlyDone
  }
}
