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
  /// What came from elsewhere than that list.
  private let fetched = Locked<[VersionName: VersionFacts]>([:])
  private let batch: Int

  /// - Parameter batch: so many manifests are fetched, at least, before the list of them is written.
  init(_ repository: Repository, _ chain: ChainID, _ state: StateFolder?, batch: Int = 4096) {
    self.repository = repository
    self.state = state
    self.batch = batch
    kept = state.map { KeptVersions(chain, in: $0, keys: repository.keys) }
  }

  /// In the order of `names`.
  /// - Parameter keep: keep whole manifests that come from the target.
  func read(_ names: [VersionName], keep: Bool) async throws -> [ReadFacts] {
    let earlier = fetched.withLock { $0 }
    let problems = try await fetch(names.filter { kept?.facts[$0] == nil && earlier[$0] == nil }, keep: keep)
    let all = fetched.withLock { $0 }
    return names.compactMap { name -> ReadFacts? in
      if let facts = kept?.facts[name] { return (name, checked(facts)) }
      if let facts = all[name] { return (name, .success(facts)) }
      guard let problem = problems[name] else { return nil }
      return (name, .failure(problem))
    }
  }

  /// Fetches manifests from the last to the first: of more than the list can hold it keeps the newest. What has come is
  /// written down ever again, so that a reading which is cut was not in vain.
  /// - Returns: why those that did not come cannot be read.
  private func fetch(_ names: [VersionName], keep: Bool) async throws -> [VersionName: RepositoryError] {
    var problems: [VersionName: RepositoryError] = [:]
    var rest = names[...]
    while !rest.isEmpty {
      let part = Array(rest.suffix(nextBatch))
      rest = rest.dropLast(part.count)
      let read = try await bounded(
        part, atOnce: repository.store.traits.concurrency, within: Limits.object, of: { $0.length }
      ) { [repository, state] name in
        try await repository.readable(name) {
          try await repository.readManifest(name, state: state, keep: keep).facts
        }
      }
      for (name, result) in zip(part, read) {
        switch result {
        case .success(let facts): fetched.withLock { $0[name] = facts }
        case .failure(let problem): problems[name] = problem
        }
      }
      if !rest.isEmpty { save() }
    }
    return problems
  }

  /// All of the list is written each time: the longer it is, the more must have come.
  private var nextBatch: Int {
    let known = (kept?.facts.count ?? 0) + fetched.withLock { $0.count }
    return max(batch, known / 16)
  }

  /// Nothing leaves the list.
  private func save() {
    guard let kept else { return }
    let all = Array(kept.facts.values) + fetched.withLock { Array($0.values) }
    kept.replace(
      by: all.sorted { ($0.sequence, $0.revision) < ($1.sequence, $1.revision) }, random: repository.random)
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
    let fresh = read.count { kept.facts[$0.name] == nil && (try? $0.result.get()) != nil }
    if fresh >= 16 { save() }
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
    } catch let error as StoreError where !error.isLoss {
      throw error
    } catch is CancellationError {
      throw CancellationError()
    } catch let error as SealError where error.code == .failed {
      // Of this machine, which has no memory left: it says nothing of the manifest.
      throw error
    } catch {
      return .failure(Self.unreadable(name, error))
    }
  }

  /// What a later program wrote is not spoilt: nobody writes it anew or gives it up who cannot judge it.
  static func unreadable(_ name: VersionName, _ cause: any Error) -> RepositoryError {
    if let later = cause as? SealError, later.code == .unsupported {
      return RepositoryError(
        .unsupported, "the manifest of version \(name.sequence) is of a later format: \(later.message)",
        hint: "Install a newer sealift. Other versions are not harmed; `sealift list` shows them.", cause: cause)
    }
    // What the target shows and does not give is not there to be removed; what is another repository's may be whole there.
    let isForeign = (cause as? SealError)?.isOfAnotherRepository ?? false
    let removal =
      isForeign
      ? " Another repository lies at this place, by what the object says: give each a target of its own."
      : " If nobody of yours stored it, remove it by hand: \(name.objectName)."
    let byHand = cause is StoreError ? "" : removal
    let refusal = cause as? StoreError
    let reason = refusal?.message ?? "\(cause)"
    let before = refusal?.hint.map { $0 + " " } ?? ""
    return RepositoryError(
      .damaged, "the manifest of version \(name.sequence) cannot be read: \(reason)",
      hint:
        "\(before)Other versions are not harmed by it; `sealift list` shows them. `sealift repair` writes it anew where it can, and `sealift forget --lost` (of other hosts' databases with --all-hosts) gives it up.\(byHand)",
      cause: cause)
  }
}
