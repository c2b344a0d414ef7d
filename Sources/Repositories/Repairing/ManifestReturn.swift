package import Sealing
import Storage

/// Stores a manifest again that is spoilt at the target and that this machine has kept. The name holds the hash of its
/// bytes: whosever version it is, it is the very same object.
package struct ManifestReturn: Sendable {
  private let repository: Repository
  private let chain: ChainID
  private let state: StateFolder

  package init(_ repository: Repository, chain: ChainID, state: StateFolder) {
    self.repository = repository
    self.chain = chain
    self.state = state
  }

  /// - Parameters:
  ///   - object: its name at the target.
  ///   - dryRun: only find out whether it can be done.
  ///   - isWanted: whether it matters that this manifest stands there.
  /// - Returns: `nil` where it is not kept here, is no version's, is not wanted, or may not be stored again: a record names it, or what it
  ///   needs is not there.
  /// - Throws: `.locked`, `.stateFolder`; `.damaged` when it does not stand there afterwards; `StoreError`.
  package func run(
    _ object: String, dryRun: Bool, isWanted: (StoredManifest) -> Bool
  ) async throws -> StoredManifest? {
    guard let name = ObjectName(object).flatMap({ VersionName($0) }), name.chain == chain,
      let bytes = state.kept(name.digest.hex), let manifest = try? repository.openManifest(bytes, name: name),
      manifest.isComplete, isWanted(manifest)
    else { return nil }
    guard !dryRun else { return try await isFree(manifest) ? manifest : nil }
    let lock = try ChainLock(chain, in: state)
    defer { withExtendedLifetime(lock) {} }
    guard try await isFree(manifest) else { return nil }
    try await repository.store.put(ObjectBody(bytes, sha256: name.digest.bytes), at: name.objectName, ifAbsent: false)
    let stored = try await repository.store.get(name.objectName, range: nil)
    _ = try repository.openManifest(stored, name: name)
    // A prune that began meanwhile may have condemned what it needs.
    return try await isFree(manifest) ? manifest : nil
  }

  /// No record names it, and all packs that it needs are there and may be referenced.
  private func isFree(_ manifest: StoredManifest) async throws -> Bool {
    let presence = try await Presence(repository, chain: chain, state: state)
    guard !presence.condemns(manifest.name.digest) else { return false }
    do {
      return presence.holds(try await PackTable(of: manifest, repository: repository, state: state).all)
    } catch let error where error.isDamage || (error as? StoreError)?.code == .notFound {
      return false
    }
  }
}
