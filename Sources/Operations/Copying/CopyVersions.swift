import Repositories
import Sealing
import Snapshots
import Storage

/// `sealift copy`: versions of one repository sealed anew for another one, with that one's keys.
///
/// What a version *is* names its chain, so a copy has an id of its own; its manifest says of what it is a copy. A version
/// that is there already, by host, database, time and SHA-256, is passed over: a copy that was cut goes on where it was.
/// So is one that was there and was forgotten, unless it is named.
package struct CopyVersions: Sendable {
  package enum Choice: Sendable {
    case all
    /// The newest of each database.
    case newest
    case versions([VersionSelector])

    var isByName: Bool {
      if case .versions = self { return true }
      return false
    }
  }

  package struct Request: Sendable {
    /// Names; of all databases when there are none.
    package var databases: [String] = []
    package var choice = Choice.all
    /// The folder below which versions are restored; `nil` is the state folder.
    package var scratch: String?
    /// zstd's level for a database of that name, where it is not 1.
    package var compressionLevels: [String: Int] = [:]

    package init() {}
  }

  package struct Copied: Sendable {
    package var origin: VersionSummary
    package var version: VersionSummary
    /// It was there before, and nothing was stored.
    package var wasThere: Bool
  }

  package struct Outcome: Sendable {
    package var copied: [Copied] = []
    /// Passed over, as they were forgotten at the other target.
    package var forgotten: [VersionSummary] = []
    /// Each with the database where that is known, and the id of the version where there is one.
    package var failures: [(database: String?, version: String?, error: OperationError)] = []
    /// Why the versions that are in no list were not begun, or not ended.
    package var interruption: OperationError?
  }

  package var world: World
  /// So many versions that are passed over are named.
  private static let mostNamed = 8

  package init(_ world: World) { self.world = world }

  /// Oldest first, one restored version at a time.
  /// - Parameter onCopied: called for each as soon as it is acknowledged, or found there.
  /// - Throws: what stops all of them: a repository that does not open, the same one twice (`.usage`), `.cancelled` before
  ///   anything was done.
  package func run(
    _ request: Request, from source: TargetAccess, to target: TargetAccess,
    onCopied: @Sendable (Copied) -> Void = { _ in }
  ) async throws -> Outcome {
    do {
      return try await copy(request, source, target, onCopied)
    } catch {
      throw OperationError(error, doing: "copying from \(source.name) to \(target.name)")
    }
  }

  private func copy(
    _ request: Request, _ source: TargetAccess, _ target: TargetAccess, _ onCopied: @Sendable (Copied) -> Void
  ) async throws -> Outcome {
    let origin = try await VersionLookup(at: source, world)
    let plan = try await CopyPlan(request, origin)
    let destination = try await CopyDestination(target, world, not: origin.repository, for: plan)
    var outcome = Outcome()
    outcome.failures = plan.failures
    for (database, refusal) in destination.closedAtOnce { tell(refusal, of: database, destination, &outcome) }
    for (database, error) in destination.lostWords {
      let problem = OperationError(error, doing: "copying '\(database)' to \(destination.name)")
      outcome.failures.append((database, nil, problem))
    }
    let place = try ScratchPlace(below: request.scratch ?? world.stateFolder)
    defer { place.remove() }
    for chain in plan.chains where outcome.interruption == nil {
      defer { destination.forgetBases(in: place) }
      try await copy(chain, request, origin, destination, place, &outcome, onCopied)
    }
    tell(outcome.forgotten, of: destination)
    if destination.retold > 0 {
      let count = destination.retold == 1 ? "1 version has" : "\(destination.retold) versions have"
      world.reporter.notice(
        "\(destination.name): \(count) the tags and the note there now that were given at \(source.name) since the copy"
      )
    }
    return outcome
  }

  private func tell(_ forgotten: [VersionSummary], of destination: CopyDestination) {
    guard !forgotten.isEmpty else { return }
    let count = forgotten.count
    let what = count == 1 ? "1 version was forgotten there and is" : "\(count) versions were forgotten there and are"
    let ids = forgotten.prefix(Self.mostNamed).map { String($0.id.prefix(12)) }.joined(separator: ", ")
    let more = count > Self.mostNamed ? " and \(count - Self.mostNamed) more" : ""
    world.reporter.notice(
      "\(destination.name): \(what) not copied again: \(ids)\(more); --versions copies what it names all the same, and `sealift unforget` there takes back what no prune has taken"
    )
  }

  /// Of a chain there that takes nothing, once, however many versions would go to it.
  private func tell(
    _ refusal: ClosedChains.Refusal, of database: String, _ destination: CopyDestination, _ outcome: inout Outcome
  ) {
    guard destination.closed.tells(refusal) else { return }
    var problem = OperationError(refusal.problem, doing: "copying '\(database)' to \(destination.name)")
    if refusal.problem.code == .rolledBack, let hint = problem.hint {
      problem.hint = "What only `copy` brings there it brings once more when the loss is accepted. \(hint)"
    }
    outcome.failures.append((database, nil, problem))
  }

  private func copy(
    _ chain: CopyPlan.Chain, _ request: Request, _ origin: VersionLookup, _ destination: CopyDestination,
    _ place: ScratchPlace, _ outcome: inout Outcome, _ onCopied: @Sendable (Copied) -> Void
  ) async throws {
    var standing: [VersionFacts] = []
    for facts in chain.versions {
      guard let summary = VersionSummary(facts, target: origin.targetName, annotations: chain.annotations) else {
        continue
      }
      if !request.choice.isByName, destination.holds(facts) == nil, destination.hasForgotten(facts) {
        outcome.forgotten.append(summary)
        continue
      }
      do {
        var copied = Copied(origin: summary, version: summary, wasThere: true)
        if let there = destination.holds(facts) {
          copied.version = there
          standing.append(facts)
        } else {
          let level = request.compressionLevels[summary.database] ?? 1
          let found = VersionLookup.Found(facts: facts, history: chain.history)
          let version = CopiedVersion(found, summary, level, origin, place, world)
          copied.version = try await version.copy(to: destination, fork: chain.fork)
          copied.wasThere = false
        }
        outcome.copied.append(copied)
        onCopied(copied)
        try await destination.noteDamage(chain.annotations.damage(of: facts), of: copied.version)
      } catch let refusal as ClosedChains.Refusal {
        tell(refusal, of: summary.database, destination, &outcome)
      } catch {
        let problem = OperationError(
          error, doing: "copying '\(summary.database)', version \(summary.id.prefix(12)), to \(destination.name)")
        guard problem.kind != .cancelled else {
          // What arrived by then has to be told.
          guard !outcome.copied.isEmpty || !outcome.failures.isEmpty else { throw problem }
          outcome.interruption = problem
          return
        }
        outcome.failures.append((summary.database, summary.id, problem))
        // What is wrong with one version says nothing of the next; what else failed would fail again.
        guard problem.isOfOneVersion else { return }
      }
    }
    await carryWords(of: standing, in: chain, to: destination, &outcome)
  }

  /// When all that is to be there is: who may store versions there, and say nothing of them, has all the same copies.
  private func carryWords(
    of standing: [VersionFacts], in chain: CopyPlan.Chain, to destination: CopyDestination, _ outcome: inout Outcome
  ) async {
    for facts in standing {
      do {
        guard let copy = try await destination.carryWords(chain.annotations, of: facts) else { continue }
        for index in outcome.copied.indices where outcome.copied[index].version.id == copy.id {
          outcome.copied[index].version = copy
        }
      } catch {
        let problem = OperationError(
          error, doing: "copying what was said of version \(facts.id.hex.prefix(12)) to \(destination.name)")
        guard problem.kind != .cancelled else {
          outcome.interruption = problem
          return
        }
        outcome.failures.append((facts.version?.database, facts.id.hex, problem))
        return
      }
    }
  }
}

extension OperationError {
  /// What is read of the version is damaged or gone, or it is too old for every chain there.
  fileprivate var isOfOneVersion: Bool {
    let codes = [StoreError.Code.notFound.rawValue, RepositoryError.Code.noLane.rawValue]
    return kind == .verificationFailed || codes.contains(code)
  }
}
