import Repositories
import Sealing
import Storage

/// What this machine has seen at a target is noted, chain by chain: from now on it notices when that is gone.
struct SeenMarks: Sendable {
  private let state: StateFolder
  private let targetName: String
  private let isProved: Bool
  private let reporter: any Reporter
  private let hasTold = Locked(false)

  /// - Parameter isProved: see `Repository.provesPlace`.
  init(in state: StateFolder, of targetName: String, isProved: Bool, _ reporter: any Reporter) {
    self.state = state
    self.targetName = targetName
    self.isProved = isProved
    self.reporter = reporter
  }

  /// Of a chain the newest version that counts. Manifests that cannot be read say nothing against what can: anybody may put
  /// such there. A gap that only a newer program could explain does. Where the place is not proved, nothing is noted, as a
  /// mark would be the proof; that was told when it was opened.
  func note(_ history: ChainHistory) {
    guard isProved else { return }
    let isInOrder = history.problems.allSatisfy { $0.code == .damaged || $0.code == .unsupported }
    guard isInOrder, !hasDoubtfulGap(history), let newest = history.newestCounting else { return }
    guard !HighWaterMark(newest).raise(history.chain, in: state), !hasTold.withLock({ $0 }) else { return }
    hasTold.withLock { $0 = true }
    reporter.notice(
      "\(targetName): this machine cannot remember what it has seen there: \(state.path) cannot be written; it would not notice if newer versions were taken away"
    )
  }

  private func hasDoubtfulGap(_ history: ChainHistory) -> Bool {
    history.forgotten.isPartly && history.problems.contains { $0.code == .unsupported }
  }

  /// Whether there is one of each of these chains: then nothing newer of them can have been taken away unnoticed.
  func hold(_ chains: [ChainID]) -> Bool {
    chains.allSatisfy { (try? HighWaterMark.read($0, in: state)) != nil }
  }
}
