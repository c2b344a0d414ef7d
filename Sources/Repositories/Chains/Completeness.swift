package import Sealing
import Storage

/// Whether versions of one chain have all they need: the manifest opens, read at the target whatever this machine has
/// kept of it, and every pack is listed, of the right length, and no condemned record names it or the manifest. What the
/// bytes in packs are worth only reading them tells.
///
/// Listed anew when this is made: condemned records first, packs after them. What versions share of their pack tables
/// is read once, however many of them are looked at.
package struct Completeness: Sendable {
  private let repository: Repository
  private let presence: Presence
  private let tables: PackTables
  private let verdicts: PackVerdicts

  /// - Parameter atTarget: read manifests there even where `state` has kept them. False where nothing goes because of it.
  package init(_ repository: Repository, chain: ChainID, state: StateFolder?, atTarget: Bool = true) async throws {
    self.repository = repository
    let presence = try await Presence(repository, chain: chain, state: state)
    self.presence = presence
    tables = PackTables(repository, state: state, atTarget: atTarget)
    verdicts = PackVerdicts(tables, condemned: presence.condemned) { presence.size(of: $0) }
  }

  package enum Finding: Sendable {
    case whole
    /// All of it is there, and a record names a part of it. Mostly a prune noticed in time that it is needed; but a
    /// version that was never acknowledged may lose that part.
    case condemned
    case incomplete
  }

  /// - Throws: only what says nothing of the version: a target that cannot be reached, a cancelled task.
  package func look(at version: VersionFacts) async throws -> Finding {
    guard let needs = try await needs(of: version, isThere: verdicts.isThere), verdicts.areMet(needs) else {
      return .incomplete
    }
    return verdicts.areSpared(needs) && !presence.condemns(version.digest) ? .whole : .condemned
  }

  /// The same of a version wherever it can be read: the best that any of its revisions is.
  package func look(at version: VersionFacts, in history: ChainHistory) async throws -> Finding {
    var best = Finding.incomplete
    for revision in [version] + history.revisions(below: version) {
      switch try await look(at: revision) {
      case .whole: return .whole
      case .condemned: best = .condemned
      case .incomplete: continue
      }
    }
    return best
  }

  /// The same of many, in their order.
  package func look(at versions: [VersionFacts], in history: ChainHistory) async throws -> [Finding] {
    try await bounded(
      versions, atOnce: repository.store.traits.concurrency, within: Repository.manifestBytesAtOnce, of: { $0.length }
    ) { version in try await self.look(at: version, in: history) }
  }

  /// Some manifest of a version opens, as it stands at the target.
  /// - Throws: `.damaged` when none does: whoever has never seen the version cannot say what it is, and leaves the chain
  ///   alone.
  package func demandReadable(_ version: VersionFacts, in history: ChainHistory) async throws {
    if let flaw = try await repository.flaw(of: version, in: history) { throw flaw }
  }

  /// The first of versions that were found incomplete which may be all there: what a listing did not show is asked for by
  /// name. A revision that was written meanwhile, by a repair, speaks for its version, too: those that there are now are
  /// listed last, once for all of them.
  package func firstNotLost(
    among versions: [VersionFacts], in history: ChainHistory
  ) async throws -> VersionFacts? {
    guard !versions.isEmpty else { return nil }
    for version in versions {
      guard try await hasLostPacks(version, in: history) else { return version }
    }
    let listing = try await repository.versionListing(of: history.chain)
    return versions.first { version in
      listing.revisions(of: version.sequence).contains { $0.revision > version.revision }
    }
  }

  private func hasLostPacks(_ version: VersionFacts, in history: ChainHistory) async throws -> Bool {
    for revision in [version] + history.revisions(below: version) {
      guard let needs = try await needs(of: revision, isThere: { _ in true }) else { continue }
      let unlisted = tables.packs(of: needs).filter { !verdicts.isThere($0) }
      guard try await hasLost(unlisted, of: version.chain) else { return false }
    }
    return true
  }

  /// Whether what a version lacks that was found incomplete is gone for good: each of its revisions lacks a pack that a
  /// record names. What no prune named somebody else took away, and may put back.
  package func wasPruned(_ version: VersionFacts, in history: ChainHistory) async throws -> Bool {
    for revision in [version] + history.revisions(below: version) {
      // A part of the table may be gone with its pack, which the manifest names.
      guard let needs = try await needs(of: revision, isThere: verdicts.isThere) else { return false }
      let gone = tables.packs(of: needs).filter { !verdicts.isThere($0) }
      guard gone.contains(where: { presence.condemns($0.name) }) else { return false }
    }
    return true
  }

  /// - Returns: `nil` when the manifest or a part of its pack table cannot be read, or the table makes no sense.
  /// - Throws: also `SealError` `.unsupported`: a version is not incomplete because a later program described it.
  private func needs(
    of version: VersionFacts, isThere: (PackTables.Pack) -> Bool
  ) async throws -> PackTables.Needs? {
    let needs = try await repository.unlessLost(demandsKnownFormat: true) {
      try await tables.needs(of: version.name, isThere: isThere)
    }
    return needs.flatMap { $0.isOrderly ? $0 : nil }
  }

  private func hasLost(_ packs: [PackTables.Pack], of chain: ChainID) async throws -> Bool {
    for pack in packs {
      let held = try await repository.store.head(Layout.pack(pack.name, of: chain))
      if held?.size != pack.length { return true }
    }
    return false
  }
}

extension Repository {
  /// Where a version is to be read: its highest revision, or the highest one below it of which every pack is there when a
  /// repair died before the packs of its own revision were safe.
  /// - Parameter sizes: the chain's packs, as a listing showed them behind the manifests; `nil` to list them now.
  package func readable(
    _ version: VersionFacts, in history: ChainHistory, sizes: [Digest: Int]? = nil, state: StateFolder?
  ) async throws -> VersionFacts {
    let older = history.revisions(below: version)
    guard !older.isEmpty else { return version }
    let listed: [Digest: Int]
    if let sizes { listed = sizes } else { listed = try await packSizes(of: version.chain) }
    for revision in [version] + older {
      let packs = try await packs(of: revision, state: state)
      if let packs, packs.allSatisfy({ listed[$0.name] == Int($0.length) }) { return revision }
    }
    return version
  }

  /// Every pack that a version needs; `nil` when its manifest or its pack table cannot be read.
  package func packs(of version: VersionFacts, state: StateFolder?) async throws -> [PackEntry]? {
    try await unlessLost(demandsKnownFormat: false) {
      let manifest = try await readManifest(version.name, state: state)
      return try await PackTable(of: manifest, repository: self, state: state).all
    }
  }

  /// The same of a manifest that is at hand, at the target or not.
  func packs(of manifest: StoredManifest, state: StateFolder?) async throws -> [PackEntry]? {
    try await unlessLost(demandsKnownFormat: false) {
      try await PackTable(of: manifest, repository: self, state: state).all
    }
  }

  /// What the target lost or spoilt is `nil`; that it cannot be reached is an error.
  /// - Parameter demandsKnownFormat: throws when it is of a later format.
  fileprivate func unlessLost<Found>(
    demandsKnownFormat: Bool, _ read: () async throws -> Found
  ) async throws -> Found? {
    do {
      return try await read()
    } catch let error as StoreError where !error.isLoss {
      throw error
    } catch let error where demandsKnownFormat && error.isLater {
      throw error
    } catch let error as SealError where error.isDamage {
      return nil
    } catch is StoreError {
      return nil
    } catch let error as RepositoryError where error.code == .damaged {
      return nil
    }
  }
}
