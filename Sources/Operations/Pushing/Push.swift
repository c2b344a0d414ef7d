import Platform
import Repositories
import Sealing
import Snapshots
import Storage

/// `sealift push`: one snapshot of one database, sealed for every target.
package struct Push: Sendable {
  package struct Request: Sendable {
    package var database: DatabaseSource
    package var targets: [TargetAccess]
    package var tags: [String] = []
    package var note = ""
    /// Takes the snapshot and counts what would be new; stores nothing.
    package var dryRun = false
    /// Make a version even when nothing changed (also implied by tags or a note of this push).
    package var force = false
    /// Refer to nothing that is there, and keep this version as the base of those to come. Implies `force`.
    package var rebuildBase = false
    /// Ask an unchanged database's target once in so many milliseconds whether the newest version is still there.
    package var verifyRemoteEvery: UInt64 = 24 * 3600 * 1000

    package init(database: DatabaseSource, targets: [TargetAccess]) {
      self.database = database
      self.targets = targets
    }

    /// A version is made also of content that is there.
    var keepsEqual: Bool { force || rebuildBase || !tags.isEmpty || !note.isEmpty }
  }

  package struct Pushed: Sendable {
    package var version: VersionSummary
    /// Nothing was stored: the newest version there already is this content.
    package var unchanged: Bool
    package var dryRun: Bool
    /// What came with the database; `nil` when nothing was looked at.
    package var beside: Beside?
    /// The sequence of the version that was the newest there, where another machine had pushed it under this one's name
    /// since this one's last push.
    package var pushedElsewhere: UInt64?
  }

  /// What became of each target: some may have failed while the others are safe.
  package struct Outcome: Sendable {
    package var pushed: [Pushed] = []
    package var failures: [(target: String, error: OperationError)] = []
    /// Set when the database failed its own check: it was pushed all the same, flagged; exit status 13.
    package var damage: OperationError?
    /// Companions that should be in a version and are not: the version is safe, and not all of it. Or files that the push of
    /// another user's database left beside it, or a copy that may be of two moments; or two machines pushed as one before
    /// the version that was the newest. Exit status 3.
    package var shortfalls: [OperationError] = []
    /// What ended it when something was safe already, or had failed; the targets that come later were not tried.
    package var interruption: OperationError?
  }

  package var world: World
  /// How the copy is taken; tests hold it up, or let it fail.
  package var take: Take = { try await takeSnapshot($0, progress: $1) }
  /// How a file that is no database is taken; tests change it meanwhile.
  package var takeFile: TakeFile = { try await Snapshots.takeFile($0, progress: $1) }
  /// Finds out what a database lies on; tests make it something else.
  package var fileSystem: FileSystem = { .of(path: $0) }
  /// Whether something is mounted right at a path; tests answer it themselves.
  package var isMountPoint: @Sendable (String) -> Bool = { FileSystemKind.isMountPoint($0) }
  /// How the copy is checked while it is sealed; tests decide when it ends, and how.
  package var check: Check = { try await checkImage(at: $0) }
  /// How its rows are counted, beside the check.
  package var count: Count = { try await countRows(at: $0) }
  /// Let tests interfere with the capture of companions.
  package var companionHooks = CompanionHooks()
  /// From when on a copy is sealed while it is still being written.
  package var overlap = Overlap()
  /// A pack is closed when it has come to so many bytes; tests push in small ones.
  package var packLength = PushSession.Policy.packLength

  /// By a clock that nobody sets: what is pushed was copied since.
  private(set) var began = ContinuousClock.now

  package init(_ world: World) { self.world = world }

  /// - Throws: what stops all targets alike: `.sourceUnreadable`, `.cancelled`. What stops one target only is in the outcome, and
  ///   so is what interrupted it behind the first target.
  package func run(_ request: Request) async throws -> Outcome {
    var request = request
    // Recovery changes the file, and a dry run changes nothing.
    let leavesJournal = request.dryRun && request.database.allowRecovery
    if leavesJournal { request.database.allowRecovery = false }
    if request.rebuildBase { request.database.insistsOnMethod = true }
    // Before as well: one that is at work now comes to its end, and what it has left is gone then.
    let isUnfinished = !UnfinishedRestore(of: request.database.path).remarks.isEmpty
    do {
      var push = self
      push.began = .now
      var outcome = try await push.pushInTurn(request)
      if let left = AppearedSideFile.shortfall(of: request.database) { outcome.shortfalls.append(left) }
      if isUnfinished, let mixed = UnfinishedRestore(of: request.database.path).shortfall(of: request.database) {
        outcome.shortfalls.append(mixed)
      }
      // What is no database is not opened to find out whether it has a -wal.
      if request.database.method != .file {
        OtherNames(of: request.database.path, isMountPoint)?.tell(of: request.database, &outcome, world)
      }
      // What was acknowledged stays so, whatever comes of this.
      if outcome.pushed.contains(where: { !$0.dryRun }), let host = try? HostName.current(world) {
        NamedFile.note(request.database, host: host, world)
      }
      return outcome
    } catch {
      // Whoever cannot open the database because of them must hear it now as well.
      if let left = AppearedSideFile.shortfall(of: request.database) { world.reporter.notice(left.message) }
      var told = OperationError(error, doing: "pushing '\(request.database.name)'")
      if leavesJournal, (error as? SnapshotError)?.code == .hotJournal,
        LockFolder.beside(request.database.path) == nil
      {
        told.hint = "A push rolls that transaction back, as `allowRecovery` says; a dry run leaves it as it is."
      }
      throw told.kind == .sourceUnreadable ? UnfinishedRestore(of: request.database.path).explained(told) : told
    }
  }

  /// The targets at which a push was stopped come last.
  private func pushInTurn(_ request: Request) async throws -> Outcome {
    let host = try HostName.current(world)
    var inTurn = request
    inTurn.targets = PushTurns(of: request.database, dryRun: request.dryRun, world).order(request.targets)
    var outcome = try await pushWhatChanged(inTurn, host)
    if inTurn.targets.map(\.name) != request.targets.map(\.name) { outcome.sort(as: request.targets) }
    return outcome
  }

  /// A copy is taken where a target lacks what the database holds now.
  private func pushWhatChanged(_ request: Request, _ host: String) async throws -> Outcome {
    try request.demandFittingTexts(host: host)
    try NamedFile.demandSame(request.database, host: host, world)
    try OperationError.demandOwnLinks(on: request.database.path, writing: false)
    let signature = try SourceSignature.read(request.database.path)
    try StateFiles.makeFolder(world.stateFolder)
    // Also when nothing is to be done below: what a killed run left is a readable copy of the database.
    Spool.sweep(in: world.stateFolder) { left in
      world.reporter.notice(
        "\(left) cannot be removed; it may hold a plain copy of a database. Unless a run of another user is under way, remove it as that user"
      )
    }
    // The same of what was kept before the settings said that nothing is.
    if !request.dryRun, !request.database.keepsBases || world.baseLimit == 0 {
      BaseFolder.removeAll(of: request.database, host: host, world)
    }
    let capture = try CompanionCapture(
      request.database, companionHooks, without: world.ownFolders(of: request.database, at: request.targets))
    var outcome = Outcome()
    let changed = await withoutUnchanged(request, host, signature, capture, &outcome)
    let waiting = try await prepared(changed, for: request, &outcome)
    guard !waiting.isEmpty else {
      BaseRoom.noteUse(of: BaseFolder.path(of: request.database, host: host, world))
      return outcome
    }
    try await capture.hold()
    // Whoever makes links has had as long as somebody types a passphrase.
    try OperationError.demandOwnLinks(on: request.database.path, writing: false)

    let spool = try Spool.open(in: world.stateFolder)
    defer { spool.remove() }
    do {
      let isDue = request.rebuildBase || SourceChecks.isDue(request.database, world)
      return try await whileTakingCopy(of: request.database, in: spool, checkingSource: isDue) { growth, taking in
        do {
          if let begun = await growth.begun() {
            let copy = PushCopy(begun, growth: growth, taking, check, count)
            return try await sealForEach(waiting, copy, capture, request, host, outcome)
          }
        } catch is CopyGrowth.Abandoned {}
        let snapshot = try await taking.value
        return try await sealForEach(waiting, PushCopy(snapshot, check, count), capture, request, host, outcome)
      }
    } catch let damage as DamagedCopy {
      let copy = try await retakeCopy(damage, of: request.database, in: spool)
      return try await sealForEach(waiting, copy, capture, request, host, outcome)
    }
  }

  /// Seals the copy for one target after the other.
  /// - Throws: `CancellationError`; `DamagedCopy` before any target has a version of it; `CopyGrowth.Abandoned` before any
  ///   target has one, or has failed; what a copy that was still being written failed with.
  private func sealForEach(
    _ targets: [TargetAccess], _ copy: PushCopy, _ capture: CompanionCapture, _ request: Request, _ host: String,
    _ outcome: Outcome
  ) async throws -> Outcome {
    try await copy.whileChecking {
      var outcome = outcome
      let failedBefore = outcome.failures.count
      let bases = copy.begun.form == .image ? BaseFolder(of: request.database, host: host, world) : nil
      var deltas =
        bases?.plan(for: copy.begun, anew: request.rebuildBase, dryRun: request.dryRun)
        ?? (request.rebuildBase ? .anew : .withoutBases)
      if request.dryRun { deltas.recordsCompanions = false }
      if let shortage = bases?.shortage, world.baseLimit > 0 {
        world.reporter.notice("\(request.database.name): \(shortage)")
      }
      if bases == nil, copy.begun.form == .image, request.database.keepsBases, world.baseLimit > 0 {
        world.reporter.notice(
          "\(request.database.name): another push uses its bases, or their folder cannot be written: pages that changed are sent whole"
        )
      }
      var first: PushSession.Result?
      // What becomes a base is decided, and sampled, at the first target.
      var plan = deltas
      var opened: [RepositoryID: TargetAccess] = [:]
      let turns = PushTurns(of: request.database, dryRun: request.dryRun, world)
      for target in targets where outcome.interruption == nil {
        let before = turns.began(at: target.name)
        turns.begin(at: target.name)
        do {
          // Before it is opened: what opens then was there now.
          let opening = await target.openingListed()
          let repository = try await target.open(world, keepsPlace: request.dryRun)
          if let other = opened.updateValue(target, forKey: repository.id) {
            throw OperationError.sameRepository(repository.id, at: target, as: other)
          }
          let (pushed, result) = try await sealForOne(
            target, repository, openedWith: opening, copy, capture, plan, request, host, &outcome)
          outcome.pushed.append(pushed)
          if first == nil { first = result } else { bases?.noteElsewhere(result) }
          plan = plan.behindFirst
          turns.end(at: target.name)
        } catch let error where error is DamagedCopy || error is CopyGrowth.Abandoned {
          turns.end(at: target.name)
          throw error
        } catch {
          let problem = OperationError(error, doing: "pushing '\(request.database.name)' to \(target.name)")
          guard problem.kind == .cancelled else {
            // Another push that is busy there may be the one that is stopped, and has its own note; a copy or a repair has none.
            if problem.kind == .pushInProgress {
              turns.putBack(before, at: target.name)
            } else {
              turns.end(at: target.name)
            }
            // A database that cannot be read is not the target's failure.
            _ = try await copy.finished()
            outcome.failures.append((target.name, problem))
            continue
          }
          // Whoever interrupts it at one target hears what became of the others.
          guard !outcome.pushed.isEmpty || !outcome.failures.isEmpty else { throw error }
          outcome.interruption = problem
        }
      }
      if outcome.interruption != nil {
        await conclude(&outcome, interrupting: copy, first, bases, deltas, request)
        return outcome
      }
      // When every target failed, nobody waits for a check that still runs.
      let everyFailed = outcome.failures.count - failedBefore == targets.count
      let snapshot = try await copy.finished()
      if let mixed = shortfall(of: snapshot, request.database) { outcome.shortfalls.append(mixed) }
      if let check = everyFailed ? snapshot.check : try await copy.outcome() {
        outcome.damage = conclude(
          snapshot, check, of: request.database, isPushed: !everyFailed && !request.dryRun, dryRun: request.dryRun)
      }
      if !everyFailed { for notice in try await capture.notices(with: snapshot) { world.reporter.notice(notice) } }
      if let first, outcome.damage == nil, !request.dryRun { bases?.keep(snapshot, deltas, first) }
      return outcome
    }
  }
}
