import Sealing

/// Whether the manifests that a listing showed are all that a chain ever had, but for those that tombstones explain: a
/// listing that came up short must never look like versions that nobody wants.
///
/// Two versions of one sequence (two machines that push as one) are not a doubt: both count, and each version that comes
/// after continues one of them. Nor are two ranges that end there, one for each.
struct ChainProof {
  private let chain: ChainID
  private let versions: [VersionFacts]
  private let ranges: [Tombstone.Range]
  private let index: TombstoneIndex
  private let ids: [UInt64: Set<Digest>]
  private let links: ChainLinks

  /// - Parameters:
  ///   - manifests: all that are authentic; partial ones prove nothing and are passed over.
  ///   - ranges: of all authentic tombstones.
  init(_ chain: ChainID, _ manifests: [VersionFacts], _ ranges: [Tombstone.Range]) {
    self.chain = chain
    versions = manifests.filter(\.isComplete)
    self.ranges = ranges
    index = TombstoneIndex(ranges, of: chain)
    ids = Dictionary(grouping: versions, by: \.sequence).mapValues { Set($0.map(\.id)) }
    links = ChainLinks(of: chain, ids, index)
  }

  /// - Parameters:
  ///   - mark: what this machine has seen of the chain.
  ///   - state: where that is noted.
  /// - Throws: `.rolledBack`, `.hole`, `.forked`.
  func check(against mark: HighWaterMark?, in state: StateFolder? = nil) throws(RepositoryError) {
    if let mark { try checkMark(mark, state) }
    for version in versions {
      guard let facts = version.version else { continue }
      try checkBefore(version.sequence, facts.previous)
    }
    for range in ranges { try checkBefore(range.first, range.previousOfFirst) }
  }

  private func checkMark(_ mark: HighWaterMark, _ state: StateFolder?) throws(RepositoryError) {
    let acceptance = HighWaterMark.acceptance(of: chain, in: state)
    let newest = versions.map(\.sequence).max() ?? 0
    guard newest >= mark.sequence else {
      throw RepositoryError(
        .rolledBack,
        "the target shows version \(newest) of chain \(chain.hex.prefix(12))\(mark.whose) as the newest, but this machine has seen version \(mark.sequence)",
        hint:
          "Versions were deleted there, an older state was put back, or the listing was short. Nothing was deleted. \(RepositoryError.findOutAndRepair) To accept the loss: \(acceptance)"
      )
    }
    if ids[mark.sequence]?.contains(mark.id) == true || index.covers(mark.sequence) { return }
    throw RepositoryError(
      .forked,
      "version \(mark.sequence) of chain \(chain.hex.prefix(12))\(mark.whose) is not the one this machine has seen",
      hint:
        "Two machines push as one, an older state was put back and pushed to since, or the listing was short. Nothing was deleted. To accept what is there: \(acceptance)"
    )
  }

  /// Whether what stands one place before `sequence` is what it continues.
  private func checkBefore(_ sequence: UInt64, _ previous: Digest) throws(RepositoryError) {
    guard !links.fit(previous, at: sequence) else { return }
    let place = sequence - 1
    guard sequence > 1, !links.hasVersion(at: place) else {
      throw RepositoryError(
        .forked, "version \(sequence) of chain \(chain.hex.prefix(12)) does not continue version \(place)",
        hint: "Two machines push as one, or the listing was short. Nothing was deleted.")
    }
    throw RepositoryError(
      .hole, "version \(place) of chain \(chain.hex.prefix(12)) is missing and was not forgotten",
      hint:
        "Somebody without the key deleted it, the target lost it, or the listing was short. Nothing was deleted; `sealift check` says what is still whole, `sealift repair` brings back what it can, and `sealift forget --lost` (of other hosts' databases with --all-hosts) gives the rest up."
    )
  }
}
