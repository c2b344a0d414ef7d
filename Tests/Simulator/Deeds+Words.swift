import Operations
import Repositories
import Sealing

/// What people and drills say of versions: pinned, not pinned any more, found damaged.
extension Simulation {
  func pin(_ session: Session) async throws {
    guard let promise = anyPromise(of: session.owner) else { return }
    let (unpinnings, isCrossed) = (pins.unpinnings(of: promise.id), pins.isBeingUnpinned(promise.id))
    let takings = takings[promise.id] ?? 0
    note("\(session.name)s version \(promise.sequence)")
    _ = try await AnnotateVersions(world(of: session)).run(.pin, of: .id(prefix: promise.id.hex), at: access(session))
    // Where somebody takes it back at the same time, a prune may already have a part of it.
    guard !session.isDead, !isCrossed, !promise.isForgotten, takings == self.takings[promise.id] ?? 0 else { return }
    if pins.add(promise.id, before: unpinnings) { tally.pinned += 1 }
  }

  func unpin(_ session: Session) async throws {
    guard let promise = anyPromise(of: session.owner, where: { self.pins.contains($0.id) }) else { return }
    pins.beginToRemove(promise.id)
    note("\(session.name)s version \(promise.sequence)")
    _ = try await AnnotateVersions(world(of: session)).run(
      .unpin, of: .id(prefix: promise.id.hex), at: access(session))
    if !session.isDead { pins.endRemoving(promise.id) }
  }

  /// A drill found something of a version damaged, as it says: no rule counts it any more.
  func mark(_ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder) async throws {
    let history = try await history(of: chain, repository, state)
    let known = history.versions.filter { promise(of: $0) != nil }
    guard !known.isEmpty else { return }
    let version = known[dice.below(known.count)]
    let annotations = try await repository.annotations(of: chain, state: state)
    marks.insert(version.id)
    note("\(session.name)s version \(version.sequence) as damaged")
    try await repository.annotate(
      version, [.init(.foundDamaged, "a page")], now: annotations.time(for: version, now: clock(of: session.host)))
    guard !session.isDead else { return }
    saidDamaged.insert(version.id)
    tally.marked += 1
  }

  func anyPromise(of owner: Host, where isMeant: (Promise) -> Bool = { _ in true }) -> Promise? {
    let own = promises.filter { lines[$0.chain.hex] == owner.line && !$0.isLost && isMeant($0) }
    return own.isEmpty ? nil : own[dice.below(own.count)]
  }
}
