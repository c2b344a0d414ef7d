import Repositories
import Sealing
import Storage

/// `sealift forget`: first a plan, which a person can look at, then the tombstones that carry it out.
package struct ForgetVersions: Sendable {
  package struct Request: Sendable {
    package enum Choice: Sendable {
      /// The rules for each database, by name.
      case rules([String: RetentionRules])
      /// The same rules for every database there is.
      case rulesForAll(RetentionRules)
      /// These versions, wherever they are.
      case versions([VersionSelector])
    }

    package var choice: Choice
    /// Also databases that other hosts pushed.
    package var allHosts = false
    /// Databases that this host pushed, instead of this machine's own.
    package var host: String?
    /// Databases a person named: none of them may be missing.
    package var named: [String] = []
    /// By the name of a database of this host: since when a restore into it has not ended, in milliseconds since 1970.
    package var unsettled: [String: UInt64] = [:]
    /// The plan will not be carried out.
    package var dryRun = false

    package init(_ choice: Choice) { self.choice = choice }
  }

  /// What is to become of one chain.
  package struct ChainPlan: Sendable {
    package let database: String
    package let host: String
    /// Of the versions that count, oldest first, as `plan.decisions`.
    package let versions: [VersionSummary]
    package let plan: RetentionPlan
    /// Was forgotten before this, and was not pruned yet.
    package let forgottenBefore: Int
    let going: [VersionFacts]
    /// Of versions that a rule would keep and that lost packs: they stay, and the rest of the plan holds.
    package internal(set) var problems: [OperationError] = []
  }

  package struct Plan: Sendable {
    package let target: String
    package internal(set) var chains: [ChainPlan] = []
    /// Chains that are left alone, because something about them is in doubt.
    package internal(set) var refusals: [OperationError] = []
    /// Other hosts with versions there, where only this one's were asked for.
    package internal(set) var otherHosts: [String] = []
    /// Of the versions that were named: how many had been forgotten before.
    package internal(set) var forgottenBefore = 0
    let repository: Repository
    let state: StateFolder
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// Decides, and changes nothing.
  /// - Throws: `.usage` for a request that forgets everything or names what may not go; what keeps the target from being read.
  package func plan(_ request: Request, at target: TargetAccess) async throws -> Plan {
    do {
      let lookup = try await VersionLookup(at: target, world, isReading: false, keepsPlace: request.dryRun)
      var plan = Plan(target: target.name, repository: lookup.repository, state: lookup.state)
      let histories = try await histories(meantBy: request, lookup)
      plan.otherHosts = try otherHosts(request, histories)
      let gone = gone(request, lookup)
      for chosen in try choose(request, from: histories, gone, at: target.name) {
        do {
          // Also of what was forgotten before: it may have been taken back, and the word for that is not listed.
          try await demandNoDoubt(about: chosen.history, lookup)
          guard let wish = try await self.wish(of: chosen, lookup, &plan) else { continue }
          let unsettled = unsettled(chosen.history, request, lookup)
          plan.chains.append(try await self.plan(chosen.history, wish, unsettledSince: unsettled, lookup))
        } catch is CancellationError {
          throw CancellationError()
        } catch {
          let name = chosen.history.newest?.version?.database ?? ""
          plan.refusals.append(OperationError(error, doing: "forgetting versions of '\(name)' at \(target.name)"))
        }
      }
      let wanted = try wanted(by: request, lookup)
      for history in histories where history.isNameless && wanted(history) { plan.refusals.append(history.nameless) }
      plan.refusals += gone.map { OperationError($0, doing: "forgetting versions at \(target.name)") }
      tellAbsentTags(request, plan)
      return plan
    } catch {
      throw OperationError(error, doing: "forgetting versions at \(target.name)")
    }
  }

  /// Writes the tombstone of one chain of a plan. There is nothing to do where nothing goes.
  ///
  /// Who pins a version writes that first and looks for tombstones then; here it is the other way round. So of a pin and
  /// a tombstone that cross, one side notices. Should it die before it has said so, a prune keeps what is pinned.
  /// - Returns: how many versions were forgotten; and what failed when they were, of one that was pinned meanwhile.
  /// - Throws: when none was.
  @discardableResult
  package func carryOut(_ chain: ChainPlan, of plan: Plan) async throws -> (forgot: Int, problem: OperationError?) {
    let doing = "forgetting versions of '\(chain.database)' at \(plan.target)"
    guard let first = chain.going.first else { return (0, nil) }
    let tombstone: Digest
    do { tombstone = try await plan.repository.forget(chain.going, now: world.now(), state: plan.state) } catch {
      throw OperationError(error, doing: doing)
    }
    do {
      let stays = try await takeBackPinned(chain, first.chain, from: tombstone, of: plan)
      return (chain.going.count - stays, nil)
    } catch {
      let problem = OperationError(error, doing: doing).leaving(
        "; they are forgotten, and one that was pinned meanwhile may be among them: `sealift unforget` takes that back")
      return (chain.going.count, problem)
    }
  }

  /// - Returns: how many stay.
  private func takeBackPinned(
    _ chain: ChainPlan, _ id: ChainID, from tombstone: Digest, of plan: Plan
  ) async throws -> Int {
    let annotations = try await plan.repository.annotations(of: id, state: plan.state)
    let pinned = chain.going.filter { annotations.isPinned($0) }
    for version in pinned {
      _ = try await plan.repository.unforget(
        version, from: [tombstone], now: annotations.time(for: version, now: world.now()), state: plan.state)
      world.reporter.notice(
        "\(plan.target): version \(version.id.hex.prefix(12)) was pinned meanwhile, and stays after all")
    }
    return pinned.count
  }

  // MARK: deciding

  private func unsettled(_ history: ChainHistory, _ request: Request, _ lookup: VersionLookup) -> UInt64? {
    guard let host = lookup.host, host.isSameName(as: history.host), let database = history.database else { return nil }
    return request.unsettled.value(ofName: database)
  }

  /// - Parameter history: of a chain that is in no doubt.
  private func plan(
    _ history: ChainHistory, _ wish: Wish, unsettledSince unsettled: UInt64?, _ lookup: VersionLookup
  ) async throws -> ChainPlan {
    lookup.noteSeen(history)
    let annotations = try await lookup.everyAnnotation(of: history)
    let counting = history.versions.filter { !history.isForgotten($0) }
    func told(_ versions: [VersionFacts]) -> [VersionSummary] {
      versions.compactMap { VersionSummary($0, target: lookup.targetName, annotations: annotations) }
    }
    let summaries = told(counting)
    let displaced = history.displaced.filter { !history.isForgotten($0) }
    let others = told(displaced)
    var soundness = try await Soundness(of: counting, summaries, history, lookup)
    var plan: RetentionPlan
    switch wish {
    case .rules(let rules):
      plan = try await soundness.plan(looking: { $0.staying.map(\.version.id) }) {
        RetentionPlan($0, rules: rules, now: world.now(), unsettledSince: unsettled)
      }
      try soundness.demandCompleteness(of: plan)
      try await soundness.demandLosses(of: plan)
    case .gone(let ids):
      plan = try await soundness.plan(looking: { $0.floors }) {
        RetentionPlan($0, forgetting: ids)
      }
    }
    plan.keep(
      others.map {
        RetentionPlan.Version($0, contestedFrom: history.contestedFrom, isHarmed: false, isDoubted: false)
      })
    if case .gone(let ids) = wish { try refuse(ids, plan) }
    let going = Set(plan.going.map(\.version.id))
    return ChainPlan(
      database: history.database ?? "", host: history.host ?? "",
      versions: (summaries + others).sorted { ($0.sequence, $0.id) < ($1.sequence, $1.id) }, plan: plan,
      forgottenBefore: history.all.count - counting.count - displaced.count,
      going: counting.filter { going.contains($0.id.hex) },
      problems: harm(plan, of: history, at: lookup.targetName).map { [$0] } ?? [])
  }

  static let mostNamed = 5

  /// Packs that were moved away come back; a version that was let go because of it does not.
  private func harm(_ plan: RetentionPlan, of history: ChainHistory, at target: String) -> OperationError? {
    let harmed = plan.harmed
    guard let first = harmed.first?.version.id.prefix(12) else { return nil }
    let named = harmed.prefix(Self.mostNamed).map { decision in
      "\(decision.version.id.prefix(12)) (\(decision.wouldKeep.joined(separator: ", ")))"
    }
    let more = harmed.count > named.count ? ["\(harmed.count - named.count) more"] : []
    let list = (named + more).joined(separator: ", ")
    return OperationError(
      .verificationFailed, code: "incomplete",
      "\(target): of '\(history.database ?? "")' packs are missing that "
        + (harmed.count == 1
          ? "version \(list) needs: it stays, as a rule would keep it"
          : "\(harmed.count) versions need: they stay, as rules would keep them: \(list)"),
      hint:
        "`sealift check` names the packs. Put back what somebody took away, or run `sealift repair`, which saves what can be had; `sealift forget \(first)` lets a version go."
    )
  }

  /// Of a chain that two machines pushed to as one, all that came before may still go: nobody can ever push there again,
  /// so that nothing of it would be let go otherwise.
  /// - Throws: what is in doubt.
  private func demandNoDoubt(about history: ChainHistory, _ lookup: VersionLookup) async throws {
    try HighWaterMark.demandReadable(history.chain, in: lookup.state)
    try await lookup.demandOwnWords(of: history)
    guard history.contestedFrom != nil, let problem = history.problems.first else {
      if let problem = history.problems.first { throw problem }
      return try await lookup.freshness(of: history)
    }
    try lookup.repository.checkContested(history, state: lookup.state)
    world.reporter.notice("\(lookup.targetName): \(problem.message); all from there on stays")
  }

  /// A version that a person named goes, or the person hears why not.
  private func refuse(_ named: Set<String>, _ plan: RetentionPlan) throws {
    guard let kept = plan.staying.first(where: { named.contains($0.version.id) }) else { return }
    let id = kept.version.id.prefix(12)
    if kept.version.isPinned {
      throw OperationError(
        .usage, code: "pinned", "version \(id) is pinned", hint: "`sealift unpin \(id)` lets it go.")
    }
    if kept.version.isContested {
      throw OperationError(
        .usage, code: "contested", "version \(id) stays: two machines pushed as one, there or before it",
        hint: "What came before that may go.")
    }
    if let sound = plan.newestSound, kept.version.sequence < sound.sequence {
      throw OperationError(
        .usage, code: "newestVersion", "version \(id) stays: all newer ones lack companions that it may have",
        hint:
          "Push one that has them; if they are gone for good, take them out of 'companions', or, for a Core Data store's external files, set \"externalData\": false, and push; where the database has not changed, with `sealift push --note TEXT`."
      )
    }
    throw OperationError(
      .usage, code: "newestVersion", "version \(id) stays: no newer version is whole and sound",
      hint: "Push a newer one first; of a database that does not change, with `sealift push --rebuild-base`.")
  }
}
