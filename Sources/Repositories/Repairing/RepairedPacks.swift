import Sealing
import Storage

/// The packs that a repair stores, noted where a push notes its own (`PushJournal`): when it is cut, the next repair finds
/// them there and sends them no second time. So does a push. Nobody else writes there: the chain is locked.
struct RepairedPacks: Sendable {
  private let journal: PushJournal
  private let stored = Locked<[PackEntry]>([])

  /// - Throws: `.stateFolder`.
  init(of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    journal = try PushJournal(chain, in: state)
  }

  /// What no version may need yet: first what repairs and pushes that were cut have left, then what this one has stored.
  var leftovers: [PackEntry] { journal.entries + stored.withLock { $0 } }

  /// Those that this repair has stored.
  var names: Set<Digest> { Set(stored.withLock { $0 }.map(\.name)) }

  /// A pack is safe at the target. Durable when it returns.
  func add(_ entry: PackEntry) throws(RepositoryError) {
    stored.withLock { $0.append(entry) }
    try journal.add(entry)
  }

  /// The version is acknowledged: nothing of it will be looked for again. But what the journal held before and this
  /// version has no use for, a push that was cut has left for the next one.
  /// - Parameter needed: the packs of the version.
  func end(with needed: [PackEntry]) {
    let names = Set(needed.map(\.name))
    if journal.entries.allSatisfy({ names.contains($0.name) }) { journal.clear() }
  }
}
