import Operations
import Repositories
import Sealing
import Storage

/// Forgetting and taking back, as the program's own operations do it.
extension Simulation {
  /// What the pushes of some versions tag them with, and what rules keep.
  static let tag = "keep"

  func forget(_ session: Session) async throws {
    let operation = ForgetVersions(world(of: session))
    let before = Standing(self)
    guard let wish = wish(session) else { return }
    let plan = try await operation.plan(wish.request, at: access(session))
    for refusal in plan.refusals {
      tally.refusedForgets += 1
      note("\(session.name) leaves a chain alone: \(refusal.message)")
      await judge(refusal, session)
    }
    for chain in plan.chains where !chain.plan.going.isEmpty {
      demandRight(chain, wish.rules, before, session)
      try await carryOut(chain, of: plan, operation, session)
      guard !session.isDead else { return }
    }
  }

  private func carryOut(
    _ chain: ForgetVersions.ChainPlan, of plan: ForgetVersions.Plan, _ operation: ForgetVersions, _ session: Session
  ) async throws {
    let going = chain.plan.going.compactMap { Hex.decode($0.version.id).flatMap { Digest($0) } }
    let pinned = going.filter { pins.contains($0) }.map { (id: $0, unpinnings: pins.unpinnings(of: $0)) }
    for id in going { release(id) }
    note("\(session.name)s versions \(chain.plan.going.map(\.version.sequence)) of \(chain.host)")
    let done = try await operation.carryOut(chain, of: plan)
    guard done.problem == nil, !session.isDead, !profile.isVague else { return }
    // A pin that stood before the tombstone did is seen behind it, and the tombstone taken back.
    for (id, unpinnings) in pinned where pins.contains(id) && pins.unpinnings(of: id) == unpinnings { recall(id) }
  }

  private struct Wish {
    let request: ForgetVersions.Request
    var rules: RetentionRules?
  }

  private func wish(_ session: Session) -> Wish? {
    if dice.once(in: 4) {
      guard let promise = anyPromise(of: session.owner, where: { !$0.isForgotten }) else { return nil }
      return Wish(request: .init(.versions([.id(prefix: promise.id.hex)])))
    }
    let rules = rules()
    var request = ForgetVersions.Request(.rulesForAll(rules))
    request.allHosts = !dice.once(in: 3)
    return Wish(request: request, rules: rules)
  }

  private func rules() -> RetentionRules {
    var rules = RetentionRules()
    switch dice.below(4) {
    case 0: rules.daily = 1 + dice.below(3)
    case 1: rules.within = UInt64(1 + dice.below(48)) * 3_600_000
    default: rules.last = 1 + dice.below(3)
    }
    if dice.once(in: 2) { rules.tags = [Self.tag] }
    return rules
  }

  func unforget(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    let history = try await history(of: chain, repository, state)
    let forgotten = history.versions.filter { history.isForgotten($0) }
    guard !forgotten.isEmpty else { return }
    let version = forgotten[dice.below(forgotten.count)]
    let tombstones = history.forgotten.tombstones(covering: version)
    note("\(session.name)s version \(version.sequence)")
    unfinished[chain.hex, default: 0] += 1
    takings[version.id, default: 0] += 1
    session.tombstones = nil
    do {
      _ = try await UnforgetVersions(world(of: session)).run(.id(prefix: version.id.hex), at: access(session))
    } catch {
      if !session.isDead, !session.hasSpoken { unfinished[chain.hex, default: 0] -= 1 }
      throw error
    }
    guard !session.isDead else { return }
    unfinished[chain.hex, default: 0] -= 1
    takeBack(version.id, tombstones.filter { session.tombstones?.contains($0) ?? false })
  }

  /// From now on a version may go.
  func release(_ id: Digest) {
    tombstonesOf[id, default: 0] += 1
    markForgotten(id)
  }

  /// Who released it has taken that back himself.
  private func recall(_ id: Digest) {
    tombstonesOf[id, default: 0] -= 1
    countAgain(id)
  }

  private func takeBack(_ id: Digest, _ tombstones: [Digest]) {
    takenBack[id, default: []].formUnion(tombstones)
    countAgain(id)
  }

  /// A version counts again, if no tombstone of it is left, or on its way, that was not taken back.
  private func countAgain(_ id: Digest) {
    guard !isReleased(id) else { return }
    for index in promises.indices where promises[index].id == id && promises[index].isForgotten {
      promises[index].isForgotten = false
      tally.takenBack += 1
    }
  }

  /// Whether somebody let a version go, and nobody took it back.
  func isReleased(_ id: Digest) -> Bool { (tombstonesOf[id] ?? 0) > (takenBack[id]?.count ?? 0) }

  func markForgotten(_ id: Digest) {
    for index in promises.indices where promises[index].id == id && !promises[index].isForgotten {
      promises[index].isForgotten = true
      tally.forgotten += 1
    }
  }
}
