import Sealing
import Storage

/// Puts manifests in order and says what does not fit.
struct HistoryReader: Sendable {
  let chain: ChainID
  private var bySequence: [UInt64: [VersionFacts]] = [:]
  private var broken: [(name: VersionName, problem: RepositoryError)] = []

  init(chain: ChainID, _ results: [ReadFacts]) {
    self.chain = chain
    for result in results { add(result) }
  }

  /// Manifests that could not be read.
  var unreadable: [VersionName] { broken.map(\.name) }

  /// Those that were listed, and not there any more when they were asked for.
  var gone: Set<VersionName> {
    Set(broken.lazy.filter { ($0.problem.cause as? StoreError)?.code == .notFound }.map(\.name))
  }

  /// Places of those that a later program wrote: they are there, whatever they say.
  var later: Set<UInt64> { Set(broken.lazy.filter { $0.problem.code == .unsupported }.map(\.name.sequence)) }

  /// What is wrong with them; one whose version was written anew since does not matter any more, nor one that is spoilt
  /// and was forgotten.
  private func problems(_ forgotten: Forgotten) -> [RepositoryError] {
    let newest = complete.map(\.sequence).max() ?? 0
    let gone = gone
    let replaced = ReplacedRevisions(bySequence, unread: unreadable)
    return broken.filter { name, _ in
      !(name.sequence < newest && !gone.contains(name) && forgotten.isGivenUp(name.sequence))
        && !replaced.contains(name)
    }.map(\.problem)
  }

  /// Every complete manifest so far, in no order.
  var complete: some Sequence<VersionFacts> { bySequence.values.lazy.joined().filter(\.isComplete) }

  mutating func add(_ read: ReadFacts) {
    switch read.result {
    case .success(let facts): bySequence[read.name.sequence, default: []].append(facts)
    case .failure(let problem): broken.append((read.name, problem))
    }
  }

  /// - Parameter isWhole: every manifest of the chain was added, so that links and holes can be told.
  func finish(isWhole: Bool, forgotten: Forgotten) -> ChainHistory {
    let (versions, displaced, forks) = ordered()
    let (current, ids) = (Set((versions + displaced).map(\.digest)), Set((versions + displaced).map(\.id)))
    let superseded = complete.filter { ids.contains($0.id) && !current.contains($0.digest) }
    var links: [RepositoryError] = []
    if isWhole {
      links = brokenLinks(between: versions, forgotten.ranges, forgotten.all, after: nil)
      if let hole = self.hole(before: forgotten) { links.append(hole) }
      links = links.map { forgotten.judged($0) }
    }
    return ChainHistory(
      chain: chain, reader: self, isWhole: isWhole, versions: versions, displaced: displaced,
      superseded: superseded.sorted { ($0.revision, $0.digest) > ($1.revision, $1.digest) }, forgotten: forgotten,
      problems: problems(forgotten) + forks + links)
  }

  /// What does not fit from a version on that is known already, which the first one must continue or be.
  /// - Parameter hint: what to do where another version stands in its place.
  func problems(
    after sequence: UInt64, _ hash: Digest, _ tombstones: [Tombstone.Range], hint: String = RepositoryError.partWays
  ) -> [RepositoryError] {
    var later = self
    later.bySequence = bySequence.filter { $0.key >= sequence }
    let (versions, _, forks) = later.ordered()
    let index = TombstoneIndex(tombstones, of: chain)
    let links = later.brokenLinks(between: versions, tombstones, index, after: (sequence, hash, hint))
    return problems(.nothing) + forks + links
  }

  private func ordered() -> (versions: [VersionFacts], displaced: [VersionFacts], forks: [RepositoryError]) {
    var versions: [VersionFacts] = []
    var displaced: [VersionFacts] = []
    var forks: [RepositoryError] = []
    for sequence in bySequence.keys.sorted() {
      let complete = (bySequence[sequence] ?? []).filter(\.isComplete)
        .sorted { ($0.revision, $0.digest) < ($1.revision, $1.digest) }
      guard let version = complete.last else { continue }
      let others = complete.filter { $0.id != version.id }
      if !others.isEmpty { forks.append(forked(at: sequence, complete)) }
      displaced += Dictionary(others.map { ($0.id, $0) }) { _, last in last }.values.sorted { $0.id.hex < $1.id.hex }
      versions.append(version)
    }
    return (versions, displaced, forks)
  }

