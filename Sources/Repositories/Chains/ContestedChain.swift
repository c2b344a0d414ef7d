import Sealing

extension ChainHistory {
  /// The first place of a chain where two machines pushed as one, and nothing else is in doubt; else `nil`. What came
  /// before it is as sound as in any chain.
  package var contestedFrom: UInt64? {
    guard isWhole, problems.allSatisfy({ $0.code == .forked }) else { return nil }
    return displaced.map(\.sequence).min()
  }
}

extension Repository {
  /// Whether both versions of each contested place, and all others, continue one that stood before them, and the target
  /// shows what this machine has seen: what a prune asks too.
  /// - Throws: `RepositoryError` `.rolledBack`, `.hole`, `.forked`.
  package func checkContested(_ history: ChainHistory, state: StateFolder) throws {
    let mark = try HighWaterMark.read(history.chain, in: state)
    try ChainProof(history.chain, history.versions + history.displaced, history.forgotten.ranges)
      .check(against: mark, in: state)
  }
}
