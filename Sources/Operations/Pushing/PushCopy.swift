import Glibc
import Repositories
import Sealing
package import Snapshots

/// The copy that a push seals, perhaps while it is still being written; its check runs beside the sealing, as soon as it
/// is finished: both only read it.
///
/// What the check says belongs to a version's core. So no manifest is written, and nothing acknowledged, before
/// `outcome` has returned.
final class PushCopy: Sendable {
  /// The copy as far as it is known: of one that is still being written the number of pages is expected.
  let begun: Snapshot
  /// Nil when it was finished from the start.
  let growth: CopyGrowth?
  private let taking: Task<Snapshot, any Error>
  private let check: Task<CheckOutcome, any Error>
  private let counting: Task<[TableRows], any Error>

  /// - Parameters:
  ///   - look: checks the image at a path; called when the snapshot was not checked already.
  ///   - count: counts its rows.
  convenience init(_ snapshot: Snapshot, _ look: @escaping Push.Check, _ count: @escaping Push.Count) {
    self.init(snapshot, growth: nil, Task { snapshot }, look, count)
  }

  /// A copy that `taking` goes on with.
  init(
    _ begun: Snapshot, growth: CopyGrowth?, _ taking: Task<Snapshot, any Error>, _ look: @escaping Push.Check,
    _ count: @escaping Push.Count
  ) {
    self.begun = begun
    self.growth = growth
    self.taking = taking
    counting = Task {
      let snapshot = try await Self.complete(growth, taking)
      try Task.checkCancellation()
      return snapshot.form == .image ? try await count(snapshot.path) : []
    }
    check = Task {
      let snapshot = try await Self.complete(growth, taking)
      if let known = snapshot.check { return known }
      try Task.checkCancellation()
      let outcome = try await look(snapshot.path)
      // What was found in the source meanwhile says more.
      let known = try await taking.value.check
      return known ?? outcome
    }
  }

  /// The copy as soon as nobody writes to it any more, though its source may still be being checked.
  private static func complete(_ growth: CopyGrowth?, _ taking: Task<Snapshot, any Error>) async throws -> Snapshot {
    if let copy = try await growth?.complete() { return copy }
    return try await taking.value
  }

  /// The finished copy.
  /// - Throws: what it failed with; `CopyGrowth.Abandoned`, where another one had to be taken in the end.
  func finished() async throws -> Snapshot {
    let snapshot = try await taking.value
    try growth?.demandKept()
    return snapshot
  }

  /// What the check found. Whoever is cancelled while waiting for it cancels it.
  func outcome() async throws -> CheckOutcome {
    try await withTaskCancellationHandler {
      try await check.value
    } onCancel: {
      check.cancel()
    }
  }

  /// The rows of the tables, as far as they could be counted: not to know them is no reason to fail. A damaged copy's
  /// are not asked for.
  func rows() async throws -> [TableRows] {
    guard try await !outcome().isDamaged else { return [] }
    let result = await withTaskCancellationHandler {
      await counting.result
    } onCancel: {
      counting.cancel()
    }
    try Task.checkCancellation()
    return (try? result.get()) ?? []
  }

  /// What the check found, unless it is damage that was not known when the copy was handed over.
  /// - Throws: `DamagedCopy`.
  func demandSealable() async throws -> CheckOutcome {
    let outcome = try await outcome()
    let snapshot = try await finished()
    if case .damaged(let findings) = outcome, snapshot.check == nil {
      throw DamagedCopy(snapshot: snapshot, findings: findings)
    }
    return outcome
  }

  /// Stops check and counting when `work` has ended, however it ended; nothing reads the copy any more when this returns.
  func whileChecking<Value>(_ work: () async throws -> Value) async throws -> Value {
    let result: Result<Value, any Error>
    do {
      result = .success(try await work())
    } catch {
      result = .failure(error)
    }
    check.cancel()
    counting.cancel()
    _ = await check.result
    _ = await counting.result
    return try result.get()
  }
}

/// The check of a copy that was being sealed found damage: another copy has to be taken.
struct DamagedCopy: Error {
  let snapshot: Snapshot
  /// In SQLite's words.
  let findings: [String]
  var reason: String { CheckOutcome.brief(findings) ?? "which gave no reason" }
}

extension CheckOutcome {
  var flags: Core.Flags {
    switch self {
    case .ok: []
    case .notCheckable: .notCheckable
    case .damaged: .damaged
    }
  }
}

extension Push {
  /// Looks at an image that nobody writes to, as `checkImage` does.
  package typealias Check = @Sendable (_ path: String) async throws -> CheckOutcome

  /// Counts the rows of an image that nobody writes to, as `countRows` does.
  package typealias Count = @Sendable (_ path: String) async throws -> [TableRows]

  /// Takes a copy, as `takeSnapshot` does.
  package typealias Take =
    @Sendable (_ request: SnapshotRequest, _ progress: @escaping @Sendable (SnapshotProgress) throws -> Void)
    async throws -> Snapshot

  /// Begins a copy and lets `body` work with it. However that ends, the copying has ended too when this returns.
  /// - Parameter checkingSource: whether the live database itself is checked, too, where it is vacuumed.
  func whileTakingCopy<Value>(
    of database: DatabaseSource, in spool: Spool, checkingSource: Bool,
    _ body: (_ growth: CopyGrowth, _ taking: Task<Snapshot, any Error>) async throws -> Value
  ) async throws -> Value {
    var request = database.snapshotRequest(in: spool, world)
    request.check = false
    request.checksSource = checkingSource
    let growth = CopyGrowth(overlap)
    let taking = Task { [request] in
      let result: Result<Snapshot, any Error>
      do {
        let snapshot = try await take(request, database, growth)
        tell(database, snapshot)
        if let check = snapshot.sourceCheck { SourceChecks.note(check, of: database, world) }
        result = .success(snapshot)
      } catch {
        result = .failure(error)
      }
      growth.ended(result)
      return try result.get()
    }
    return try await withTaskCancellationHandler {
      let result: Result<Value, any Error>
      do {
        result = .success(try await body(growth, taking))
      } catch {
        result = .failure(error)
      }
      taking.cancel()
      _ = await taking.result
      return try result.get()
    } onCancel: {
      taking.cancel()
    }
  }

