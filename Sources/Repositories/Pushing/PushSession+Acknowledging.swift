import Sealing

/// A version that proved to be safe is noted on this machine before anyone is told of it.
extension PushSession {
  /// The newest version may be one that nobody was told of: then it is acknowledged here, and what was listed before it was
  /// seen proves nothing.
  func newestIsSafe(_ present: Presence) async throws -> Bool {
    guard let newest, let packs = try await repository.packs(of: newest, state: state) else { return false }
    return present.holds(packs) && !present.condemns(newest.name.digest)
  }

  /// Durable before anyone is told.
  /// - Parameter own: the packs that this push has stored, and those before it that were cut.
  mutating func acknowledge(_ attempt: VersionWriter.Written, _ own: Set<Digest>) throws -> Result {
    try HighWaterMark(pushed: attempt.manifest.facts).write(chain, in: state)
    attempt.stale.write(of: chain, in: state)
    let packs = Set(attempt.packs.map(\.name))
    let use: UnitList.Use = attempt.level == .middle ? .base : .reference
    for pack in own { UnitList.settle(of: pack, for: packs.contains(pack) ? use : .none, in: state) }
    for pack in known.entries.values.map(\.name) where !packs.contains(pack) {
      UnitList.settle(of: pack, for: .none, in: state)
    }
    journal.clear()
    DoubtedVersions.settle(doubted, of: chain, in: state)
    ManifestAttempt.clear(of: chain, in: state)
    if let newest { state.dropLong(newest.name) }
    state.tidy()
    return result(of: attempt)
  }

  func result(of attempt: VersionWriter.Written) -> Result {
    Result(
      manifest: attempt.manifest, unchanged: false, bytesNew: attempt.bytesNew, level: attempt.level,
      canBeBase: !attempt.hasRiders, lacksBases: attempt.lacksBases, meetsAnchor: attempt.meetsAnchor,
      needs: attempt.needs)
  }

  func acknowledgeUnchanged(_ level: DeltaLevel, dryRun: Bool) throws -> Result {
    guard let newest else { throw RepositoryError(.noSuchVersion, "there is no version to be equal to") }
    var mark = HighWaterMark(pushed: newest.facts)
    // Who only asks has pushed nothing.
    if dryRun { mark.pushed = end.mark?.pushed }
    if !dryRun || repository.isPlaceProved { try mark.write(chain, in: state) }
    return Result(manifest: newest, unchanged: true, bytesNew: 0, level: level, canBeBase: false)
  }
}
