import Sealift

/// What the servers of targets ask for: each source is read when something is needed of it, and once in a run. A command
/// may take a second, be counted by a vault, or have a person unlock something, and a run may push thousands of databases.
struct StoreSecrets: Sendable {
  private let known = Locked<[SecretSource: String]>([:])

  /// What failed is not remembered: whoever unlocks the vault meanwhile is not refused for the rest of the run.
  func text(of source: SecretSource) throws -> String {
    if let held = known.withLock({ $0[source] }) { return held }
    return try newText(of: source)
  }

  /// What the source says now: somebody may have renewed it.
  func newText(of source: SecretSource) throws -> String {
    let text = String(decoding: try source.text(), as: UTF8.self)
    known.withLock { $0[source] = text }
    return text
  }

  /// Reads all that a target's server may ask for.
  func read(of target: TargetSettings) throws {
    for source in [target.password, target.secretKey, target.sessionToken] {
      if let source { _ = try text(of: source) }
    }
  }
}

extension StoreError {
  /// What keeps a store from its secret, as stores throw it.
  init(ofSecret error: any Error) {
    let known = OperationError(error)
    self.init(
      known.kind == .cancelled ? .cancelled : .unauthenticated, known.message, hint: known.hint, cause: error)
  }
}