  /// The copy that takes the place of one whose check found damage: page by page, as an exact image is worth most
  /// then, and checked before anything in it becomes zeros.
  ///
  /// When it cannot be had, the damaged one is pushed after all: no backup would be worse.
  func retakeCopy(
    _ damage: DamagedCopy, of database: DatabaseSource, in spool: Spool
  ) async throws -> PushCopy {
    let spoiled = damage.snapshot
    var request = database.snapshotRequest(in: spool, world)
    request.method = .pages
    do {
      var snapshot = try await take(request, database)
      unlink(spoiled.path)
      if spoiled.method == .vacuum { snapshot.fallback = "the repacked copy fails its check, \(damage.reason)" }
      tell(database, snapshot)
      if snapshot.check?.isDamaged == false {
        world.reporter.notice(
          "a first copy of '\(database.name)' failed its check, a second one did not: \(damage.reason)")
      }
      return PushCopy(snapshot, check, count)
    } catch let error as SnapshotError where error.code != .cancelled {
      world.reporter.notice(
        "'\(database.name)' is damaged, and its exact pages cannot be copied: \(error.message)")
      var snapshot = spoiled
      snapshot.check = .damaged(damage.findings)
      return PushCopy(snapshot, check, count)
    }
  }

  private func take(
    _ request: SnapshotRequest, _ database: DatabaseSource, _ growth: CopyGrowth? = nil
  ) async throws -> Snapshot {
    try await demandNotOpenHere(database)
    if try takesFile(database) { return try await takeFile(database, in: request.spoolFolder) }
    warnOfLocks(database)
    return try await take(request) { [reporter = world.reporter] progress in
      growth?.progressed(progress)
      // One line for a person: what is sealed is what counts.
      if growth?.isUsed != true { reporter.progress(Progress(progress, subject: database.name)) }
    }
  }

  /// Remarks on a copy that a person should see even when all goes well.
  private func tell(_ database: DatabaseSource, _ snapshot: Snapshot) {
    if let reason = snapshot.fallback {
      world.reporter.notice("'\(database.name)' was copied page by page instead of vacuumed: \(reason)")
    }
    // Those that are in somebody's way are told as what they are, see `run`.
    for file in snapshot.sideFilesAppeared where !AppearedSideFile(file, of: database.path).isInTheWay {
      world.reporter.notice("SQLite made \(file) while reading; it is harmless and belongs to the database")
    }
    if let stall = snapshot.longestWriterStall, stall > .milliseconds(500) {
      world.reporter.notice(
        "writers of '\(database.name)' may have waited up to \(Times.tenths(stall)) s while the copy was taken")
    }
    if snapshot.walGrowth > 64 << 20 {
      world.reporter.notice(
        "the -wal of '\(database.name)' grew by \(snapshot.walGrowth >> 20) MiB while the copy was taken")
    }
  }

  /// Of a push that was interrupted: what was found out of the copy before the first target had it, and its images for the
  /// next push, which would else send all of it to that target again.
  func conclude(
    _ outcome: inout Outcome, interrupting copy: PushCopy, _ first: PushSession.Result?, _ bases: BaseFolder?,
    _ deltas: DeltaPlan, _ request: Request
  ) async {
    guard let first, let snapshot = try? await copy.finished() else { return }
    if let mixed = shortfall(of: snapshot, request.database) { outcome.shortfalls.append(mixed) }
    guard let check = try? await copy.outcome() else { return }
    outcome.damage = conclude(snapshot, check, of: request.database, isPushed: !request.dryRun, dryRun: request.dryRun)
    if outcome.damage == nil, !request.dryRun { bases?.keep(snapshot, deltas, first) }
  }

  /// Takes note of what the check of a pushed copy found, and tells a person.
  /// - Parameter dryRun: nothing is noted.
  /// - Returns: the error that goes with the outcome when the database is damaged.
  func conclude(
    _ snapshot: Snapshot, _ check: CheckOutcome, of database: DatabaseSource, isPushed: Bool, dryRun: Bool
  ) -> OperationError? {
    // A copy that was handed over with its outcome met damage on the way: that is no reason to give up vacuuming.
    if let reason = snapshot.fallback, snapshot.check == nil, !snapshot.fallbackIsPassing, !dryRun {
      StickyMethod.note(database, world, reason: reason, snapshot.schemaMark)
    } else if snapshot.method == .vacuum, !dryRun {
      StickyMethod.forget(database, world)
    }
    switch check {
    case .ok: return nil
    case .notCheckable(let why):
      world.reporter.notice("'\(database.name)' could not be checked: \(why)")
      return nil
    case .damaged(let findings):
      return OperationError(
        .verificationFailed, code: "sourceDamaged",
        "'\(database.name)' is damaged: \(CheckOutcome.brief(findings) ?? "its own check failed")",
        hint:
          "It was \(isPushed ? "pushed as it is and flagged" : "not pushed"). Restore an earlier version, or repair it with sqlite3's .recover."
      )
    }
  }
}
