package import Sealing

extension Repository {
  /// Forgets versions of one chain: from now on they do not count, and a prune may delete them (`Docs/Format.md` §8.2).
  ///
  /// Whether they may go is for the caller to know: a newer version of the chain stays that is whole, and nothing is
  /// missing in the chain.
  /// - Parameters:
  ///   - versions: at least one; all are there.
  ///   - now: milliseconds since 1970 UTC.
  ///   - state: where the tombstone is kept, so that this machine need not fetch its own word.
  /// - Returns: the tombstone's name.
  @discardableResult
  package func forget(_ versions: [VersionFacts], now: UInt64, state: StateFolder? = nil) async throws -> Digest {
    guard let chain = versions.first?.chain, versions.allSatisfy({ $0.chain == chain }) else {
      throw RepositoryError(.noSuchVersion, "no versions of one chain were named")
    }
    return try await putTombstone(over: Tombstone.Range.covering(versions), of: chain, now: now, state: state)
  }

  /// - Parameter note: gets its name before it is stored.
  /// - Returns: the tombstone's name.
  @discardableResult
  func putTombstone(
    over ranges: [Tombstone.Range], of chain: ChainID, now: UInt64, state: StateFolder? = nil,
    noting note: (Digest) -> Void = { _ in }
  ) async throws -> Digest {
    let tombstone = Tombstone(chain: chain, time: now, ranges: ranges).encode()
    // One that readers refuse would forget nothing, and stand there as damage.
    guard (try? Tombstone(decoding: tombstone)) != nil else {
      throw RepositoryError(.conflict, "the versions to be forgotten are in no order")
    }
    return try await putRecord(
      .tombstone, tombstone, below: Layout.tombstones(of: chain), state: state, noting: note)
  }
}

extension Tombstone.Range {
  /// The fewest ranges over just these versions of one chain: none covers a version that is not among them. The hashes
  /// at both ends keep the chain whole when what lies between is deleted.
  static func covering(_ versions: [VersionFacts]) -> [Self] {
    var ranges: [Self] = []
    for version in versions.sorted(by: { $0.sequence < $1.sequence }) {
      guard let previous = version.version?.previous, version.sequence != ranges.last?.last else { continue }
      var first = version.sequence
      var previousOfFirst = previous
      if let before = ranges.last, before.last + 1 == version.sequence {
        ranges.removeLast()
        (first, previousOfFirst) = (before.first, before.previousOfFirst)
      }
      ranges.append(
        Self(first: first, last: version.sequence, previousOfFirst: previousOfFirst, coreHashOfLast: version.id))
    }
    return ranges
  }
}
