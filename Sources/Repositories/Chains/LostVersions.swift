package import Sealing
import Storage

extension ChainHistory {
  /// Places of the chain, before its newest version, whose manifests are gone or spoilt, though nobody forgot what
  /// stood there: as a tombstone says it, with the hashes that keep the chain whole across them. The version behind a gap
  /// says what stood at its end. A manifest of a later format is neither.
  ///
  /// A place of which nothing says that is left out. None is lost while a tombstone of a later format may explain it.
  package var lost: [Tombstone.Range] { forgotten.isPartly ? [] : unexplained }

  /// Why nothing of what is not there counts as lost.
  package var doubtOfLoss: RepositoryError? {
    guard let name = forgotten.unread.first, !unexplained.isEmpty else { return nil }
    return RepositoryError(
      .unsupported, "the tombstone \(name) is of a later format, and may say where versions went: none is given up",
      hint: "Install a newer sealift.")
  }

  private var unexplained: [Tombstone.Range] {
    guard isWhole, let newest = newest?.sequence, newest > 1 else { return [] }
    let readable = Set(versions.map(\.sequence)).union(reader.later)
    let explained = readable.map { $0...$0 } + forgotten.explained
    let ruined = Set(unreadable.map(\.sequence)).filter { sequence in
      sequence < newest && !readable.contains(sequence) && forgotten.ranges.cover(sequence)
        && !forgotten.isGivenUp(sequence)
    }
    let gaps = MissingVersions.gaps(upTo: newest - 1, between: explained) + ruined.map { $0...$0 }
    return Self.joined(gaps.map(withKnownEnds)).compactMap { gap in
      guard let before = hash(before: gap.lowerBound), let last = hash(at: gap.upperBound) else { return nil }
      return Tombstone.Range(
        first: gap.lowerBound, last: gap.upperBound, previousOfFirst: before, coreHashOfLast: last)
    }
  }

  private static func joined(_ gaps: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
    gaps.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { joined, gap in
      if let last = joined.last, gap.lowerBound <= last.upperBound + 1 {
        joined[joined.count - 1] = last.lowerBound...max(last.upperBound, gap.upperBound)
      } else {
        joined.append(gap)
      }
    }
  }

  /// In the middle of what was forgotten together nothing says what stood there: then the gap takes in what was forgotten
  /// and is not there either, up to the next version that is, or to an end that the tombstone names.
  private func withKnownEnds(_ gap: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
    var (first, last) = (gap.lowerBound, gap.upperBound)
    if hash(before: first) == nil, let range = forgotten.ranges.first(where: { $0.first <= first && first <= $0.last })
    {
      let before = versions.last { range.first <= $0.sequence && $0.sequence < first }
      first = before.map { $0.sequence + 1 } ?? range.first
    }
    if hash(at: last) == nil, let range = forgotten.ranges.first(where: { $0.first <= last && last <= $0.last }) {
      let next = versions.first { last < $0.sequence && $0.sequence <= range.last }
      last = next.map { $0.sequence - 1 } ?? range.last
    }
    return first...last
  }

  /// What the version at a place that is lost was called: what comes behind it says so.
  private func hash(at sequence: UInt64) -> Digest? {
    if let next = versions.first(where: { $0.sequence == sequence + 1 }) { return next.version?.previous }
    return forgotten.standing[sequence] ?? forgotten.ranges.first { $0.first == sequence + 1 }?.previousOfFirst
      ?? forgotten.ranges.first { $0.last == sequence }?.coreHashOfLast
  }

  private func hash(before sequence: UInt64) -> Digest? {
    guard sequence > 1 else { return .zero }
    if let version = versions.first(where: { $0.sequence == sequence - 1 }) { return version.id }
    return forgotten.ranges.first { $0.last == sequence - 1 }?.coreHashOfLast
      ?? forgotten.ranges.first { $0.first == sequence }?.previousOfFirst
  }
}

extension ChainHistory {
  /// Versions that were taken back, and are gone all the same: the tombstone that remains keeps the chain whole across
  /// them, so that no link is broken.
  package var goneThoughTakenBack: [RepositoryError] {
    guard isWhole else { return [] }
    let read = Set(versions.map(\.sequence)).union(unreadable.map(\.sequence))
    return forgotten.standing.filter { !read.contains($0.key) }.sorted { $0.key < $1.key }.map { sequence, id in
      RepositoryError(
        .hole, "version \(sequence), \(id.hex.prefix(12)), is missing: it was forgotten once, and taken back",
        hint: RepositoryError.bringBackOrGiveUp)
    }.map { forgotten.judged($0) }
  }
}

extension Repository {
  /// The lost versions of a chain, as two looks at the target show them: nothing that is kept here is believed.
  /// - Throws: `.forked`; `.conflict` when one look shows more than the other, or a manifest that this machine knows is
  ///   there and was not listed; `StoreError`.
  package func lostVersions(of chain: ChainID, state: StateFolder) async throws -> [Tombstone.Range] {
    let first = try await lostNow(chain)
    guard !first.isEmpty else { return [] }
    guard try await lostNow(chain) == first else { throw Self.unsteady(chain) }
    for name in FactsSource(self, chain, state).known.filter({ first.cover($0.sequence) }) {
      // There and readable after all: a listing was short.
      guard let bytes = try await store.left(of: name.objectName) else { continue }
      if (try? openManifest(bytes, name: name)) != nil { throw Self.unsteady(chain) }
    }
    return first
  }

  private func lostNow(_ chain: ChainID) async throws -> [Tombstone.Range] {
    let history = try await history(of: try await versionListing(of: chain))
    if let fork = history.problems.first(where: { $0.code == .forked }) { throw fork }
    return history.lost
  }

  private static func unsteady(_ chain: ChainID) -> RepositoryError {
    RepositoryError(
      .conflict, "the target shows now more, now less of chain \(chain.hex.prefix(12))",
      hint: "Nothing was given up. Run `sealift doctor`, and try again when its listings can be relied on.")
  }
}
