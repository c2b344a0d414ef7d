import Repositories
import Sealing
import Storage

/// Finds out which versions of a chain are sound, as far as a plan rests on it: whether the packs of a version are all
/// there costs reading its manifest, and most of those that go need no look.
struct Soundness {
  private let facts: [String: VersionFacts]
  private let history: ChainHistory
  private let completeness: Completeness
  private let repository: Repository
  private let state: StateFolder
  private var versions: [RetentionPlan.Version]
  private var seen: Set<String> = []

  /// - Parameters:
  ///   - counting: the versions that are not forgotten.
  ///   - summaries: of the same.
  init(
    of counting: [VersionFacts], _ summaries: [VersionSummary], _ history: ChainHistory, _ lookup: VersionLookup
  ) async throws {
    self.history = history
    facts = Dictionary(counting.map { ($0.id.hex, $0) }) { first, _ in first }
    // What a drill or a check of this machine found counts from then on, also where no word of it has come to the target.
    let place = lookup.repository.place
    let doubted = try DoubtedVersions(of: history.chain, in: lookup.state, at: place)
    let doubtedIDs = Set(counting.map(\.id).filter(doubted.contains).map(\.hex))
    let harmed = try HarmedVersions(of: history.chain, in: lookup.state, at: place)
    let harmedIDs = Set(counting.map(\.id).filter(harmed.contains).map(\.hex))
    versions = summaries.map {
      RetentionPlan.Version(
        $0, contestedFrom: history.contestedFrom, isHarmed: harmedIDs.contains($0.id),
        isDoubted: doubtedIDs.contains($0.id))
    }
    completeness = try await Completeness(lookup.repository, chain: history.chain, state: lookup.state)
    repository = lookup.repository
    state = lookup.state
  }

  /// Plans until all that the plan rests on was looked at: what turns out to be incomplete, or to lack its companions,
  /// takes no other's place.
  /// - Parameter looking: the ids of versions that the plan takes for complete.
  /// - Throws: `.damaged` when the manifest of one of them cannot be read at the target; `StoreError`.
  mutating func plan(
    looking: (RetentionPlan) -> [String], _ make: ([RetentionPlan.Version]) -> RetentionPlan
  ) async throws -> RetentionPlan {
    while true {
      let plan = make(versions)
      let open = looking(plan).filter { !seen.contains($0) }.compactMap { facts[$0] }
      guard !open.isEmpty else {
        if try await learnsMore(of: plan.newestWithCompanions) { continue }
        return plan
      }
      let found = try await completeness.look(at: open, in: history)
      for (fact, finding) in zip(open, found) {
        if finding == .incomplete { try await completeness.demandReadable(fact, in: history) }
        try await note(finding, of: fact)
      }
    }
  }

  /// The list of an earlier release does not say whether companions are lacking: the manifest does.
  private mutating func learnsMore(of version: RetentionPlan.Version?) async throws -> Bool {
    guard let version, version.lacksCompanions == nil, let fact = facts[version.id],
      let index = versions.firstIndex(where: { $0.sequence == version.sequence })
    else { return false }
    let manifest = try await repository.readManifest(fact.name, state: state)
    versions[index].lacksCompanions = manifest.body.remarks.lacksCompanions
    return true
  }

  private mutating func note(_ finding: Completeness.Finding, of fact: VersionFacts) async throws {
    seen.insert(fact.id.hex)
    guard let index = versions.firstIndex(where: { $0.sequence == fact.sequence }) else { return }
    switch finding {
    case .whole: break
    case .condemned: versions[index].flaw = versions[index].flaw ?? .condemned
    case .incomplete:
      // Where it is flawed already, somebody has looked and said so. A check says nothing at the target: what it missed
      // may be put back as well. And where companions alone are lost, nobody has said that the database is.
      let isNews =
        versions[index].flaw == nil || versions[index].flaw == .harmed || versions[index].flaw == .companionsLost
      let wasPruned = try await completeness.wasPruned(fact, in: history)
      versions[index].flaw = .incomplete
      versions[index].mayComeBack = isNews && !wasPruned
    }
  }

  /// A version goes, or is told to have lost packs, because it is not complete: not because a listing was late, or a
  /// repair was under way.
  /// - Throws: `.conflict` when one of them may be all there.
  func demandLosses(of plan: RetentionPlan) async throws {
    let incomplete = (plan.going + plan.harmed).map(\.version).filter { $0.flaw == .incomplete }
    let found = incomplete.compactMap { facts[$0.id] }
    guard let there = try await completeness.firstNotLost(among: found, in: history) else { return }
    throw RepositoryError(
      .conflict,
      "version \(there.id.hex.prefix(12)) seemed incomplete, and what was missing is there: a listing was late, or a repair is under way",
      hint: "Run the command again in a while; nothing was forgotten.")
  }

  /// Whoever lets versions go relies on those that stay, but for those that take no other's place.
  /// - Throws: `.incomplete` when one of them is not all there.
  func demandCompleteness(of plan: RetentionPlan) throws {
    guard let broken = plan.staying.last(where: { $0.version.flaw == .incomplete && $0.wouldKeep.isEmpty }) else {
      return
    }
    let id = broken.version.id.prefix(12)
    let isLast = plan.newestSound.map { broken.version.sequence > $0.sequence } ?? true
    throw RepositoryError(
      .incomplete, "version \(id), which would stay, is not complete: its manifest or packs of it are missing or cut",
      hint: isLast
        ? "Push a newer version first, with `sealift push --rebuild-base`; then this one need not stay."
        : "`sealift unpin \(id)` lets it go; nothing was forgotten.")
  }
}

extension RetentionPlan.Version {
  /// - Parameters:
  ///   - isHarmed: a check found it so, or a drill whose word did not come to the target.
  ///   - isDoubted: a drill could not restore it, or a check found it harmed.
  init(_ summary: VersionSummary, contestedFrom: UInt64?, isHarmed: Bool, isDoubted: Bool) {
    self.init(id: summary.id, sequence: summary.sequence, time: summary.time)
    tags = summary.tags
    isPinned = summary.pinned
    isContested = contestedFrom.map { summary.sequence >= $0 } ?? false
    lacksCompanions = summary.lacksCompanions
    if summary.damaged {
      flaw = .damaged
    } else if summary.foundDamaged != nil {
      flaw = summary.losesCompanionsAlone ? .companionsLost : .foundDamaged
    } else if isHarmed || isDoubted {
      // Nobody who tried to save it says so: a drill whose word did not come to the target, or a check.
      flaw = .harmed
    }
  }
}
