package import Sealing
import Storage

/// The versions of one chain, authenticated and linked: what `list`, `show` and `pull` believe.
package struct ChainHistory: Sendable {
  package let chain: ChainID
  /// One manifest per sequence, the highest authentic complete revision, oldest first.
  package let versions: [StoredManifest]
  /// Versions that another one of the same sequence stands in front of: two machines pushed as one, and both were told
  /// that their version is safe.
  package let displaced: [StoredManifest]
  /// Manifests that could not be read.
  package let unreadable: [VersionName]
  /// Partial manifests beyond the newest version, newest last: a push that was cut and may be resumed.
  package let partials: [StoredManifest]
  package let tombstones: [Tombstone.Range]
  /// What does not fit: unreadable manifests, holes, forks, broken links.
  package let problems: [RepositoryError]

  package var newest: StoredManifest? { versions.last }

  /// A tombstone covers it: it is still there until a prune, but does not count any more.
  package func isForgotten(_ version: StoredManifest) -> Bool {
    tombstones.contains { $0.first <= version.name.sequence && version.name.sequence <= $0.last }
  }
}

extension Repository {
  /// Reads every manifest of a chain and checks that each version continues the one before (`Docs/Format.md` §6.2).
  /// - Parameter after: a version already known, which the first one read must continue or be.
  package func history(
    of listing: ChainListing, state: StateFolder? = nil, after: (sequence: UInt64, hash: Digest)? = nil
  ) async throws -> ChainHistory {
    let tombstones = try await tombstones(of: listing.chain)
    var reader = HistoryReader(chain: listing.chain)
    let manifests = try await bounded(listing.versions, atOnce: store.traits.concurrency) { name in
      (name, try await self.manifestOrProblem(name, state: state))
    }
    for (name, result) in manifests { reader.add(result, named: name) }
    return reader.finish(tombstones: tombstones, after: after)
  }

  /// The newest version of a chain only: what a push and `latest` need. Older manifests stay unread.
  package func newest(of listing: ChainListing, state: StateFolder? = nil) async throws -> ChainHistory {
    var reader = HistoryReader(chain: listing.chain)
    for sequence in Set(listing.versions.map(\.sequence)).sorted(by: >) {
      for name in listing.revisions(of: sequence) {
        reader.add(try await manifestOrProblem(name, state: state), named: name)
      }
      if reader.hasVersion { break }
    }
    return reader.finish(tombstones: [], linked: false, after: nil)
  }

  private func manifestOrProblem(
    _ name: VersionName, state: StateFolder?
  ) async throws -> Result<StoredManifest, RepositoryError> {
    do {
      return .success(try await readManifest(name, state: state))
    } catch let error as StoreError where error.code != .notFound {
      throw error
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      return .failure(
        RepositoryError(
          .damaged, "the manifest of version \(name.sequence) cannot be read: \(error)",
          hint: "Other versions are not harmed by it; `sealift list` shows them.", cause: error))
    }
  }

  /// Authentic tombstones of a chain, their ranges joined and ascending.
  func tombstones(of chain: ChainID) async throws -> [Tombstone.Range] {
    let prefix = Layout.tombstones(of: chain)
    var ranges: [Tombstone.Range] = []
    for info in try await store.list(prefix: prefix) {
      guard let name = RecordName(info.name, prefix: prefix), name.length == info.size,
        let bytes = try await store.present(info.name),
        let object = try? OpenedObject.open(bytes, kind: .tombstone, name: name.digest, keys: keys),
        let tombstone = try? Tombstone(decoding: object.directory.meta), tombstone.chain == chain
      else { continue }
      ranges += tombstone.ranges.filter { isGenuine($0.last, $0.coreHashOfLast, of: chain, epoch: object.epoch) }
    }
    return ranges.sorted { ($0.first, $0.last) < ($1.first, $1.last) }
  }
}

/// Puts manifests in order and says what does not fit.
private struct HistoryReader {
  let chain: ChainID
  private var bySequence: [UInt64: [StoredManifest]] = [:]
  private var problems: [RepositoryError] = []
  private var unreadable: [VersionName] = []

  init(chain: ChainID) { self.chain = chain }

  var hasVersion: Bool { bySequence.values.contains { $0.contains(where: \.isComplete) } }

  mutating func add(_ result: Result<StoredManifest, RepositoryError>, named name: VersionName) {
    switch result {
    case .success(let manifest): bySequence[name.sequence, default: []].append(manifest)
    case .failure(let problem):
      problems.append(problem)
      unreadable.append(name)
    }
  }

