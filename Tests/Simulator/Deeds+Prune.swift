import Repositories
import Sealing
import Storage

/// A prune written from `Docs/Design.md` alone: what it deletes is decided by what a reader fetches, not by the code that it
/// is to be held against.
extension Simulation {
  func prune(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws {
    guard let first = try await superfluous(session, repository, chain, state) else { return }
    let young = first.packs.filter { name in stored[name].map { $0 + profile.minimumAge > now } ?? false }
    let candidates = first.manifests.union(first.packs.subtracting(young))
    guard !candidates.isEmpty else { return }
    let record = CondemnedRecord(
      chain: chain, time: clock(of: session.host), packs: candidates.compactMap(Self.digest).sorted { $0.hex < $1.hex })
    try await putRecord(.condemned, record.encode(), below: Layout.condemned(of: chain), repository)

    guard let second = try await superfluous(session, repository, chain, state) else { return }
    tally.prunes += 1
    for names in [second.manifests, second.packs] {
      for name in names.intersection(candidates).sorted() {
        try await repository.store.delete(name)
        tally.deleted += 1
      }
    }
  }

  private static func digest(_ name: ObjectName) -> Digest? {
    name.lastComponent.split(separator: "-").last.flatMap { Hex.decode($0) }.flatMap { Digest($0) }
  }

  private struct Superfluous {
    var manifests: Set<ObjectName> = []
    var packs: Set<ObjectName> = []
  }

  /// Forgotten versions, dead partial manifests, and packs that no other manifest needs; `nil` when there is a doubt.
  private func superfluous(
    _ session: Session, _ repository: Repository, _ chain: ChainID, _ state: StateFolder
  ) async throws -> Superfluous? {
    let packs = try await repository.store.list(prefix: Layout.packs(of: chain))
    let listing = ChainListing(
      chain: chain, objects: try await repository.store.list(prefix: Layout.versions(of: chain)))
    let history = try await repository.history(of: listing, state: state)
    guard history.problems.isEmpty, history.displaced.isEmpty, let newest = history.newest else { return nil }
    try await repository.checkFreshness(of: listing, history: history, state: state)
    var found = Superfluous()
    var needed: Set<ObjectName> = []
    for name in listing.versions {
      if let version = history.versions.first(where: { $0.sequence == name.sequence }), history.isForgotten(version),
        version.sequence < newest.sequence
      {
        found.manifests.insert(name.objectName)
      } else if try await repository.readManifest(name, state: state).isComplete {
        guard let packs = await packsNeeded(by: name) else { return nil }
        needed.formUnion(packs)
      } else if name.sequence <= newest.sequence {
        found.manifests.insert(name.objectName)
      } else {
        return nil
      }
    }
    found.packs = Set(packs.map(\.name)).subtracting(needed)
    return found
  }

  /// What a reader of this manifest fetches, asked of the true target; `nil` when it cannot be read whole.
  private func packsNeeded(by name: VersionName) async -> Set<ObjectName>? {
    if let known = needs[name.objectName] { return known }
    let store = FetchLog(SessionStore(self, nil))
    guard let repository = try? await Repository.open(at: store, with: Stem.secret, random: random),
      (try? await read(name, from: repository)) != nil
    else { return nil }
    let packs = store.fetched.filter { $0.text.hasPrefix("packs/") }
    needs[name.objectName] = packs
    return packs
  }
}

/// A store that notes what is fetched from it.
final class FetchLog: ObjectStore, @unchecked Sendable {
  private let base: SessionStore
  private(set) var fetched: Set<ObjectName> = []
  var traits: StoreTraits { base.traits }

  init(_ base: SessionStore) { self.base = base }

  func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
    try await base.put(body, at: name, ifAbsent: ifAbsent)
  }
  func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
    fetched.insert(name)
    return try await base.get(name, range: range)
  }
  func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
  func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
  func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
}
