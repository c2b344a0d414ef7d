import Operations
import Repositories
import Sealing
import Storage

/// What counted when somebody began to plan what goes.
struct Standing {
  let promises: [Promise]
  let pinned: Set<Digest>
  let damaged: Set<Digest>

  init(_ simulation: Simulation) {
    promises = simulation.promises.filter { !$0.isForgotten && !$0.isLost }
    pinned = Set(promises.map(\.id).filter { simulation.pins.contains($0) })
    damaged = simulation.saidDamaged
  }
}

/// What a plan may let go, without the program's own reckoning (`Docs/Decisions/0012`).
extension Simulation {
  func demandRight(
    _ chain: ForgetVersions.ChainPlan, _ rules: RetentionRules?, _ before: Standing, _ session: Session
  ) {
    let going = Set(chain.plan.going.map(\.version.id))
    let isInDoubt = profile.isVague
    let last = chain.plan.going.map(\.version.sequence).max() ?? 0
    let damaged = isInDoubt ? [] : Set(before.damaged.map(\.hex))
    if !chain.plan.staying.contains(where: { $0.version.sequence > last && !damaged.contains($0.version.id) }) {
      fail("\(session.name) lets version \(last) of \(chain.host) go, and nothing newer stays that is sound")
    }
    for promise in before.promises where going.contains(promise.id.hex) {
      guard self.promise(promise.id)?.isForgotten == false else { continue }
      if !isInDoubt, before.pinned.contains(promise.id), pins.contains(promise.id) {
        fail("\(session.name) lets version \(promise.sequence) of \(chain.host) go, which is pinned")
      }
      guard let rules, !marks.contains(promise.id) else { continue }
      if let last = rules.last, placesAfter(promise) < last {
        fail("\(session.name) lets version \(promise.sequence) of \(chain.host) go, one of the last \(last)")
      }
      if rules.tags.contains(Self.tag), promise.isTagged {
        fail("\(session.name) lets version \(promise.sequence) of \(chain.host) go, and a rule keeps its tag")
      }
    }
  }

  private func promise(_ id: Digest) -> Promise? { promises.first { $0.id == id } }

  /// How many versions of its chain there ever were behind it.
  private func placesAfter(_ promise: Promise) -> Int {
    let prefix = Layout.versions(of: promise.chain)
    let places = stored.keys.filter { $0.text.hasPrefix(prefix) }.compactMap { VersionName($0)?.sequence }
    return Set(places.filter { $0 > promise.sequence }).count
  }
}
