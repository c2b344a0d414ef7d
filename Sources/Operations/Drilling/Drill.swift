import Repositories
import Sealing
import Snapshots
import Storage

/// `sealift drill`: restores versions from a target alone into a scratch place, looks at them as hard as SQLite can, and
/// notes with the version what came of it.
package struct Drill: Sendable {
  package enum Choice: Sendable {
    /// The newest version of each database.
    case newest
    /// Any of its versions.
    case random
    case versions([VersionSelector])
  }

  /// What is asked of the databases of one name.
  package struct Trial: Sendable {
    /// A query that must return a row.
    package var query: String?
    /// How long that may take.
    package var queryLimit: Duration = .seconds(60)
    /// Whether rows that refer to rows that are not there make it fail.
    package var foreignKeys = true

    package init(query: String? = nil) { self.query = query }

    /// - Throws: `.usage` for a query that is wrong whatever is in the database: no SQL, or more than one that reads.
    package func demandQuery() throws(OperationError) {
      guard let query else { return }
      do { try demandReading(query) } catch { throw OperationError(error) }
    }
  }

  package struct Request: Sendable {
    /// Names; of all databases when there are none.
    package var databases: [String] = []
    /// Also of other hosts than this one.
    package var allHosts = false
    package var choice = Choice.newest
    package var trials: [String: Trial] = [:]
    /// What is asked of databases of other names.
    package var otherwise = Trial()
    /// The folder below which versions are restored; `nil` is the state folder.
    package var scratch: String?
    /// Note the outcome at the target.
    package var records = true
    /// That nothing is there is no failure: no database is pushed there yet.
    package var mayBeEmpty = false

    package init() {}
  }

  /// What one version was found to be.
  package struct Drilled: Sendable {
    package var version: VersionSummary
    /// What is wrong; it passed when there is nothing.
    package var findings: [String]
    /// What went well.
    package var passed: [String]
    /// What could not be looked at here, and why.
    package var unchecked: [String]
    /// It is noted at the target.
    package var recorded: Bool
    /// All of its content came back from the target as it was pushed.
    package var isRestored = true

    package var hasPassed: Bool { findings.isEmpty }

    /// Why it failed, or what was tried: in one line.
    package var text: String {
      (hasPassed ? passed + unchecked.map { "not looked at: \($0)" } : findings).joined(separator: "; ")
    }
  }

  package struct Outcome: Sendable {
    package var drilled: [Drilled] = []
    /// What could not be drilled, each with the database where that is known.
    package var failures: [(database: String?, error: OperationError)] = []
  }

  package var world: World
  /// Chooses among so many versions; tests decide it.
  package var pick: @Sendable (Int) -> Int = { Int.random(in: 0..<$0) }

  package init(_ world: World) { self.world = world }

  /// One version after the other: one restored image at a time.
  /// - Parameter onDrilled: called for each as soon as it is done.
  /// - Throws: what stops all of them: no repository, a wrong key, `.cancelled`, `.noSuchVersion` when there is none.
  package func run(
    _ request: Request, at target: TargetAccess, onDrilled: @Sendable (Drilled) -> Void = { _ in }
  ) async throws -> Outcome {
    do {
      return try await drill(request, at: target, onDrilled)
    } catch {
      throw OperationError(error, doing: "drilling \(target.name)")
    }
  }

  private func drill(
    _ request: Request, at target: TargetAccess, _ onDrilled: @Sendable (Drilled) -> Void
  ) async throws -> Outcome {
    let place = try ScratchPlace(below: request.scratch ?? world.stateFolder)
    defer { place.remove() }
    let subjects = try await DrillSubjects.find(request, at: target, world, fresh: world.forgetful(in: place), pick)
    var outcome = Outcome()
    outcome.failures = subjects.failures
    for subject in subjects.chosen {
      do {
        let drilled = try await drill(subject, request, target, place, subjects.repository)
        outcome.drilled.append(drilled)
        onDrilled(drilled)
      } catch {
        let problem = OperationError(error, doing: "drilling '\(subject.database)' at \(target.name)")
        if problem.kind == .cancelled { throw problem }
        outcome.failures.append((subject.database, problem))
      }
    }
    return outcome
  }

  private func drill(
    _ subject: DrillSubjects.Subject, _ request: Request, _ target: TargetAccess, _ place: ScratchPlace,
    _ repository: Repository
  ) async throws -> Drilled {
    let trial = request.trials.value(ofName: subject.database) ?? request.otherwise
    // A slip in it is not worth a whole restore.
    try trial.demandQuery()
    // Of this drill alone: it holds what was fetched to choose the version.
    let fresh = StateFolder(reading: world.forgetful(in: place).stateFolder, repository: repository.id)
    let before = try? await repository.annotations(of: subject.facts.chain, state: fresh)
    let restoration = DrillRestoration(subject.facts, repository, place, world)
    let proof = try await restoration.prove(trial)
    var drilled = Drilled(
      version: try summary(of: subject, before, target), findings: proof.image.findings, passed: proof.image.passed,
      unchecked: proof.image.unchecked, recorded: false, isRestored: proof.isRestored)
    remember(proof, of: subject, repository)
    guard request.records else {
      rememberHarm(proof, of: subject.facts, repository)
      return drilled
    }
    var result = DrillResult(passed: drilled.hasPassed, time: world.now(), text: String(drilled.text.prefix(1000)))
    do {
      let said = try await repository.annotations(of: subject.facts.chain, state: fresh)
      result.time = said.time(for: subject.facts, now: world.now())
      let known = said.damage(of: subject.facts)
      // What somebody found meanwhile is younger than what was fetched here.
      let mayTakeBack = before?.damage(of: subject.facts) == known && proof.mayTakeBack(known)
      let isOurs = mayTakeBack || proof.damage.map { known == nil || !CompanionLoss.isMeant(by: $0) } ?? false
      let judgement = isOurs ? Self.judgement(proof.damage, known: known) : []
      try await repository.annotate(
        subject.facts, [result.item] + judgement, now: result.time,
        state: StateFolder(reading: world.stateFolder, repository: repository.id))
      drilled.version = try summary(of: subject, said, target)
      if isOurs {
        drilled.version.foundDamaged = proof.damage.map { Self.isKnown($0, by: known) ? known ?? $0 : $0 }
      }
      drilled.recorded = true
      drilled.version.drilledAt = result.time
      drilled.version.drillPassed = result.passed
      drilled.version.drillText = result.text
    } catch {
      rememberHarm(proof, of: subject.facts, repository)
      let problem = OperationError(error)
      if problem.kind == .cancelled { throw problem }
      world.reporter.notice("\(target.name): the outcome of the drill could not be noted: \(problem.message)")
    }
    return drilled
  }

  /// - Parameter words: what is said of it at the target; `nil` where that cannot be read.
  private func summary(
    of subject: DrillSubjects.Subject, _ words: Annotations?, _ target: TargetAccess
  ) throws -> VersionSummary {
    guard var summary = VersionSummary(subject.facts, target: target.name, words: words) else {
      throw RepositoryError(.incomplete, "the manifest is no version")
    }
    summary.forgotten = subject.isForgotten
    return summary
  }

  /// The next push from this machine must not build on what cannot be restored, nor take it for what the database is;
  /// `Push.unchanged` asks for the doubt too.
  private func remember(_ proof: DrillProof, of subject: DrillSubjects.Subject, _ repository: Repository) {
    let facts = subject.facts
    let state = StateFolder(reading: world.stateFolder, repository: repository.id)
    guard !proof.isRestored else {
      var doubted = try? DoubtedVersions(of: facts.chain, in: state, at: repository.place)
      doubted?.remove([facts.id])
      var harmed = try? HarmedVersions(of: facts.chain, in: state, at: repository.place)
      harmed?.remove([facts.id])
      return
    }
    forgetPacks(harming: facts, in: state, repository)
    guard subject.isNewest else { return }
    do {
      var doubted = try DoubtedVersions(of: facts.chain, in: state, at: repository.place)
      try doubted.add(facts.id, of: facts.chain, in: state)
    } catch {
      SourceMemory.forget(facts.id, world)
      world.reporter.notice("the next push may build on what could not be restored: \(error.message)")
    }
  }

  /// Where no word of it came to the target nobody else says that it cannot be restored: a push settles the doubt, and the
  /// version is no better for it.
  private func rememberHarm(_ proof: DrillProof, of facts: VersionFacts, _ repository: Repository) {
    guard !proof.isRestored else { return }
    let state = StateFolder(reading: world.stateFolder, repository: repository.id)
    do {
      var harmed = try HarmedVersions(of: facts.chain, in: state, at: repository.place)
      try harmed.add([facts.id: HarmedVersions.Harm(.content)], of: facts.chain, in: state)
    } catch {
      world.reporter.notice("what the drill found is not known any more after the next push: \(error.message)")
    }
  }

  /// A drill ends at the first thing that it cannot have: of what a check found damaged nobody knows any more that it is all
  /// that harms the version, and one that needs none of it may not be restored all the same.
  private func forgetPacks(harming facts: VersionFacts, in state: StateFolder, _ repository: Repository) {
    guard var harmed = try? HarmedVersions(of: facts.chain, in: state, at: repository.place),
      harmed.packs(harming: facts.id) != nil
    else { return }
    do {
      try harmed.add([facts.id: HarmedVersions.Harm(.content)], of: facts.chain, in: state)
    } catch {
      world.reporter.notice("a check may take back what the drill found: \(error.message)")
    }
  }

  /// What is said of the version itself: that it was found damaged, or is whole again, unless that is known.
  private static func judgement(_ damage: String?, known: String?) -> [Annotation.Item] {
    guard !isKnown(damage, by: known) else { return [] }
    return [Annotation.Item(.foundDamaged, damage ?? "")]
  }

  /// That the image is no sound database is more than that it could not be had: no repair mends it, and none may take it
  /// back. That companions alone are lost is less, and never the same.
  private static func isKnown(_ damage: String?, by known: String?) -> Bool {
    guard let damage, let known else { return damage == nil && known == nil }
    guard CompanionLoss.isMeant(by: damage) == CompanionLoss.isMeant(by: known) else { return false }
    return !DrillProof.isOfImage(damage) || DrillProof.isOfImage(known)
  }
}

extension World {
  /// The same world on a machine that has never seen anything: what it keeps lies in a scratch place.
  func forgetful(in place: ScratchPlace) -> World {
    var fresh = self
    fresh.host = try? HostName.known(self)
    fresh.stateFolder = "\(place.path)/state"
    fresh.openedSlots = nil
    return fresh
  }
}
