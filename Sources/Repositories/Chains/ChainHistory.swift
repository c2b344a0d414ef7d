package import Sealing
import Storage

/// What a push reads of a chain: its newest version, and what lies beyond it.
package struct ChainHead: Sendable {
  package let newest: StoredManifest?
  /// Partial manifests beyond the newest version, newest last: a push that was cut and may be resumed.
  package let partials: [StoredManifest]
  /// Manifests that could not be read.
  package let unreadable: [VersionName]
  package let problems: [RepositoryError]
}

/// The versions of one chain, authenticated: what `list`, `show` and `pull` believe.
package struct ChainHistory: Sendable {
  package let chain: ChainID
  /// What was read: every manifest of the chain, or those from its end back to the one that was looked for.
  let reader: HistoryReader
  /// Every manifest was read, and the links between all versions were checked.
  package let isWhole: Bool
  /// One manifest per sequence, the highest authentic complete revision, oldest first.
  package let versions: [VersionFacts]
  /// Versions that another one of the same sequence stands in front of: two machines pushed as one, and both were told
  /// that their version is safe.
  package let displaced: [VersionFacts]
  /// Other revisions of the versions and of those displaced, the highest first: lower ones, and such as two machines gave
  /// the same number. A version is where its highest revision says, unless that one never became whole.
  package let superseded: [VersionFacts]
  /// Nothing, where the chain was not the one that was meant (`Repository.end`).
  package let forgotten: Forgotten
  /// What does not fit: unreadable manifests, holes, forks, broken links.
  package let problems: [RepositoryError]

  /// Manifests that could not be read.
  package var unreadable: [VersionName] { reader.unreadable }
  package var newest: VersionFacts? { versions.last }
  /// The newest version that was not forgotten.
  package var newestCounting: VersionFacts? { versions.last { !isForgotten($0) } }

  /// The lower revisions of a version, the highest first, and before them those of the same number.
  func revisions(below version: VersionFacts) -> [VersionFacts] {
    superseded.filter {
      $0.id == version.id && $0.digest != version.digest && $0.revision <= version.revision
    }
  }

  /// All that are there, of both branches where two machines pushed as one.
  package var all: [VersionFacts] { versions + displaced }

  /// It is still there until a prune, but does not count any more.
  package func isForgotten(_ version: VersionFacts) -> Bool { forgotten.contains(version) }
}

extension Repository {
  /// Reads every manifest of a chain and checks that each version continues the one before (`Docs/Format.md` §6.2).
  /// - Parameter records: where the listings of tombstones and annotations come from; `nil` to take them now.
  package func history(
    of listing: ChainListing, state: StateFolder? = nil, records: RecordListings? = nil
  ) async throws -> ChainHistory {
    async let forgotten = self.forgotten(of: listing.chain, listed: records, state: state)
    let source = FactsSource(self, listing.chain, state)
    let read = try await source.read(listing.versions, keep: false)
    let known = try await forgotten
    source.replace(by: read, of: listing) { known.contains($0) }
    let reader = HistoryReader(chain: listing.chain, read)
    let history = reader.finish(isWhole: true, forgotten: known)
    if let rest = try await whatIsLeft(of: listing, without: reader.gone) {
      return try await self.history(of: rest, state: state)
    }
    // A tombstone may be younger than the listing of the versions before it.
    if reader.hole(before: known) != nil {
      let now = try await versionListing(of: listing.chain)
      if !Set(now.versions).isSubset(of: listing.versions) { return try await self.history(of: now, state: state) }
    }
    guard records != nil, known.isPartly || history.problems.contains(where: { $0.code == .hole }) else {
      return history
    }
    // They may be of a while ago, and a prune may have come since: what explains a hole is there before the hole is.
    return reader.finish(isWhole: true, forgotten: try await self.forgotten(of: listing.chain, state: state))
  }

  /// Reads a chain from its end until a version is the one looked for, and whatever two machines may have written at one
  /// place of it. Links between older versions are left to `history`.
  ///
  /// There are many more tombstones and annotations than manifests to be read here: they are read of a chain that is
  /// meant, or where a manifest cannot be read. In all others nothing counts as forgotten.
  /// - Parameters:
  ///   - records: where the listings of those come from; `nil` to take them when they are needed.
  ///   - isEnough: the version that is looked for, if it was not forgotten; or one that says that there is none.
  ///   - concerns: a version says that its chain is meant.
  package func end(
    of listing: ChainListing, state: StateFolder? = nil, records: RecordListings? = nil,
    isEnough: (VersionFacts) -> Bool, concerns: (VersionFacts) -> Bool = { _ in true }
  ) async throws -> ChainHistory {
    let source = FactsSource(self, listing.chain, state)
    var results = try await source.read(listing.contested, keep: false)
    defer { source.remember(results) }
    var reader = HistoryReader(chain: listing.chain, results)
    var known: Forgotten?
    var open = listing.sequences.subtracting(listing.contested.map(\.sequence)).sorted(by: >)[...]
    var batch = 1
    while !open.isEmpty {
      let sequences = Set(open.prefix(batch))
      let names = listing.versions.filter { sequences.contains($0.sequence) }
      let read = try await source.read(names, keep: batch == 1)
      for result in read { reader.add(result) }
      results += read
      open = open.dropFirst(batch)
      batch *= 4
      let reached = sequences.min() ?? 0
      let found = reader.complete.filter { $0.sequence >= reached && isEnough($0) }
      if found.isEmpty { continue }
      guard found.contains(where: concerns) else { break }
      let forgotten: Forgotten
      if let known {
        forgotten = known
      } else {
        forgotten = try await self.forgotten(of: listing.chain, listed: records, state: state)
        known = forgotten
      }
      if found.contains(where: { !forgotten.contains($0) }) { break }
    }
    if let rest = try await whatIsLeft(of: listing, without: reader.gone) {
      return try await end(of: rest, state: state, isEnough: isEnough, concerns: concerns)
    }
    if known == nil, reader.complete.contains(where: concerns) || !reader.unreadable.isEmpty {
      known = try await self.forgotten(of: listing.chain, listed: records, state: state)
    }
    return reader.finish(isWhole: false, forgotten: known ?? .nothing)
  }

