import Sealing

/// What stands at the places of a chain, and what may come behind it (`Docs/Format.md` §6.2): the one rule by which lists,
/// checks and prunes judge versions and ranges of tombstones alike.
struct ChainLinks: Sendable {
  private let chain: ChainID
  private let ids: [UInt64: Set<Digest>]
  private let tombstones: TombstoneIndex

  /// - Parameters:
  ///   - ids: of the versions at each place: two where two machines push as one.
  ///   - tombstones: all of the chain, taken back or not.
  init(of chain: ChainID, _ ids: [UInt64: Set<Digest>], _ tombstones: TombstoneIndex) {
    self.chain = chain
    self.ids = ids
    self.tombstones = tombstones
  }

  func hasVersion(at place: UInt64) -> Bool { ids[place] != nil }

  /// Whether what stands at `sequence`, a version or the first one of a range, may name `previous` as what it continues.
  func fit(_ previous: Digest, at sequence: UInt64) -> Bool {
    guard sequence > 1 else { return previous == .zero }
    let place = sequence - 1
    if ids[place]?.contains(previous) == true { return true }
    // Inside a range only its end is named; the links within went with the versions.
    if tombstones.covers(place, previous) { return true }
    return (hasVersion(at: place) || tombstones.covers(place)) && previous == chain.unknown(at: place)
  }

  /// Whether it names something else than what is there. Of a place where nothing is, that is a hole, or a manifest that
  /// cannot be read: no link is broken then.
  func areBroken(by previous: Digest, at sequence: UInt64) -> Bool {
    guard !fit(previous, at: sequence) else { return false }
    return sequence <= 1 || hasVersion(at: sequence - 1) || tombstones.covers(sequence - 1)
  }
}
