import Repositories
import Sealing

/// `sealift unforget`: versions count again, as long as no prune has taken them.
package struct UnforgetVersions: Sendable {
  package struct Outcome: Sendable {
    package var version: VersionSummary
    /// False: it was not forgotten. It was looked after all the same.
    package var wasForgotten: Bool
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Throws: `.noSuchVersion`; `.verificationFailed` with code `incomplete` when a prune has taken a part of it.
  package func run(_ selector: VersionSelector, at target: TargetAccess) async throws -> Outcome {
    do {
      guard case .id = selector else {
        throw OperationError(
          .usage, code: "badVersion", "a forgotten version is named by its id, not as '\(selector.text)'",
          hint: "`sealift list --forgotten` shows the ids.")
      }
      let lookup = try await VersionLookup(at: target, world, isReading: false)
      let found = try await lookup.find(selector, whole: true)
      let annotations = try await lookup.annotations(of: found.history)
      let tombstones = found.history.forgotten.tombstones(covering: found.facts)
      // A repair that died may have left a revision above it of which not all is there.
      let facts = try await lookup.repository.readable(found.facts, in: found.history, state: lookup.state)
      let safe = try await lookup.repository.unforget(
        facts, from: tombstones, now: annotations.time(for: found.facts, now: world.now()),
        state: lookup.state)
      guard let version = VersionSummary(safe, target: target.name, annotations: annotations) else {
        throw RepositoryError(.incomplete, "the manifest is no version")
      }
      tellHarm(of: facts, annotations, lookup)
      return Outcome(version: version, wasForgotten: !tombstones.isEmpty)
    } catch {
      throw OperationError(error, doing: "taking a version back at \(target.name)")
    }
  }

  /// It counts, and whoever needs it must know that it may not come back.
  private func tellHarm(of version: VersionFacts, _ annotations: Annotations, _ lookup: VersionLookup) {
    let harmed = try? HarmedVersions(of: version.chain, in: lookup.state, at: lookup.repository.place)
    guard annotations.damage(of: version) != nil || harmed?.contains(version.id) == true else { return }
    world.reporter.notice(
      "\(lookup.targetName): version \(version.id.hex.prefix(12)) counts again, and was found damaged: `sealift repair` saves what can be had"
    )
  }
}
