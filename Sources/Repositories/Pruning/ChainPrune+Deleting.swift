import Sealing
import Storage

/// Deletes what was named and is still not needed.
extension ChainPrune {
  /// Manifests first, then packs that no manifest needs that is still there: whatever comes between, no manifest is left
  /// without its packs.
  func sweep(_ view: ChainView, named: NameSet, _ outcome: inout PrunedChain) async throws {
    let answered = Locked<[ObjectInfo]>([])
    do {
      try await sweep(view, named: named, answered, &outcome)
    } catch {
      // No listing tells any more what is left: what was answered is gone.
      let gone = answered.withLock { $0 }
      dropKept(of: gone)
      let names = Set(gone.map(\.name))
      outcome.freed = .init(gone)
      outcome.waiting = .init(unwanted(in: view, allCondemned(in: view)).filter { !names.contains($0.name) })
      throw error
    }
  }

  private func sweep(
    _ view: ChainView, named: NameSet, _ answered: Locked<[ObjectInfo]>, _ outcome: inout PrunedChain
  ) async throws {
    let manifests = view.deadManifests.filter { $0.isAmong(named) }
    var refused = try await delete(manifests, answered)
    let gone = Set(manifests.filter { refused[$0.name] == nil }.compactMap(\.digest))
    let needed = try await packsNeeded(in: view, without: gone)
    let packs = view.packs.filter { named.contains($0.key) && !needed.contains($0.key) }.map(\.value)
    refused.merge(try await delete(packs, answered)) { first, _ in first }
    try await count(view, manifests + packs, refused, &outcome)
  }

  private func dropKept(of gone: [ObjectInfo]) {
    for pack in gone.compactMap({ Layout.packDigest($0.name) }) { state.drop(pack: pack) }
  }

  private func packsNeeded(in view: ChainView, without gone: Set<Digest>) async throws -> Set<Digest> {
    var needs: [PackTables.Needs] = []
    for facts in view.live.dead where !gone.contains(facts.digest) {
      do {
        needs.append(try await tables.needs(of: facts.name, listed: view.packs))
      } catch let error as StoreError where error.code == .notFound {
        // Gone after all: the answer was lost, or another prune was quicker.
        continue
      }
    }
    return view.live.packs.union(tables.names(of: needs))
  }

  /// Waits for the answer to each.
  /// - Parameter answered: those that are gone, also where something ends it.
  /// - Returns: those that the target would not or could not delete, and what it said.
  private func delete(
    _ objects: [ObjectInfo], _ answered: Locked<[ObjectInfo]>
  ) async throws -> [ObjectName: StoreError] {
    let store = repository.store
    let answers = try await bounded(objects, atOnce: store.traits.concurrency) { object -> StoreError? in
      do {
        try await store.delete(object.name)
        answered.withLock { $0.append(object) }
        return nil
      } catch let error as StoreError where error.code != .cancelled {
        return error
      }
    }
    let refused = zip(objects, answers).compactMap { object, error in error.map { (object.name, $0) } }
    return Dictionary(refused) { first, _ in first }
  }

  /// What the target shows afterwards is what counts, not what it answered.
  private func count(
    _ view: ChainView, _ deleted: [ObjectInfo], _ refused: [ObjectName: StoreError], _ outcome: inout PrunedChain
  ) async throws {
    async let versions = repository.store.list(prefix: Layout.versions(of: chain))
    async let packs = repository.store.list(prefix: Layout.packs(of: chain))
    let left = Set(try await versions.map(\.name) + packs.map(\.name))
    let gone = deleted.filter { !left.contains($0.name) }
    dropKept(of: gone)
    outcome.freed = .init(gone)
    outcome.retained = .init(deleted.filter { left.contains($0.name) })
    let errors = refused.filter { left.contains($0.key) }.map(\.value)
    outcome.retainedBecause = errors.first { $0.code == .forbidden }
    outcome.failures = errors.filter { $0.code != .forbidden }
    let tried = Set(deleted.map(\.name))
    let others = unwanted(in: view, allCondemned(in: view)).filter { !tried.contains($0.name) }
    outcome.waiting = .init(others.filter { left.contains($0.name) })
  }
}
