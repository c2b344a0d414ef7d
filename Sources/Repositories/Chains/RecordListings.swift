package import Sealing
package import Storage

/// What lies below `tomb/` and `notes/`, listed as far as one command needs it, and of each chain once.
///
/// Nobody deletes tombstones and annotations: of many databases there are soon a million, and who restores one of them
/// needs a few. They are listed behind the manifests: what explains that one is gone was there before it went.
package final class RecordListings: Sendable {
  package typealias OfChain = (tombstones: RecordListing, notes: RecordListing)

  /// Those of all chains together.
  private enum Whole {
    case unlisted
    case listed(tombstones: [String: RecordListing], notes: [String: RecordListing])
    case refused
  }

  private let store: any ObjectStore
  private let whole = Locked(Whole.unlisted)
  private let chains = Locked<[ChainID: OfChain]>([:])
  /// How often annotations were listed anew.
  private let renewals = Locked(0)

  package init(_ store: any ObjectStore) { self.store = store }

  /// Those of one chain, as they were when somebody asked for them first.
  package func of(_ chain: ChainID) async throws -> OfChain {
    if let known = known(chain) { return known }
    async let tombstones = store.list(prefix: Layout.tombstones(of: chain))
    async let notes = store.list(prefix: Layout.annotations(of: chain))
    let listed: OfChain = (
      tombstones: RecordListing(objects: try await tombstones), notes: RecordListing(objects: try await notes)
    )
    chains.withLock { $0[chain] = listed }
    return listed
  }

  /// Takes the listings of chains that are meant, so that they do not become much younger than that of the manifests.
  /// Those of all chains together are fewer requests, unless few of many are meant.
  /// - Parameter all: how many chains there are.
  package func take(_ meant: [ChainID], of all: Int) async throws {
    if meant.count > max(1, all / 8), try await takeWhole() { return }
    let open = meant.filter { known($0) == nil }
    _ = try await bounded(open, atOnce: max(1, store.traits.concurrency / 2)) { chain in try await self.of(chain) }
  }

  private func known(_ chain: ChainID) -> OfChain? {
    if let known = chains.withLock({ $0[chain] }) { return known }
    guard case .listed(let tombstones, let notes) = whole.withLock({ $0 }) else { return nil }
    return (tombstones: tombstones[chain.hex] ?? .empty, notes: notes[chain.hex] ?? .empty)
  }

  /// - Returns: false where such a listing is refused, most likely as too long: those of single chains are shorter.
  private func takeWhole() async throws -> Bool {
    switch whole.withLock({ $0 }) {
    case .listed: return true
    case .refused: return false
    case .unlisted: break
    }
    do {
      let listed = try await listWhole()
      whole.withLock { $0 = listed }
      return true
    } catch let error as StoreError where error.code == .badAnswer {
      whole.withLock { $0 = .refused }
      return false
    }
  }

  private func listWhole() async throws -> Whole {
    async let tombstones = store.list(prefix: Layout.allTombstones)
    async let notes = store.list(prefix: Layout.allAnnotations)
    return .listed(
      tombstones: RecordListing.byChain(try await tombstones), notes: RecordListing.byChain(try await notes))
  }
}

/// Whether the listings show what this machine knows of. Another command of it may say, or read, something while this one
/// runs: what is missing then is no loss, so that it is looked for in a later listing before anybody is alarmed.
extension RecordListings {
  /// What this machine said at the target, or has read there, that versions count again is shown: where a listing leaves it
  /// out, they would look forgotten.
  /// - Throws: `RepositoryError` `.hole`; `.conflict` where that came behind the listing. Who asks again gets a later one.
  package func demandTakenBack(of chain: ChainID, state: StateFolder) async throws {
    let words = try OwnWords(of: chain, in: state)
    guard try await isListedLater(chain, words.demandTakenBack(among:)) else { return }
    throw Self.takenBackMeanwhile
  }

  /// The same of all that decides what stays: pins, tags, what was found damaged. Where that came behind the listing, a later
  /// one takes its place: annotations are to be read after this.
  /// - Throws: `RepositoryError` `.hole`; `.conflict` where versions were taken back: which ones count was known before.
  package func demandOwnWords(of chain: ChainID, state: StateFolder) async throws {
    let words = try OwnWords(of: chain, in: state)
    let before = try await of(chain).notes
    guard try await isListedLater(chain, words.demandAll(among:)) else { return }
    do throws(RepositoryError) { try words.demandTakenBack(among: before) } catch { throw Self.takenBackMeanwhile }
  }

  /// Does what relies on the listings, and once more where it ended because versions were taken back behind them.
  /// - Parameter deed: is told which errors have it done once more: none may be passed over. The second time there are none.
  package func relying<Answer>(
    _ deed: (_ isOvertaken: (any Error) -> Bool) async throws -> Answer
  ) async throws -> Answer {
    let before = renewals.withLock { $0 }
    func isOvertaken(_ error: any Error) -> Bool {
      (error as? RepositoryError)?.code == .conflict && renewals.withLock { $0 } > before
    }
    do { return try await deed(isOvertaken) } catch let error where isOvertaken(error) {
      return try await deed { _ in false }
    }
  }

  /// - Returns: whether a later listing shows what the one that was taken does not, and has taken its place.
  /// - Throws: where it shows no more.
  private func isListedLater(
    _ chain: ChainID, _ demand: (RecordListing) throws(RepositoryError) -> Void
  ) async throws -> Bool {
    let (tombstones, notes) = try await of(chain)
    do throws(RepositoryError) {
      try demand(notes)
      return false
    } catch {
      let now = RecordListing(objects: try await store.list(prefix: Layout.annotations(of: chain)))
      try demand(now)
      chains.withLock { $0[chain] = (tombstones: tombstones, notes: now) }
      renewals.withLock { $0 += 1 }
      return true
    }
  }

  private static var takenBackMeanwhile: RepositoryError {
    RepositoryError(
      .conflict, "versions were taken back from being forgotten while the target was listed",
      hint: "Run the command again.")
  }
}

extension Repository {
  /// What was forgotten in a chain.
  /// - Parameter records: where the listings come from; `nil` to take them now.
  func forgotten(of chain: ChainID, listed records: RecordListings?, state: StateFolder?) async throws -> Forgotten {
    guard let records else { return try await forgotten(of: chain, state: state) }
    let (tombstones, notes) = try await records.of(chain)
    return try await forgotten(of: chain, tombstones: tombstones, notes: notes, state: state)
  }
}
