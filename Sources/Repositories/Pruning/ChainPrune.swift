package import Sealing
import Storage

/// Deletes of one chain what nothing needs any more: condemn, look again, delete what is still not needed
/// (`Docs/Design.md`, "Prune"). No locks, no conditional requests; any number of pushes and prunes may run beside it.
struct ChainPrune {
  let repository: Repository
  let state: StateFolder
  let policy: PrunePolicy
  let chain: ChainID
  let tables: PackTables
  private let look: ChainLook

  init(_ repository: Repository, _ chain: ChainID, _ policy: PrunePolicy, _ state: StateFolder) {
    self.repository = repository
    self.chain = chain
    self.policy = policy
    self.state = state
    tables = PackTables(repository, state: state)
    look = ChainLook(repository, chain, state, tables, policy)
  }

  /// - Returns: `nil` when the chain has no version: what lies there may belong to a push that is about to make the first.
  /// - Throws: what `ChainLook.view` throws, and `StoreError` of a listing or a record, before anything was condemned or
  ///   deleted; what comes after that is in the outcome (`PrunedChain.cut`).
  func run() async throws -> PrunedChain? {
    let firstBegan = policy.now()
    let first = try await look.view()
    guard first.newest != nil else { return nil }
    raiseMark(by: first)
    let candidates = try await candidates(in: first)
    if policy.dryRun { return try await forecast(first, candidates, at: firstBegan) }

    var outcome = PrunedChain(first)
    outcome.waitsForVersion = .init(waitingForVersion(in: first, at: firstBegan))
    outcome.young = .init(young(in: first))
    outcome.unclaimed = .init(unclaimed(in: first))
    outcome.waiting = .init(unwanted(in: first, allCondemned(in: first)))
    noteSeen(first.condemned.map(\.name.digest), in: first)
    do {
      let own = try await condemn(candidates, &outcome)
      noteSeen(own, in: first)
      let mayDelete = !own.isEmpty && !policy.twoRuns || !unwanted(in: first, ripe(in: first, at: firstBegan)).isEmpty
      guard mayDelete else { return outcome }
      let secondBegan = policy.now()
      let second = try await look.view()
      try second.checkContinues(first)
      guard own.isSubset(of: Set(second.condemned.map(\.name.digest))) else { throw late() }
      try await sweep(second, named: ripe(in: second, at: secondBegan), &outcome)
    } catch let error where outcome.condemned + outcome.freed != .init() {
      // Neither a signal nor a target that went away hides what was done until then, nor does a doubt of the second look.
      outcome.cut = error
    }
    return outcome
  }

  /// Who looks has seen, also in a dry run. But not where two machines pushed as one: which branch this machine goes on
  /// from only its own pushes say, and with the other's version for a mark it would push there as if it were its own.
  private func raiseMark(by view: ChainView) {
    let complete = view.manifests.filter(\.isComplete)
    let isContested = zip(complete, complete.dropFirst()).contains { $0.sequence == $1.sequence && $0.id != $1.id }
    guard !isContested else { return }
    if repository.isPlaceProved, let newest = view.newestCounting { _ = HighWaterMark(newest).raise(chain, in: state) }
  }

  private func late() -> RepositoryError {
    RepositoryError(
      .conflict, "\(repository.store.traits.location) does not list what was stored there a moment ago",
      hint: "Run `sealift doctor`, and `sealift prune --two-runs` until that is mended. Nothing was deleted.")
  }

  private func forecast(
    _ view: ChainView, _ candidates: [ObjectInfo], at began: UInt64
  ) async throws -> PrunedChain {
    var outcome = PrunedChain(view)
    outcome.condemned = .init(candidates)
    outcome.waitsForVersion = .init(waitingForVersion(in: view, at: began))
    outcome.young = .init(young(in: view))
    outcome.unclaimed = .init(unclaimed(in: view))
    let all = unwanted(in: view, allCondemned(in: view))
    let ripe = ripe(in: view, at: began)
    let now = all.filter { $0.isAmong(ripe) } + (policy.twoRuns ? [] : candidates)
    outcome.freed = .init(now)
    let freed = Set(now.map(\.name))
    outcome.waiting = .init((all + candidates).filter { !freed.contains($0.name) })
    return outcome
  }
}

extension Repository {
  /// Deletes of a chain what nothing needs any more.
  /// - Returns: `nil` when the chain has no version yet. What ended it in the middle is in what is returned
  ///   (`PrunedChain.cut`).
  /// - Throws: `RepositoryError` `.damaged`, `.hole`, `.forked`, `.rolledBack`, `.incomplete` when there is a doubt, and
  ///   then nothing was condemned or deleted; `SealError`; `StoreError`.
  package func prune(_ chain: ChainID, _ policy: PrunePolicy, state: StateFolder) async throws -> PrunedChain? {
    try await ChainPrune(self, chain, policy, state).run()
  }
}
