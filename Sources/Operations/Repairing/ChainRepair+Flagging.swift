import Repositories
import Sealing

/// What is said of versions for everybody, and what this machine remembers of them.
extension ChainRepair {
  /// What was said before the check began.
  func saidBefore() async throws -> Annotations {
    let listed = RecordListing.byChain(said)[chain.chain.hex] ?? .empty
    return try await repository.annotations(of: chain.chain, listed: listed, state: state)
  }

  func flag(_ version: CheckedVersion, _ annotations: Annotations) async throws {
    guard let facts = version.facts, try await isNews(version, annotations.damage(of: facts), facts) else { return }
    let objects = "damaged or missing: \(version.objects.joined(separator: ", "))"
    let text = version.sparesDatabase ? CompanionLoss.text(objects) : objects
    try await repository.annotate(
      facts, [.init(.foundDamaged, text)], now: annotations.time(for: facts, now: world.now()), state: state)
  }

  /// Whether what was found says more than what is known, or less: that the database is whole counts as a whole version
  /// does, where everything was read and nobody has found more since.
  private func isNews(_ version: CheckedVersion, _ known: String?, _ facts: VersionFacts) async throws -> Bool {
    guard let known else { return true }
    guard version.sparesDatabase else { return CompanionLoss.isMeant(by: known) }
    guard !CompanionLoss.isMeant(by: known), !DrillProof.isOfImage(known), request.packs.isEmpty else { return false }
    return try await saidBefore().damage(of: facts) == known
  }

  /// Takes back that a version was found damaged; the word must be later than that one, whatever the clocks say. That the
  /// bytes are those that were pushed says nothing of a database that failed a drill's check: only a drill takes that back.
  /// - Returns: when it is taken back; `nil` where there was nothing to take back.
  func unflag(_ version: CheckedVersion, _ annotations: Annotations) async throws -> UInt64? {
    guard let facts = version.facts else { return nil }
    takeBackDoubts(of: facts.id)
    guard let damage = annotations.damage(of: facts), !DrillProof.isOfImage(damage) else { return nil }
    let now = annotations.time(for: facts, now: world.now())
    guard !request.dryRun else { return now }
    try await repository.annotate(facts, [.init(.foundDamaged)], now: now, state: state)
    return now
  }

  /// What a drill or a check on this machine found of it does not hold any more.
  func takeBackDoubts(of version: Digest?) {
    guard !request.dryRun, let version else { return }
    let place = repository.place
    if var doubted = try? DoubtedVersions(of: chain.chain, in: state, at: place) { doubted.remove([version]) }
    if var harmed = try? HarmedVersions(of: chain.chain, in: state, at: place) { harmed.remove([version]) }
  }
}
