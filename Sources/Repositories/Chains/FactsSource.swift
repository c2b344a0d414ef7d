import Sealing
import Storage

/// A manifest's name, and what it says or why it cannot be read.
typealias ReadFacts = (name: VersionName, result: Result<VersionFacts, RepositoryError>)

/// Where what a chain's manifests say comes from: this machine's own sealed list of them, a manifest kept in the state
/// folder, the target. Only facts stay in memory, never manifests.
struct FactsSource: Sendable {
  private let repository: Repository
  private let state: StateFolder?
  let kept: KeptVersions?

  init(_ repository: Repository, _ chain: ChainID, _ state: StateFolder?) {
    self.repository = repository
    self.state = state
    kept = state.map { KeptVersions(chain, in: $0, keys: repository.keys) }
  }

  /// In the order of `names`.
  /// - Parameter keep: keep whole manifests that come from the target.
  func read(_ names: [VersionName], keep: Bool) async throws -> [ReadFacts] {
    let missing = names.filter { kept?.facts[$0] == nil }
    let read = try await bounded(missing, atOnce: repository.store.traits.concurrency) { [repository, state] name in
      try await repository.readable(name) {
        try await repository.readManifest(name, state: state, keep: keep).facts
      }
    }
    let fresh = Dictionary(zip(missing, read)) { first, _ in first }
    return names.compactMap { name in
      kept?.facts[name].map { (name, checked($0)) } ?? fresh[name].map { (name, $0) }
    }
  }

  /// Keeps what was read of the whole chain for the next time. What the listing does not show leaves the list when
  /// something explains where it went: a listing that came up short must not take this machine's knowledge along.
  func replace(by read: [ReadFacts], of listing: ChainListing, isExplained: (VersionFacts) -> Bool) {
    guard let state, let kept else { return }
    let facts = read.compactMap { try? $0.result.get() }
    let fresh = facts.filter { kept.facts[$0.name] == nil }
    let all = facts + unlisted(in: listing).filter { !isExplained($0) }
    guard !fresh.isEmpty || kept.facts.count > all.count else { return }
    let sorted = all.count > facts.count ? all.sorted { ($0.sequence, $0.revision) < ($1.sequence, $1.revision) } : all
    guard kept.replace(by: sorted, random: repository.random) else { return }
    // What the list says now need not be kept a second time; the newest is what the next push reads whole.
    for facts in fresh where facts.sequence < listing.highestSequence { state.drop(facts.digest.hex) }
  }

  /// Every complete manifest that this machine knows.
  var known: [VersionName] { kept?.facts.values.filter(\.isComplete).map(\.name) ?? [] }

  /// Complete manifests that this machine knows and that a listing does not show.
  func unlisted(in listing: ChainListing) -> [VersionFacts] {
    guard let kept else { return [] }
    let listed = Set(listing.versions)
    return kept.facts.values.filter { facts in
      facts.isComplete && !listed.contains(facts.name) && (try? checked(facts).get()) != nil
    }
  }

  /// Keeps what was read of a part of the chain when that was much: the next reader is spared it. What is not at the
  /// target any more leaves the list when the whole chain is read.
  func remember(_ read: [ReadFacts]) {
    guard let kept else { return }
    let fresh = read.compactMap { try? $0.result.get() }.filter { kept.facts[$0.name] == nil }
    guard fresh.count >= 16 else { return }
    let all = (kept.facts.values + fresh).sorted { ($0.sequence, $0.revision) < ($1.sequence, $1.revision) }
    kept.replace(by: all, random: repository.random)
  }

  /// A rotation may have retired what was genuine when it was kept.
  private func checked(_ facts: VersionFacts) -> Result<VersionFacts, RepositoryError> {
    let version = facts.version?.id
    guard repository.isGenuine(facts.sequence, version, of: facts.chain, epoch: facts.epoch) else {
      return .failure(repository.retired(facts.name))
    }
    return .success(facts)
  }
}

extension Repository {
  /// What cannot be read is a problem of that manifest; what the target refuses or a person interrupts is an error.
  func readable<Value: Sendable>(
    _ name: VersionName, _ read: @Sendable () async throws -> Value
  ) async throws -> Result<Value, RepositoryError> {
    do {
      return .success(try await read())
    } catch let error as StoreError where error.code != .notFound {
      throw error
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      return .failure(Self.unreadable(name, error))
    }
  }

  static func unreadable(_ name: VersionName, _ cause: any Error) -> RepositoryError {
    RepositoryError(
      .damaged, "the manifest of version \(name.sequence) cannot be read: \(cause)",
      hint:
        "Other versions are not harmed by it; `sealift list` shows them. `sealift repair` writes it anew where it can, and `sealift forget --lost` (of other hosts' databases with --all-hosts) gives it up.",
      cause: cause)
  }
}
