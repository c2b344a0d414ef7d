import Repositories
import Sealing
import Storage

/// What this machine remembers of a target and cannot read: who only reads goes on without, since no version could be had
/// else (`Docs/Decisions/0004`); but a person should know, once.
struct LostMemory: Sendable {
  private let targetName: String
  private let reporter: any Reporter
  private let hasTold = Locked(false)

  init(of targetName: String, _ reporter: any Reporter) {
    self.targetName = targetName
    self.reporter = reporter
  }

  func tellFlaw(ofMarkOf chain: ChainID, in state: StateFolder) {
    if let flaw = HighWaterMark.flaw(of: chain, in: state) { tell(flaw.message, flaw.hint) }
  }

  /// For who raises an alarm, which a notice is none of: once it is returned, it is no notice any more.
  func flaw(of chain: ChainID, in state: StateFolder) -> RepositoryError? {
    guard let flaw = state.lostMemory(of: chain) else { return nil }
    hasTold.withLock { $0 = true }
    return flaw
  }

  /// What this machine said or read that has versions count again is shown; or nobody knows what that was.
  func demandTakenBack(of chain: ChainID, _ records: RecordListings, in state: StateFolder) async throws {
    do {
      try await records.demandTakenBack(of: chain, state: state)
    } catch let error as RepositoryError where error.code == .stateFolder {
      tell(
        "what this machine has said and read of versions there cannot be told: \(error.message); that one which was taken back looks forgotten would not be noticed",
        error.hint)
    }
  }

  private func tell(_ message: String, _ hint: String?) {
    guard !hasTold.withLock({ $0 }) else { return }
    hasTold.withLock { $0 = true }
    reporter.notice("\(targetName): \(message). \(hint ?? "")")
  }
}