  private func forked(at sequence: UInt64, _ versions: [VersionFacts]) -> RepositoryError {
    let name = versions.first?.version?.database ?? ""
    let ids = Set(versions.map { String($0.id.hex.prefix(12)) }).sorted().joined(separator: " and ")
    return RepositoryError(
      .forked,
      "version \(sequence) of '\(name)' exists twice with different content (\(ids)): two machines push as one",
      hint: RepositoryError.partWays)
  }

  private func replaced(_ version: VersionFacts.Version, at sequence: UInt64, _ hint: String) -> RepositoryError {
    RepositoryError(
      .forked,
      "version \(sequence) of '\(version.database)' is not the one this machine has seen: two machines push as one",
      hint: hint)
  }

  /// Every version names the one before it, and so does every range of a tombstone, whatever still stands in it or behind
  /// it; a gap is explained by a tombstone, by a manifest that cannot be read (which is a problem of its own), or reported.
  /// - Parameters:
  ///   - tombstones: their ranges, ascending.
  ///   - index: of the same.
  private func brokenLinks(
    between versions: [VersionFacts], _ tombstones: [Tombstone.Range], _ index: TombstoneIndex,
    after: (sequence: UInt64, hash: Digest, hint: String)?
  ) -> [RepositoryError] {
    var ids = Dictionary(grouping: complete, by: \.sequence).mapValues { Set($0.map(\.id)) }
    if let after { ids[after.sequence] = [after.hash] }
    let links = ChainLinks(of: chain, ids, index)
    var problems: [RepositoryError] = []
    var told: Set<UInt64> = []
    var expected = after.map { $0.sequence + 1 } ?? 1
    let unread = Set(unreadable.map(\.sequence))
    // What is expected only rises: a range that ends before it is done with.
    var ranges = tombstones[...]
    for version in versions {
      guard let core = version.version else { continue }
      let sequence = version.sequence
      if let after, sequence == after.sequence {
        if version.id != after.hash { problems.append(replaced(core, at: sequence, after.hint)) }
        continue
      }
      while expected < sequence {
        ranges = ranges.drop { $0.last < expected }
        guard let next = explained(expected, before: sequence, by: ranges.first, unread) else { break }
        expected = next
      }
      if expected != sequence {
        problems.append(
          RepositoryError(
            .hole, "versions \(expected) to \(sequence - 1) of '\(core.database)' are missing and were not forgotten",
            hint: RepositoryError.bringBackOrGiveUp))
      } else if links.areBroken(by: core.previous, at: sequence) {
        problems.append(broken(at: sequence, core.database))
        told.insert(sequence)
      }
      expected = sequence + 1
    }
    let isLater = { (range: Tombstone.Range) in range.first > after?.sequence ?? 0 }
    let places = tombstones.filter { isLater($0) && links.areBroken(by: $0.previousOfFirst, at: $0.first) }.map(\.first)
    let database = versions.last?.version?.database ?? ""
    return problems + places.filter { told.insert($0).inserted }.map { broken(at: $0, database) }
  }

  /// What is expected after a version that is not there; `nil` when nothing explains its absence.
  /// - Parameters:
  ///   - range: the first that does not end before it: where this one begins behind it, so do all that follow.
  ///   - unread: places of manifests that cannot be read.
  private func explained(
    _ expected: UInt64, before sequence: UInt64, by range: Tombstone.Range?, _ unread: Set<UInt64>
  ) -> UInt64? {
    guard let range, range.first <= expected else { return unread.contains(expected) ? expected + 1 : nil }
    // A prune that has not come to the end of the range leaves versions inside it.
    return range.last < sequence ? range.last + 1 : sequence
  }

  /// A tombstone begins behind the newest version, and nothing is before it: then something was lost there, or the
  /// manifests were listed before the tombstones and others came between.
  func hole(before forgotten: Forgotten) -> RepositoryError? {
    guard let newest = complete.max(by: { $0.sequence < $1.sequence }) else { return nil }
    let unread = Set(unreadable.map(\.sequence))
    let lost = forgotten.ranges.first { range in
      range.first > newest.sequence + 1 && !forgotten.all.covers(range.first - 1) && !unread.contains(range.first - 1)
    }
    guard let lost, let core = newest.version else { return nil }
    return RepositoryError(
      .hole,
      "version \(lost.first - 1) of '\(core.database)' is missing and was not forgotten, though what came behind it was",
      hint: RepositoryError.bringBackOrGiveUp)
  }

  private func broken(at sequence: UInt64, _ database: String) -> RepositoryError {
    RepositoryError(
      .forked, "version \(sequence) of '\(database)' does not continue version \(sequence - 1)",
      hint: RepositoryError.partWays)
  }
}
