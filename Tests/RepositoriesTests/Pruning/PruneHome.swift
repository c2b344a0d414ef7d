import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A chain of versions with packs of their own, what is known to be safe of it, and the verbs of pruning.
final class PruneHome: Sendable {
  struct Safe: Sendable {
    var name: VersionName
    var id: Digest
    var image: [UInt8]
  }

  let home: Home
  /// Acknowledged and not forgotten, by sequence.
  let safe = Locked<[UInt64: Safe]>([:])
  /// Long after every push.
  static let now: UInt64 = 1_800_000_000_000

  /// - Parameter versions: with packs of their own, each.
  init(versions: Int = 0) async throws {
    home = try await Home()
    for _ in 0..<versions { try await push() }
  }

  /// About 150 KB of noise: one pack.
  func image(_ seed: UInt64) -> [UInt8] { home.image(pages: 60, seed: seed) }

  @discardableResult
  func push(_ image: [UInt8]? = nil, at store: (any ObjectStore)? = nil) async throws -> StoredManifest {
    let image = image ?? self.image(UInt64(safe.withLock { $0.keys.max() ?? 0 }) + 100)
    let result = try await home.push(image, at: store)
    let manifest = result.manifest
    safe.withLock { $0[manifest.name.sequence] = Safe(name: manifest.name, id: manifest.id, image: image) }
    return manifest
  }

  // MARK: pruning

  func repository(at store: (any ObjectStore)?) -> Repository {
    Repository(
      store: store ?? home.store, keys: home.repository.keys, random: systemRandom, slot: home.repository.slot)
  }

  /// - Throws: also what cut it in the middle.
  @discardableResult
  func prune(
    at store: (any ObjectStore)? = nil, twoRuns: Bool = false, minAge: UInt64 = 0, forgottenFor: UInt64 = 0,
    dryRun: Bool = false, now: UInt64 = now, state: StateFolder? = nil
  ) async throws -> PrunedChain {
    var policy = PrunePolicy(twoRuns: twoRuns, now: { now })
    policy.minAge = minAge
    policy.forgottenFor = forgottenFor
    policy.dryRun = dryRun
    let pruned = try await repository(at: store).prune(home.chain, policy, state: state ?? home.state)
    return try #require(pruned).whole()
  }

  // MARK: forgetting

  /// Stores a tombstone for versions that are there.
  @discardableResult
  func forget(_ sequences: ClosedRange<UInt64>) async throws -> Digest {
    let known = safe.withLock { $0 }
    let first = try #require(known[sequences.lowerBound])
    let last = try #require(known[sequences.upperBound])
    let manifest = try await home.repository.readManifest(first.name)
    let range = Tombstone.Range(
      first: sequences.lowerBound, last: sequences.upperBound, previousOfFirst: try #require(manifest.core).previous,
      coreHashOfLast: last.id)
    let tombstone = Tombstone(chain: home.chain, time: Self.now, ranges: [range])
    let name = try await home.repository.putRecord(
      .tombstone, tombstone.encode(), below: Layout.tombstones(of: home.chain))
    safe.withLock { safe in for sequence in sequences { safe[sequence] = nil } }
    return name
  }

  /// Takes a tombstone back for a version, as far as that goes without storing anything anew.
  /// - Returns: whether the version counts as safe again: only then anyone may be told so.
  func unforget(_ version: Safe, from tombstone: Digest) async throws -> Bool {
    let manifest = try await home.repository.readManifest(version.name)
    try await home.repository.annotate(manifest.facts, [.init(unforget: [tombstone])], now: Self.now)
    let presence = try await Presence(home.repository, chain: home.chain, state: nil)
    let table = try await PackTable(of: manifest, repository: home.repository, state: nil)
    guard presence.holds(table.all), !presence.condemns(version.name.digest) else { return false }
    safe.withLock { $0[version.name.sequence] = version }
    return true
  }

  // MARK: looking

  var names: Set<String> { Set(home.store.content.keys.map(\.text)) }

  func count(below prefix: String) -> Int { names.filter { $0.hasPrefix(prefix) }.count }

  /// Every version that is known to be safe is listed, continues the chain, and restores bit for bit.
  func expectAllSafe(_ place: SourceLocation = #_sourceLocation) async throws {
    let objects = try await home.store.list(prefix: Layout.versions)
    let listing = ChainListing(chain: home.chain, objects: objects)
    let history = try await home.repository.history(of: listing)
    #expect(history.problems.filter { $0.code != .forked }.isEmpty, "\(history.problems)", sourceLocation: place)
    for (sequence, version) in safe.withLock({ $0 }) {
      let listed = (history.versions + history.displaced).first { $0.sequence == sequence && $0.id == version.id }
      let facts = try #require(listed, "version \(sequence) is not listed", sourceLocation: place)
      let isForgotten = history.isForgotten(facts)
      #expect(!isForgotten, sourceLocation: place)
      let manifest = try await home.repository.readManifest(facts.name)
      let image = try await home.read(manifest)
      #expect(image == version.image, "version \(sequence)", sourceLocation: place)
    }
  }

  /// A prune of the content as it is refuses, and changes nothing at all.
  func expectRefusal(
    _ codes: Set<RepositoryError.Code>, at store: (any ObjectStore)? = nil, state: StateFolder? = nil,
    _ place: SourceLocation = #_sourceLocation
  ) async throws {
    let before = home.store.content
    let error = await #expect(throws: RepositoryError.self, sourceLocation: place) {
      try await self.prune(at: store, state: state)
    }
    if let error {
      #expect(codes.contains(error.code), "\(error)", sourceLocation: place)
      #expect(error.hint != nil, sourceLocation: place)
    }
    let isUntouched = home.store.content == before
    #expect(isUntouched, "something was stored or deleted", sourceLocation: place)
  }
}

extension PrunedChain {
  /// - Throws: what cut it in the middle.
  func whole() throws -> PrunedChain {
    if let cut { throw cut }
    return self
  }
}
