import Operations
import Repositories
import Sealing
import Storage

extension Simulation {
  /// Whether an error is one that may be: what the network did, a prune that was faster, a fork that there is, a doubt where
  /// the target gives reason to doubt.
  func judge(_ error: any Error, _ session: Session) async {
    switch Self.cause(of: error) {
    case let error as StoreError where error.code != .notFound: return
    // What was listed may be gone when it is read, if another prune runs.
    case is StoreError where session.deed != Deed.push.rawValue: return
    case let error as RepositoryError where error.code == .conflict: return
    case let error as RepositoryError where Self.doubts(of: session).contains(error.code): return
    case let error as RepositoryError where Self.anyDoubt.contains(error.code) && hasReasonToDoubt(session): return
    case let error as RepositoryError where error.code == .forked:
      guard await isForked(session) else { break }
      guard session.deed == Deed.push.rawValue else { return }
      tally.forks += 1
      session.host.fork += 1
      return
    case let error as OperationError where Self.refusals.contains(error.code): return
    case let error as OperationError where error.code == "contested": if await isForked(session) { return }
    default: break
    }
    fail("\(session.name) failed for no good reason: \(Self.words(error))")
  }

  /// What the program's operations say, they say for a reason.
  private static func cause(of error: any Error) -> any Error {
    guard let operation = error as? OperationError, let cause = operation.cause else { return error }
    return Self.cause(of: cause)
  }

  /// What others delete meanwhile looks like a loss, and who cannot tell refuses (`pruneInTheEnd`); who names a version may
  /// find it gone.
  private static func doubts(of session: Session) -> Set<RepositoryError.Code> {
    switch Deed(rawValue: session.deed) {
    case .prune: [.hole, .incomplete, .damaged]
    case .forget: [.hole, .incomplete, .damaged, .noSuchVersion]
    case .unforget: [.incomplete, .noSuchVersion]
    case .pin, .unpin: [.noSuchVersion]
    default: []
    }
  }

  private static let anyDoubt: Set<RepositoryError.Code> = [
    .hole, .incomplete, .damaged, .rolledBack, .forked, .noSuchVersion,
  ]
  /// Words for a person who asks for what may not be.
  private static let refusals: Set<String> = ["pinned", "newestVersion", "forgotten"]

  /// Listings that cannot be relied on, or a version that the target did lose.
  private func hasReasonToDoubt(_ session: Session) -> Bool {
    profile.isVague
      || lost.contains { chain, _ in
        session.deed == Deed.forget.rawValue || lines[chain]?.identity == session.owner.identity
      }
  }

  /// Two versions claim one place, and that two machines pushed as one is true.
  private func isForked(_ session: Session) async -> Bool {
    guard let repository = try? await openStraight() else { return false }
    let isAboutAll = [.forget, .giveUp].contains(Deed(rawValue: session.deed))
    let chains =
      isAboutAll ? lines.keys.sorted().compactMap(ChainID.init(hex:)) : [chain(of: session.owner, in: repository)]
    for chain in chains where mayFork(chain) {
      guard let history = try? await history(of: chain, repository) else { return false }
      if !history.displaced.isEmpty { return true }
    }
    return false
  }

  /// Some machine was cloned, or lost what it knew of this chain: for the target it is another one since.
  func mayFork(_ chain: ChainID) -> Bool {
    guard let line = lines[chain.hex] else { return true }
    return beginners.contains(line) || hosts.filter { $0.identity == line.identity }.count > 1
  }

  static func words(_ error: any Error) -> String {
    switch error {
    case let error as OperationError: "\(error.code), \(error.message)"
    case let error as RepositoryError: "\(error.code.rawValue), \(error.message)"
    case let error as StoreError: "\(error.code.rawValue), \(error.message)"
    default: "\(error)"
    }
  }
}
