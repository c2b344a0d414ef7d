import Repositories
import Sealing
import Storage

/// Forgetting and taking back, with the program's own words; what may go is decided here, by the rules of
/// `Docs/Decisions/0012`.
extension Simulation {
  func forget(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    let history = try await history(of: chain, repository, state)
    guard history.problems.isEmpty else { return }
    let found = try await wholeness(of: history, repository, state)
    let chosen = found.broken.isEmpty ? found.older.filter { _ in dice.once(in: 2) } : found.broken
    // Nothing goes while something that was promised seems to be cut: it is looked again another time.
    guard !chosen.isEmpty, !found.broken.contains(where: { promise(of: $0)?.isForgotten == false }) else { return }
    for version in chosen { release(version.id) }
    note("\(session.name) forgets versions \(chosen.map(\.sequence))")
    try await repository.forget(chosen, now: clock(of: session.host))
  }

  struct Wholeness {
    /// Versions older than one that is whole, which always stays.
    var older: [VersionFacts] = []
    /// Those of them that are not whole: no rule may leave them behind.
    var broken: [VersionFacts] = []
    /// Not whole, and nothing newer is.
    var open: [VersionFacts] = []
  }

  /// Of what was not forgotten.
  func wholeness(
    of history: ChainHistory, _ repository: Repository, _ state: StateFolder?
  ) async throws -> Wholeness {
    let completeness = try await Completeness(repository, chain: history.chain, state: state)
    var found = Wholeness()
    var isNewerWhole = false
    for version in history.versions.reversed() where !history.isForgotten(version) {
      let finding = try await completeness.look(at: repository.readable(version, in: history, state: state))
      if isNewerWhole {
        found.older.append(version)
        if finding == .incomplete { found.broken.append(version) }
      } else if finding == .whole {
        isNewerWhole = true
      } else if finding == .incomplete {
        found.open.append(version)
      }
    }
    return found
  }

  func unforget(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    let history = try await history(of: chain, repository, state)
    let forgotten = history.versions.filter { history.isForgotten($0) }
    guard !forgotten.isEmpty else { return }
    let version = forgotten[dice.below(forgotten.count)]
    let tombstones = history.forgotten.tombstones(covering: version)
    let annotations = try await repository.annotations(of: chain, state: state)
    note("\(session.name) takes version \(version.sequence) back")
    unfinished[chain.hex, default: 0] += 1
    _ = try await repository.unforget(
      version, from: tombstones, now: annotations.time(for: version.id, now: clock(of: session.host)), state: state)
    guard !session.isDead else { return }
    unfinished[chain.hex, default: 0] -= 1
    takeBack(version.id, tombstones)
  }

  /// From now on a version may go.
  func release(_ id: Digest) {
    tombstonesOf[id, default: 0] += 1
    markForgotten(id)
  }

  /// A version counts again, if no tombstone of it is left, or on its way, that was not taken back.
  private func takeBack(_ id: Digest, _ tombstones: [Digest]) {
    takenBack[id, default: []].formUnion(tombstones)
    guard takenBack[id]?.count == tombstonesOf[id] else { return }
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