  /// Looks at the end of each chain: at as many at once as the target takes, unless there are long manifests. Of a chain any
  /// may be read: what stands behind it may be junk that anybody has put there.
  package func atEnds<Result: Sendable>(
    of listings: [ChainListing], _ look: @escaping @Sendable (ChainListing) async throws -> Result
  ) async throws -> [Result] {
    try await bounded(
      listings, atOnce: store.traits.concurrency, within: Limits.object,
      of: { $0.versions.map(\.length).max() ?? 0 }, look)
  }

  /// A prune may have deleted what was forgotten between the listing and the reading: that is no damage.
  /// - Parameter gone: listed, and not there when they were asked for.
  /// - Returns: `nil` when all of them are listed still, or there are none.
  private func whatIsLeft(of listing: ChainListing, without gone: Set<VersionName>) async throws -> ChainListing? {
    guard !gone.isEmpty else { return nil }
    let names = try await store.list(prefix: Layout.versions(of: listing.chain)).compactMap { VersionName($0.name) }
    let deleted = gone.subtracting(names)
    return deleted.isEmpty ? nil : listing.without(deleted)
  }

  /// The newest version of a chain only. Older manifests stay unread.
  /// - Parameter keepsLong: keep its manifest also where that is long, for the next push.
  package func newest(
    of listing: ChainListing, state: StateFolder? = nil, keepsLong: Bool = false
  ) async throws -> ChainHead {
    var manifests: [StoredManifest] = []
    var reader = HistoryReader(chain: listing.chain, [])
    for sequence in listing.sequences.sorted(by: >) {
      let names = listing.revisions(of: sequence)
      let read = try await bounded(
        names, atOnce: store.traits.concurrency, within: Limits.object, of: { $0.length }
      ) { name in
        try await self.readable(name) { try await self.readManifest(name, state: state, keepsLong: keepsLong) }
      }
      for (name, result) in zip(names, read) { reader.add((name, result.map(\.facts))) }
      let found = read.compactMap { try? $0.get() }
      let complete = found.filter(\.isComplete)
      // Beside a version that came to be, partial ones protect nothing any more.
      manifests += complete.isEmpty ? found : complete
      if !complete.isEmpty { break }
    }
    let history = reader.finish(isWhole: false, forgotten: .nothing)
    let newest = history.newest?.sequence ?? 0
    return ChainHead(
      newest: manifests.first { $0.name == history.newest?.name },
      partials: manifests.filter { !$0.isComplete && $0.name.sequence > newest }.sorted {
        ($0.name.sequence, $0.name.revision) < ($1.name.sequence, $1.name.revision)
      },
      unreadable: history.unreadable, problems: history.problems)
  }

  /// Whether some manifest of a version opens as it stands at the target, whatever this machine has kept of it.
  /// - Returns: why none does.
  package func flaw(of version: VersionFacts, in history: ChainHistory) async throws -> RepositoryError? {
    var first: RepositoryError?
    for revision in [version] + history.revisions(below: version) {
      let result = try await readable(revision.name) { try await self.readManifest(revision.name) }
      guard case .failure(let flaw) = result else { return nil }
      first = first ?? flaw
    }
    return first
  }

  /// The same at a second look at the chain: a repair may have written the version anew since it was listed, and a prune
  /// deleted what that replaced; or it was forgotten, and deleted.
  package func lastingFlaw(of version: VersionFacts, in history: ChainHistory) async throws -> RepositoryError? {
    guard let flaw = try await flaw(of: version, in: history) else { return nil }
    let listing = try await versionListing(of: history.chain)
    let now = try await end(of: listing, isEnough: { $0.sequence <= version.sequence })
    let opens = (now.versions + now.displaced + now.superseded).contains { $0.id == version.id }
    return opens || now.isForgotten(version) ? nil : flaw
  }

  /// Whether the versions of a chain from one on, which this machine has seen, continue it link by link.
  /// - Parameter hint: what to do where another version stands in its place.
  /// - Returns: what does not fit.
  func continuation(
    of listing: ChainListing, from sequence: UInt64, _ hash: Digest, hint: String, state: StateFolder?
  ) async throws -> [RepositoryError] {
    let tombstones = try await tombstones(of: listing.chain, state: state)
    let later = listing.versions.filter { $0.sequence >= sequence }
    let source = FactsSource(self, listing.chain, state)
    let results = try await source.read(later, keep: false)
    source.remember(results)
    return HistoryReader(chain: listing.chain, results).problems(after: sequence, hash, tombstones, hint: hint)
  }
}
