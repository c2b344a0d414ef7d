import Sealing
import Storage

/// What of a chain must stay: the manifests that count, and every pack that one of them needs.
struct LiveSet: Sendable {
  private(set) var manifests: Set<Digest> = []
  private(set) var packs: Set<Digest> = []
  /// Manifests that count no more: versions that were forgotten, revisions that a better one stands in for, partial
  /// manifests of pushes that came to an end.
  private(set) var dead: [VersionFacts] = []
  /// Some revision of the newest version is whole, and no prune condemned anything of it. Where none is, its push may be
  /// about to store it anew.
  private(set) var newestIsSafe = true
  /// Manifests of versions that were forgotten, and not for long enough: they stay, and nobody misses what they lack.
  let resting: Set<Digest>

  /// - Parameters:
  ///   - forgotten: what was forgotten long enough to go.
  ///   - said: all that was forgotten.
  ///   - annotations: all there are: what is pinned stays whatever a tombstone says, for the two may have crossed.
  ///   - tables: reads what manifests need.
  /// - Throws: `.incomplete` for a version that no manifest holds whole; what `tables` throws.
  init(
    _ all: [VersionFacts], _ forgotten: Forgotten, of said: Forgotten, _ annotations: Annotations,
    condemned: NameSet, packs listed: [Digest: ObjectInfo], tables: PackTables, atOnce: Int
  ) async throws {
    let newest = all.last { $0.isComplete }?.sequence ?? 0
    // The newest one stays whatever a tombstone says: with nothing after it, it is the backup.
    let standing = Dictionary(
      grouping: all.filter {
        $0.isComplete && (annotations.isPinned($0) || ($0.sequence == newest || !forgotten.contains($0)))
      },
      by: { Place(sequence: $0.sequence, id: $0.id) })
    let resting = Set(
      standing.values.joined().filter {
        said.contains($0) && $0.sequence != newest && !annotations.isPinned($0)
      }.map(\.digest))
    self.resting = resting
    let partials = all.filter { !$0.isComplete && $0.sequence > newest }.map { [$0] }
    let verdicts = PackVerdicts(tables, listed: listed, condemned: condemned)
    // The revisions of one version are read one after the other.
    let kept = try await bounded(
      Array(standing.values) + partials, atOnce: atOnce, within: Repository.manifestBytesAtOnce,
      of: { $0.map(\.length).max() ?? 0 }
    ) { revisions in try await Self.kept(of: revisions, tables, verdicts, resting) }
    for version in kept {
      manifests.formUnion(version.manifests)
      if version.sequence == newest, !version.isSafe { newestIsSafe = false }
    }
    packs = tables.names(of: kept.flatMap(\.needs))
    // At a place of two versions that stay every manifest does that can be read, also one that counts no more: it shows that
    // another one of its number, which cannot be read, is not of its version (`ReplacedRevisions`).
    let contested = Dictionary(grouping: standing.keys, by: \.sequence).filter { $0.value.count > 1 }
    dead = all.filter { !manifests.contains($0.digest) && contested[$0.sequence] == nil }
  }

  /// Leaves manifests where they are that count no more: they are of the push of a version that may still be wanted.
  mutating func spare(_ isMeant: (VersionFacts) -> Bool) { dead.removeAll(where: isMeant) }

  /// One version: two machines that push as one may have made two of one sequence.
  private struct Place: Hashable {
    let sequence: UInt64
    let id: Digest
  }

  private struct Kept {
    var sequence: UInt64
    var manifests: [Digest] = []
    var needs: [PackTables.Needs] = []
    var isSafe = false
  }

  /// Of one version's revisions: the highest that is whole and that nobody condemned, and those above it, which may be
  /// on their way to be whole. A lower one may go when that one is safe, never earlier.
  private static func kept(
    of revisions: [VersionFacts], _ tables: PackTables, _ verdicts: PackVerdicts, _ resting: Set<Digest>
  ) async throws -> Kept {
    var kept = Kept(sequence: revisions[0].sequence)
    var isWhole = false
    var safe: UInt32?
    for facts in revisions.sorted(by: { $0.revision > $1.revision }) {
      if let safe, facts.revision < safe { break }
      let needs = try await tables.needs(of: facts.name, isThere: verdicts.isThere)
      kept.manifests.append(facts.digest)
      kept.needs.append(needs)
      guard verdicts.areMet(needs) else { continue }
      isWhole = true
      if !verdicts.condemned.contains(facts.digest), verdicts.areSpared(needs) { safe = facts.revision }
    }
    guard isWhole || !revisions.contains(where: { $0.isComplete && !resting.contains($0.digest) }) else {
      throw incomplete(revisions[0])
    }
    kept.isSafe = safe != nil
    return kept
  }

  private static func incomplete(_ facts: VersionFacts) -> RepositoryError {
    let name = facts.version?.database ?? ""
    let id = facts.id.hex.prefix(12)
    return RepositoryError(
      .incomplete,
      "version \(facts.sequence) of '\(name)' (\(id)) is not whole: packs that it needs are not listed",
      hint:
        "A push that was cut leaves such a version; push '\(name)' again, then `sealift forget \(id)` (`sealift unpin \(id)` first if it is pinned). If it was whole before, find out first who took packs away."
    )
  }
}