  consuming func finish(
    tombstones: [Tombstone.Range], linked: Bool = true, after: (sequence: UInt64, hash: Digest)?
  ) -> ChainHistory {
    var versions: [StoredManifest] = []
    var displaced: [StoredManifest] = []
    for sequence in bySequence.keys.sorted() {
      let complete = (bySequence[sequence] ?? []).filter(\.isComplete).sorted { $0.name.revision < $1.name.revision }
      guard let version = complete.last else { continue }
      let others = complete.filter { $0.id != version.id }
      if !others.isEmpty { problems.append(forked(at: sequence, complete)) }
      displaced += Dictionary(others.map { ($0.id, $0) }) { _, last in last }.values.sorted { $0.id.hex < $1.id.hex }
      versions.append(version)
    }
    if linked { problems += brokenLinks(between: versions, tombstones, after: after) }
    let newest = versions.last?.name.sequence ?? 0
    let partials = bySequence.values.joined().filter { !$0.isComplete && $0.name.sequence > newest }
    return ChainHistory(
      chain: chain, versions: versions, displaced: displaced, unreadable: unreadable,
      partials: partials.sorted { ($0.name.sequence, $0.name.revision) < ($1.name.sequence, $1.name.revision) },
      tombstones: tombstones, problems: problems)
  }

  private func forked(at sequence: UInt64, _ manifests: [StoredManifest]) -> RepositoryError {
    let name = manifests.first?.core?.database ?? ""
    let ids = Set(manifests.map { String($0.id.hex.prefix(12)) }).sorted().joined(separator: " and ")
    return RepositoryError(
      .forked,
      "version \(sequence) of '\(name)' exists twice with different content (\(ids)): two machines push as one",
      hint:
        "Give each machine a \"host\" of its own in its configuration, or set \"fork\": 1 for the database on one of them."
    )
  }

  private func replaced(_ version: StoredManifest, _ core: Core) -> RepositoryError {
    RepositoryError(
      .forked,
      "version \(core.sequence) of '\(core.database)' is not the one this machine has seen: two machines push as one",
      hint:
        "Give each machine a \"host\" of its own in its configuration, or set \"fork\": 1 for the database on one of them."
    )
  }

  /// Every version names the one before it; a gap is explained by a tombstone, by a manifest that cannot be read (which
  /// is a problem of its own), or reported.
  private func brokenLinks(
    between versions: [StoredManifest], _ tombstones: [Tombstone.Range], after: (sequence: UInt64, hash: Digest)?
  ) -> [RepositoryError] {
    var problems: [RepositoryError] = []
    var expected: Expected = after.map { ($0.sequence + 1, $0.hash) } ?? (1, .zero)
    for version in versions {
      guard let core = version.core else { continue }
      if let after, core.sequence == after.sequence {
        if version.id != after.hash { problems.append(replaced(version, core)) }
        continue
      }
      while expected.sequence < core.sequence, let next = explained(expected, before: core, tombstones, &problems) {
        expected = next
      }
      if expected.sequence != core.sequence {
        problems.append(
          RepositoryError(
            .hole,
            "versions \(expected.sequence) to \(core.sequence - 1) of '\(core.database)' are missing and were not forgotten",
            hint: "Somebody without the key deleted them, or the target lost them; what is listed is still whole."))
      } else if let hash = expected.hash, hash != core.previous {
        problems.append(broken(at: core.sequence, core))
      }
      expected = (core.sequence + 1, version.id)
    }
    return problems
  }

  /// The version that must come next, and the core hash it must continue; `nil` where that cannot be known.
  private typealias Expected = (sequence: UInt64, hash: Digest?)

  /// What is expected after a version that is not there; `nil` when nothing explains its absence.
  private func explained(
    _ expected: Expected, before core: Core, _ tombstones: [Tombstone.Range], _ problems: inout [RepositoryError]
  ) -> Expected? {
    let range = tombstones.first { $0.first <= expected.sequence && expected.sequence <= $0.last }
    guard let range else {
      return unreadable.contains { $0.sequence == expected.sequence } ? (expected.sequence + 1, nil) : nil
    }
    if range.first == expected.sequence, let hash = expected.hash, range.previousOfFirst != hash {
      problems.append(broken(at: range.first, core))
    }
    // A prune that has not come to the end of the range leaves versions inside it.
    return range.last < core.sequence ? (range.last + 1, range.coreHashOfLast) : (core.sequence, nil)
  }

  private func broken(at sequence: UInt64, _ core: Core) -> RepositoryError {
    RepositoryError(
      .forked, "version \(sequence) of '\(core.database)' does not continue version \(sequence - 1)",
      hint: "Two machines push as one; give each a \"host\" of its own in its configuration.")
  }
}
