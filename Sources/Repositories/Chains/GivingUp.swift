package import Sealing

extension Repository {
  /// Gives lost versions up: a tombstone takes their place, and the chain counts as whole again. A manifest that turns up
  /// later is that of a forgotten version; one that a repair has just written is taken back.
  /// - Parameter now: milliseconds since 1970 UTC.
  /// - Returns: the versions that were taken back.
  package func giveUp(
    _ lost: [Tombstone.Range], of chain: ChainID, now: UInt64, state: StateFolder
  ) async throws -> [VersionFacts] {
    let tombstone = try await putTombstone(over: lost, of: chain, now: now, state: state) { name in
      // Who dies now looks behind it the next time. A machine whose state cannot be written will not: no reason to fail.
      try? OpenTombstones.add(name, of: chain, in: state)
    }
    return try await lookBehind([tombstone], of: chain, now: now, state: state)
  }

  /// The same look behind tombstones of runs of this machine that died before it.
  /// - Parameter now: milliseconds since 1970 UTC.
  /// - Returns: the versions that were taken back.
  package func lookBehindOpenTombstones(
    of chain: ChainID, now: UInt64, state: StateFolder
  ) async throws -> [VersionFacts] {
    let open = try OpenTombstones(of: chain, in: state).names
    guard !open.isEmpty else { return [] }
    // One that is not there yet may still be on its way.
    let listed = try await namedTombstones(of: chain, listed: nil, state: state).map(\.name)
    return try await lookBehind(open.intersection(listed), of: chain, now: now, state: state)
  }

  /// Whoever repairs looks for tombstones when the manifest is there, and whoever gives up for manifests when the tombstone
  /// is there: one of both notices.
  /// - Throws: `.incomplete` for a version of which something is gone: once, as it was no repair that brought it back.
  private func lookBehind(
    _ tombstones: Set<Digest>, of chain: ChainID, now: UInt64, state: StateFolder
  ) async throws -> [VersionFacts] {
    guard !tombstones.isEmpty else { return [] }
    let history = try await history(of: try await versionListing(of: chain))
    var saved: [VersionFacts] = []
    var flaw: RepositoryError?
    for version in history.versions {
      let covering = history.forgotten.tombstones(covering: version).filter(tombstones.contains)
      guard !covering.isEmpty else { continue }
      do {
        _ = try await unforget(version, from: covering, now: now, state: state)
        saved.append(version)
      } catch let error as RepositoryError where error.code == .incomplete { flaw = error }
    }
    try OpenTombstones(of: chain, in: state).close(tombstones)
    if let flaw { throw flaw }
    return saved
  }
}
