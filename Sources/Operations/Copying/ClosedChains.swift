import Repositories
import Sealing
import Storage

/// Chains of the repository that is copied to which take nothing from this machine: they show less than it has seen, or what
/// it has seen of them cannot be read.
///
/// They are asked before a version is fetched: else all that is missing there would be fetched for nothing, each time. And
/// what is wrong with a chain is told once, not of each version that would go there.
final class ClosedChains {
  /// Thrown in place of each version that would go to such a chain.
  struct Refusal: Error {
    let chain: ChainID
    let problem: RepositoryError
  }

  private let repository: Repository
  private let state: StateFolder
  /// As they were listed when the run began.
  private let listings: [ChainID: ChainListing]
  private var asked: Set<ChainID> = []
  private var refusals: [ChainID: Refusal] = [:]
  private var told: Set<ChainID> = []

  init(_ repository: Repository, _ state: StateFolder, _ listings: [ChainID: ChainListing]) {
    self.repository = repository
    self.state = state
    self.listings = listings
  }

  /// Why a push to a chain would be refused; `nil` where nothing is known that speaks against it.
  /// - Throws: only what says nothing of the chain: a target that cannot be reached, a cancelled task.
  func refusal(of chain: ChainID) async throws -> Refusal? {
    if let known = refusals[chain] { return known }
    guard asked.insert(chain).inserted else { return nil }
    do {
      let listing = listings[chain] ?? ChainListing(chain: chain, objects: [])
      try await repository.demandOpen(listing, state: state)
    } catch let problem as RepositoryError where problem.code == .conflict {
      // The listing is late, or versions have come since: who pushes looks once more.
    } catch let problem as RepositoryError {
      // Whatever it is, it is no reason to copy nothing to other chains.
      return close(chain, problem)
    }
    return nil
  }

  /// A push to a chain was refused, or would be.
  /// - Returns: `nil` for what says nothing of the next push to it.
  func note(_ problem: RepositoryError, of chain: ChainID) -> Refusal? {
    Self.lasting.contains(problem.code) ? close(chain, problem) : nil
  }

  private func close(_ chain: ChainID, _ problem: RepositoryError) -> Refusal {
    let refusal = Refusal(chain: chain, problem: problem)
    refusals[chain] = refusal
    return refusal
  }

  private static let lasting: Set<RepositoryError.Code> = [
    .rolledBack, .forked, .hole, .damaged, .stateFolder, .unsupported,
  ]

  /// - Returns: whether nobody was told of that chain before.
  func tells(_ refusal: Refusal) -> Bool { told.insert(refusal.chain).inserted }
}
