import Sealing
import Storage

/// Learns which packs a new version may refer to: those of the newest version, of partial manifests and of the journal,
/// as far as they are there, whole, and in no condemned record.
struct KnownPacksLoader {
  private let repository: Repository
  private let chain: ChainID
  private let state: StateFolder
  private let presence: Presence
  private let stale: StalePacks
  private let damaged: DamagedPacks
  private(set) var known: KnownPacks
  /// Above every number seen: a number is given once per chain.
  private(set) var nextNumber: UInt32 = 1
  /// What the partial manifests list that can be read.
  private(set) var listedByPartials: Set<Digest> = []
  /// Packs of a version that is doubted: a journal may list them as well, when that version's push was cut.
  private var avoided: Set<Digest> = []
  /// Which packs it has cannot be told.
  private var avoidsLeftovers = false

  init(
    _ repository: Repository, chain: ChainID, state: StateFolder, presence: Presence
  ) throws(RepositoryError) {
    self.repository = repository
    self.chain = chain
    self.state = state
    self.presence = presence
    stale = StalePacks(of: chain, in: state)
    damaged = try DamagedPacks(of: chain, in: state, at: repository.place)
    nextNumber = damaged.nextNumber
    known = try KnownPacks(in: state.path)
  }

  /// - Returns: whether every pack of the version is there and says what it holds.
  mutating func add(versionIn manifest: StoredManifest?) async throws -> Bool {
    guard let manifest else { return false }
    pass(over: manifest)
    guard let table = try await table(of: manifest) else { return false }
    try await add(table.all)
    return presence.holds(table.all) && table.all.allSatisfy { known.contains($0.name) }
  }

  /// Takes in what partial manifests and a journal list, each of them packs of its own. All in one go: what rests on a
  /// pack comes after it, whichever of them lists the two.
  mutating func add(partials: [StoredManifest], journal: [PackEntry]) async throws {
    var entries: [PackEntry] = []
    for partial in partials {
      pass(over: partial)
      if let table = try await table(of: partial) { entries += table.all }
    }
    listedByPartials.formUnion(entries.map(\.name))
    entries += journal
    if avoidsLeftovers { avoided.formUnion(entries.map(\.name)) }
    try await add(entries, areLeftovers: true)
  }

  private func table(of manifest: StoredManifest) async throws -> PackTable? {
    try await Self.unlessDamaged { [repository, state] in
      try await PackTable(of: manifest, repository: repository, state: state)
    }
  }

  /// Takes nothing of a version for there, whoever else lists it. Before leftovers are added.
  mutating func avoid(_ manifest: StoredManifest) async throws {
    pass(over: manifest)
    let table = try await table(of: manifest)
    avoided.formUnion(table?.all.map(\.name) ?? [])
    avoidsLeftovers = table == nil
  }

  /// - Returns: whether every pack of the newest version is there, says what it holds, and may be built on.
  mutating func add(_ newest: StoredManifest?, isDoubted: Bool) async throws -> Bool {
    guard isDoubted, let newest else { return try await add(versionIn: newest) }
    try await avoid(newest)
    return false
  }

  /// Gives no number twice.
  private mutating func pass(over manifest: StoredManifest) {
    nextNumber = max(nextNumber, manifest.body.nextPackNumber)
  }

  /// What the target lost or spoilt is no place to find content again: what it held is stored anew.
  private static func unlessDamaged<Value: Sendable>(
    _ read: @Sendable () async throws -> Value
  ) async throws -> Value? {
    do {
      return try await read()
    } catch let error as SealError where error.isDamage {
      return nil
    } catch let error as RepositoryError where error.code == .damaged {
      return nil
    }
  }

  /// A few at a time: a directory is large, most of all where pages are small and much alike.
  private static func groups(of entries: [PackEntry]) -> [[PackEntry]] {
    var groups: [[PackEntry]] = []
    var length = 0
    for entry in entries {
      length += Int(entry.directoryLength)
      if let last = groups.indices.last, groups[last].count < 16, length <= 2 << 20 {
        groups[last].append(entry)
      } else {
        groups.append([entry])
        length = Int(entry.directoryLength)
      }
    }
    return groups
  }

  /// - Parameter areLeftovers: no version needs them yet.
  mutating func add(_ entries: [PackEntry], areLeftovers: Bool = false) async throws {
    nextNumber = max(nextNumber, (entries.map(\.number).max() ?? 0) + 1)
    // Partial manifests and a journal name many of them several times.
    var names: Set<Digest> = []
    let usable = entries.filter { entry in
      presence.holds(entry) && !damaged.contains(entry.name) && !avoided.contains(entry.name)
        && !known.contains(entry.name) && names.insert(entry.name).inserted
    }.sorted { $0.number < $1.number }
    known.reserve(units: PackEntry.likelyUnits(in: usable))
    for group in Self.groups(of: usable) {
      let directories = try await bounded(group, atOnce: repository.store.traits.concurrency) {
        [repository, chain, state] entry -> Directory? in
        try await Self.unlessDamaged { try await repository.directory(of: entry, chain: chain, state: state) }
      }
      for (entry, directory) in zip(group, directories) {
        guard let directory else { continue }
        let hasDeltas = directory.frames.contains { $0.codec.hasPrefix }
        try known.add(
          entry, directory, unitsOfDeltas: hasDeltas ? UnitList.kept(of: entry.name, in: state) : nil,
          isStale: stale.contains(entry.name), isLeftover: areLeftovers)
      }
    }
  }
}
