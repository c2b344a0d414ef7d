import Repositories
import Sealing
import Storage

/// Forgetting in its simplest form: one tombstone over a run of versions, never the newest one.
extension Simulation {
  func forget(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    let listing = ChainListing(
      chain: chain, objects: try await repository.store.list(prefix: Layout.versions(of: chain)))
    let history = try await repository.history(of: listing, state: state)
    // What is kept must be whole; here that is known from what was acknowledged.
    guard history.problems.isEmpty, let newest = history.newest, promise(of: newest)?.isForgotten == false else {
      return
    }
    let older = history.versions.dropLast()
    guard !older.isEmpty else { return }
    let first = dice.below(older.count)
    var chosen = Array(older[first..<min(older.count, first + 1 + dice.below(3))])
    // A range is a run of sequences without a gap.
    for index in chosen.indices.dropFirst() where chosen[index].sequence != chosen[index - 1].sequence + 1 {
      chosen = Array(chosen[..<index])
      break
    }
    guard let start = chosen.first, let end = chosen.last, let previous = start.version?.previous else { return }
    let range = Tombstone.Range(
      first: start.sequence, last: end.sequence, previousOfFirst: previous, coreHashOfLast: end.id)
    let tombstone = Tombstone(chain: chain, time: clock(of: session.host), ranges: [range])
    for version in chosen { release(version.id) }
    note("\(session.name) forgets versions \(start.sequence) to \(end.sequence)")
    try await putRecord(.tombstone, tombstone.encode(), below: Layout.tombstones(of: chain), repository)
  }

  func release(_ id: Digest) {
    released.insert(id)
    for index in promises.indices where promises[index].id == id && !promises[index].isForgotten {
      promises[index].isForgotten = true
      tally.forgotten += 1
    }
  }

  func putRecord(_ kind: ObjectKind, _ meta: [UInt8], below prefix: String, _ repository: Repository) async throws {
    let sealed = try ObjectBuilder(kind: kind, keys: repository.keys, random: random).finish(meta: meta)
    guard let name = ObjectName("\(prefix)\(sealed.bytes.count)-\(sealed.name.hex)") else { return }
    try await repository.store.put(ObjectBody(sealed.bytes), at: name, ifAbsent: false)
  }
}
