package import Sealing
import Storage

extension Repository {
  /// Takes back that a version was forgotten, and returns when no prune can take it any more (`Docs/Format.md` §8.3).
  ///
  /// The same order as a push: the word that it counts again comes first, the listings that say whether a prune was
  /// faster come after. A prune whose second listing missed that word had its record in place before ours was, so our
  /// listing of records shows it.
  /// - Parameters:
  ///   - tombstones: by which it is forgotten. None: it is not, and only looked after.
  ///   - now: milliseconds since 1970 UTC.
  /// - Returns: the version as it is safe now: perhaps another revision, when its manifest was about to be deleted.
  /// - Throws: `.incomplete` when a prune has taken some of it. If that was noticed only after the word was given, the
  ///   version counts as one that is not whole until it is forgotten again; `.conflict`.
  package func unforget(
    _ version: VersionFacts, from tombstones: [Digest], now: UInt64, state: StateFolder?
  ) async throws -> VersionFacts {
    let (manifest, isSpoilt) = try await standingManifest(of: version, state)
    guard let packs = try await packs(of: version, state: state) else { throw Self.taken(version) }
    let before = try await Presence(self, chain: version.chain, state: state)
    guard before.holds(packs) else { throw Self.lacking(packs, of: version, before) }

    var word: Digest?
    if !tombstones.isEmpty {
      word = try await annotate(version, [Annotation.Item(unforget: tombstones)], now: now, state: state)
    }
    var safe = manifest
    if isSpoilt { safe = try await republish(manifest, above: version, in: versionListing(of: version.chain), state) }
    for _ in 0..<Self.republications {
      let presence = try await Presence(self, chain: version.chain, state: state)
      // No tombstone in its place: another machine may have taken the version back meanwhile, and been told that it is safe.
      guard presence.holds(packs) else { throw Self.lacking(packs, of: version, presence) }
      let listing = try await versionListing(of: version.chain)
      if listing.versions.contains(safe.name), !presence.condemns(safe.name.digest) {
        try note(word, safe, instead: manifest, state)
        return safe.facts
      }
      safe = try await republish(manifest, above: safe.facts, in: listing, state)
    }
    throw RepositoryError(
      .conflict, "prunes took the manifest of version \(version.sequence) away again and again",
      hint: "Let the prune that is running end, then run the same command again.")
  }

  /// As it stands at the target: what a machine has kept restores nothing for others. Where that one cannot be read, the
  /// kept one, which has to be stored anew then.
  private func standingManifest(
    of version: VersionFacts, _ state: StateFolder?
  ) async throws -> (manifest: StoredManifest, isSpoilt: Bool) {
    do {
      return (try await readManifest(version.name), false)
    } catch let error where error.isDamage || (error as? StoreError)?.isLoss == true {
      guard let kept = try? await readManifest(version.name, state: state) else { throw error }
      return (kept, true)
    }
  }

  private func republish(
    _ manifest: StoredManifest, above version: VersionFacts, in listing: ChainListing, _ state: StateFolder?
  ) async throws -> StoredManifest {
    let highest = listing.revisions(of: version.sequence).map(\.revision).max() ?? 0
    return try await republish(manifest, revision: max(highest, version.revision) + 1, state: state)
  }

  /// Before anybody is told: no prune of this machine may take a listing for whole that leaves one of them out.
  private func note(
    _ word: Digest?, _ safe: StoredManifest, instead first: StoredManifest, _ state: StateFolder?
  ) throws(RepositoryError) {
    guard let state else { return }
    if let word { try OwnWords.add(.init(unforgetting: safe.id, by: word), of: safe.name.chain, in: state) }
    if safe.name != first.name { try OwnWords.add(safe, in: state) }
  }

  /// How often a manifest is written anew because prunes are about to delete it.
  private static var republications: Int { 5 }

  func versionListing(of chain: ChainID) async throws -> ChainListing {
    ChainListing(chain: chain, objects: try await store.list(prefix: Layout.versions(of: chain)))
  }

  private static func taken(_ version: VersionFacts) -> RepositoryError {
    let id = version.id.hex.prefix(12)
    return RepositoryError(
      .incomplete, "version \(id) cannot be taken back: a prune has deleted a part of it",
      hint: "What was deleted does not come back; if `sealift list` shows it again, `sealift forget \(id)`.")
  }

  private static func lacking(
    _ packs: [PackEntry], of version: VersionFacts, _ presence: Presence
  ) -> RepositoryError {
    let id = version.id.hex.prefix(12)
    let lost = packs.filter { !presence.lists([$0]) }
    if lost.contains(where: { presence.condemns($0.name) }) { return taken(version) }
    guard lost.isEmpty else {
      // The record of a prune is never deleted.
      return RepositoryError(
        .incomplete,
        "version \(id) cannot be taken back: \(lost.count == 1 ? "a pack" : "\(lost.count) packs") of it "
          + "\(lost.count == 1 ? "is" : "are") missing, and no prune took \(lost.count == 1 ? "it" : "them")",
        hint:
          "Put back what somebody took away, then run the same command again; until then let no prune run, which deletes "
          + "what is left. Missing: \(lost.prefix(3).map { Layout.pack($0.name, of: version.chain).text }.joined(separator: ", "))\(lost.count > 3 ? " …" : "")"
      )
    }
    return RepositoryError(
      .incomplete, "version \(id) cannot be taken back: a prune is about to delete a part of it",
      hint:
        "All of it is still there: save it at once with `sealift pull \(id) -o FILE`, then `sealift forget \(id)` if it is listed."
    )
  }
}
