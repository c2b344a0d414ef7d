import Repositories
import Sealing
import Storage

/// `sealift prune`: deletes what forgotten versions and pushes that were cut left behind.
package struct PruneRepository: Sendable {
  /// How a target's listings are relied on.
  package enum Runs: String, Sendable {
    /// Condemn and delete in one run: a listing shows what was stored before it began.
    case one
    /// Condemn in one run, delete in a later one: listings may be late.
    case two
  }

  package struct Request: Sendable {
    /// Names of databases; all when empty.
    package var databases: [String] = []
    /// Only what this host pushed; `nil`: what all hosts did, and what uploads left.
    package var host: String?
    package var dryRun = false
    /// Milliseconds; younger packs stay.
    package var minAge: UInt64 = 86_400_000
    /// Milliseconds; versions that were forgotten later, by the target's time, stay.
    package var forgottenFor: UInt64 = 0
    /// `nil`: one where the target is known to list at once, by its nature or by `sealift doctor`.
    package var runs: Runs?

    package init() {}
  }

  package struct Outcome: Sendable {
    package struct Chain: Sendable {
      package var database: String
      package var host: String
      /// Hexadecimal.
      package var chain: String
      package var condemned: Amount
      package var freed: Amount
      package var waiting: Amount
      package var retained: Amount
      package var retainedBecause: String?
      /// Forgotten versions that stay, because they were not forgotten long enough ago.
      package var resting = 0
      /// Of what waits, what has waited for a newer version for a week: where nobody pushes any more, for ever.
      package var waitsForVersion = Amount(objects: 0, bytes: 0)
      /// Packs that nothing needs, and that stay because they are younger than `minAge`.
      package var young = Amount(objects: 0, bytes: 0)
      /// Of what rests, what has by this machine's clock for a week longer than asked for, and waits for the target to show
      /// that by what is stored there later: where nobody pushes any more, for ever.
      package var waitsForTime = 0
      /// Something ended it before all of it was done: these are the figures of what was answered until then, and the
      /// outcome's `interruption` or one of its `problems` says why.
      package var isCut = false
    }

    package struct Amount: Sendable, Equatable {
      package var objects: Int
      package var bytes: Int

      package init(objects: Int, bytes: Int) {
        self.objects = objects
        self.bytes = bytes
      }
    }

    package var runs: Runs
    /// In the order of databases and hosts.
    package var chains: [Chain]
    /// What uploads that were killed had left, and is not at the target any more; with a host that is not looked for.
    package var leftovers = Amount(objects: 0, bytes: 0)
    /// How many deleted objects the target only hid: it keeps them as older versions, and their bytes cost.
    package var hidden = 0
    /// Chains that were not pruned, or not to their end, because of a doubt or of a target that went away, and objects that
    /// could not be deleted.
    package var problems: [OperationError]
    /// Why the chains that are not among these were not begun, or not ended; one that it cut may be among these.
    package var interruption: OperationError?
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  package func run(_ request: Request, at target: TargetAccess) async throws -> Outcome {
    do {
      let repository = try await target.open(world, keepsPlace: request.dryRun)
      let hiddenBefore = target.store.traits.hidden.count
      let state = StateFolder(reading: world.stateFolder, repository: repository.id)
      let runs = request.runs ?? (ListingProof.holds(for: target, world) ? .one : .two)
      var policy = PrunePolicy(twoRuns: runs == .two, now: world.now)
      policy.minAge = request.minAge
      policy.forgottenFor = request.forgottenFor
      policy.dryRun = request.dryRun
      let versions = try await repository.store.list(prefix: Layout.versions)
      policy.noteTimes(of: versions)
      let listings = ChainListing.byChain(versions)
      var outcome = Outcome(runs: runs, chains: [], problems: [])
      outcome.problems += state.vanishedChains(shown: listings.map(\.chain)).map {
        OperationError($0, doing: target.name)
      }
      do {
        for listing in try await chosen(listings, request, repository, state, target, &outcome) {
          try await prune(listing.chain, policy, repository, state, target, &outcome)
        }
        // Nothing says whose an upload was.
        if request.host == nil { try await sweepLeftovers(policy, repository, versions, target, &outcome) }
      } catch {
        let problem = OperationError(error, doing: "pruning \(target.name)")
        // Neither a target that does not answer any more nor a signal hides anything of what was deleted before.
        guard !outcome.chains.isEmpty, problem.kind == .cancelled || error is StoreError else { throw error }
        if problem.kind == .cancelled { outcome.interruption = problem } else { outcome.problems.append(problem) }
      }
      outcome.hidden = target.store.traits.hidden.count - hiddenBefore
      outcome.chains.sort { ($0.database, $0.host, $0.chain) < ($1.database, $1.host, $1.chain) }
      state.tidy()
      return outcome
    } catch {
      throw OperationError(error, doing: "pruning \(target.name)")
    }
  }

  /// One chain. A doubt about it is no reason to leave others alone, nor is an object that the target does not give.
  private func prune(
    _ chain: ChainID, _ policy: PrunePolicy, _ repository: Repository, _ state: StateFolder, _ target: TargetAccess,
    _ outcome: inout Outcome
  ) async throws {
    var extent = "was not pruned"
    do {
      if !policy.dryRun { try await repository.takeBackSaved(of: chain, world, state) }
      guard let pruned = try await repository.prune(chain, policy, state: state) else { return }
      outcome.chains.append(.init(pruned))
      tellUnclaimed(pruned, target)
      if let cut = pruned.cut {
        extent = "was not pruned to its end"
        throw cut
      }
      guard let first = pruned.failures.first else { return }
      var problem = OperationError(first, doing: "\(target.name): \(pruned.failures.count) objects stay")
      problem.hint = "Another prune tries them again. \(problem.hint ?? "")"
      outcome.problems.append(problem)
    } catch let error as StoreError where error.code != .notFound && error.object == nil {
      throw error
    } catch {
      let problem = OperationError(error, doing: "\(target.name): chain \(chain.hex.prefix(12)) \(extent)")
      if problem.kind == .cancelled { throw problem }
      outcome.problems.append(problem)
    }
  }

  private func tellUnclaimed(_ pruned: PrunedChain, _ target: TargetAccess) {
    let packs = pruned.unclaimed
    guard packs.objects > 0 else { return tellDoubted(pruned, target) }
    let what = packs.objects == 1 ? "a pack" : "\(packs.objects) packs"
    let stay = packs.objects == 1 ? "stays" : "stay"
    world.reporter.notice(
      "\(target.name): of '\(pruned.database)' on \(pruned.host) \(what) (\(packs.bytes) bytes) that nothing needs \(stay): a manifest was cut or cannot be read, and its version may need what no other does. `sealift check` names it; run `sealift repair` on each machine that pushes '\(pruned.database)', then prune again. If it is of no version, remove it by hand"
    )
  }

  /// Without a pack beside it: what a small push stores is in its manifest.
  private func tellDoubted(_ pruned: PrunedChain, _ target: TargetAccess) {
    guard pruned.doubted > 0 else { return }
    let what = pruned.doubted == 1 ? "a manifest stays" : "\(pruned.doubted) manifests stay"
    world.reporter.notice(
      "\(target.name): of '\(pruned.database)' on \(pruned.host) \(what) that cannot be read: a version was forgotten at that place, and it may be of another one. `sealift check` names it; run `sealift repair` on each machine that pushes '\(pruned.database)'. If it is of no version, remove it by hand"
    )
  }

  private func sweepLeftovers(
    _ policy: PrunePolicy, _ repository: Repository, _ versions: [ObjectInfo], _ target: TargetAccess,
    _ outcome: inout Outcome
  ) async throws {
    do {
      let leftovers = try await Leftovers(below: repository.store, policy, versions: versions)
      outcome.leftovers = .init(leftovers.freed)
      guard let first = leftovers.failures.first else { return }
      outcome.problems.append(
        OperationError(first, doing: "\(target.name): \(leftovers.failures.count) leftovers of uploads stay"))
    } catch let error as StoreError where error.code != .cancelled {
      outcome.problems.append(OperationError(error, doing: "\(target.name): leftovers of uploads were not looked for"))
    }
  }
}

extension PruneRepository.Outcome.Chain {
  fileprivate init(_ pruned: PrunedChain) {
    self.init(
      database: pruned.database, host: pruned.host, chain: pruned.chain.hex, condemned: .init(pruned.condemned),
      freed: .init(pruned.freed), waiting: .init(pruned.waiting), retained: .init(pruned.retained),
      retainedBecause: pruned.retainedBecause?.message, resting: pruned.resting,
      waitsForVersion: .init(pruned.waitsForVersion), young: .init(pruned.young),
      waitsForTime: pruned.waitsForTime, isCut: pruned.cut != nil)
  }
}

extension PruneRepository.Outcome.Amount {
  fileprivate init(_ tally: PrunedChain.Tally) { self.init(objects: tally.objects, bytes: tally.bytes) }
}
