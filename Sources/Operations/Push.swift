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
    /// Ask an unchanged database's target once in so many milliseconds whether the newest version is still there.
    package var verifyRemoteEvery: UInt64 = 24 * 3600 * 1000

    package init(database: DatabaseSource, targets: [TargetAccess]) {
      self.database = database
      self.targets = targets
    }
  }

  package struct Pushed: Sendable {
    package var version: VersionSummary
    /// Nothing was stored: the newest version there already is this content.
    package var unchanged: Bool
    package var dryRun: Bool
  }

  /// What became of each target: some may have failed while the others are safe.
  package struct Outcome: Sendable {
    package var pushed: [Pushed] = []
    package var failures: [(target: String, error: OperationError)] = []
    /// Set when the database failed its own check: it was pushed all the same, flagged; exit status 13.
    package var damage: OperationError?
  }

  package var world: World
  package init(_ world: World) { self.world = world }

  /// - Throws: what stops all targets alike: `.sourceUnreadable`, `.cancelled`. What stops one target only is in the outcome.
  package func run(_ request: Request) async throws -> Outcome {
    do {
      return try await push(request)
    } catch {
      throw OperationError(error, doing: "pushing '\(request.database.name)'")
    }
  }

  private func push(_ request: Request) async throws -> Outcome {
    let host = try HostName.current(world)
    try request.demandFittingTexts(host: host)
    let signature = try SourceSignature.read(request.database.path)
    var outcome = Outcome()
    let waiting = await withoutUnchanged(request, host, signature, &outcome)
    guard !waiting.isEmpty else { return outcome }

    try StateFiles.makeFolder(world.stateFolder)
    Spool.sweep(in: world.stateFolder)
    let spool = try Spool.open(in: world.stateFolder)
    defer { spool.remove() }
    let snapshot = try await takeSnapshot(of: request.database, in: spool)
    outcome.damage = damage(of: request.database, snapshot)
    for target in waiting {
      do {
        outcome.pushed.append(try await seal(snapshot, for: target, request, host))
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        let problem = OperationError(error, doing: "pushing '\(request.database.name)' to \(target.name)")
        if problem.kind == .cancelled { throw problem }
        outcome.failures.append((target.name, problem))
      }
    }
    return outcome
  }

  /// The targets that need a snapshot; the others have this content already, and say so in the outcome.
  private func withoutUnchanged(
    _ request: Request, _ host: String, _ signature: SourceSignature, _ outcome: inout Outcome
  ) async -> [TargetAccess] {
    guard !request.force, request.tags.isEmpty, request.note.isEmpty, !request.dryRun else { return request.targets }
    var waiting: [TargetAccess] = []
    for target in request.targets {
      if let version = await unchanged(request, host, signature, at: target) {
        outcome.pushed.append(Pushed(version: version, unchanged: true, dryRun: false))
      } else {
        waiting.append(target)
      }
    }
    return waiting
  }

  /// By `stat` alone; once in a while one listing proves that the version is still there.
  private func unchanged(
    _ request: Request, _ host: String, _ signature: SourceSignature, at target: TargetAccess
  ) async -> VersionSummary? {
    let path = SourceMemory.path(world, request.database, host: host, location: target.store.traits.location)
    guard var memory = SourceMemory.read(path), memory.signature == signature else { return nil }
    let now = world.now()
    if now >= memory.seenAt, now - memory.seenAt < request.verifyRemoteEvery { return memory.version }
    guard let listed = try? await target.store.list(prefix: memory.object),
      listed.contains(where: { $0.name.text == memory.object && VersionName($0.name)?.length == $0.size })
    else { return nil }
    memory.seenAt = now
    memory.write(path)
    return memory.version
  }

  private func takeSnapshot(of database: DatabaseSource, in spool: Spool) async throws -> Snapshot {
    var request = SnapshotRequest(source: database.path, spoolFolder: spool.path)
    request.method = database.method == .vacuum && !StickyMethod.usesPages(database, world) ? .vacuum : .pages
    request.busyTimeout = .milliseconds(database.busyTimeoutMilliseconds)
    request.allowRecovery = database.allowRecovery
    request.keepFreePages = database.keepFreePages
    request.maxWalGrowth = database.maxWalGrowth
    let snapshot = try await Snapshots.takeSnapshot(request) { [reporter = world.reporter] progress in
      reporter.progress(Progress(progress, subject: database.name))
    }
    if let reason = snapshot.fallback, !snapshot.check.isDamaged { StickyMethod.note(database, world, reason: reason) }
    tell(database, snapshot)
    return snapshot
  }

  /// Remarks that a person should see even when all goes well.
  private func tell(_ database: DatabaseSource, _ snapshot: Snapshot) {
    if let reason = snapshot.fallback {
      world.reporter.notice("'\(database.name)' was copied page by page instead of vacuumed: \(reason)")
    }
    for file in snapshot.sideFilesAppeared {
      world.reporter.notice(SideFile(file, of: database.path).remark)
    }
    if let stall = snapshot.longestWriterStall, stall > .milliseconds(500) {
      world.reporter.notice(
        "writers of '\(database.name)' may have waited up to \(Times.tenths(stall)) s while the copy was taken")
    }
    if snapshot.walGrowth > 64 << 20 {
      world.reporter.notice(
        "the -wal of '\(database.name)' grew by \(snapshot.walGrowth >> 20) MiB while the copy was taken")
    }
    if case .notCheckable(let why) = snapshot.check {
      world.reporter.notice("'\(database.name)' could not be checked: \(why)")
    }
  }

  private func damage(of database: DatabaseSource, _ snapshot: Snapshot) -> OperationError? {
    guard case .damaged(let findings) = snapshot.check else { return nil }
    return OperationError(
      .verificationFailed, code: "sourceDamaged",
      "'\(database.name)' is damaged: \(findings.first ?? "its own check failed")",
      hint: "It was pushed as it is and flagged. Restore an earlier version, or repair it with sqlite3's .recover.")
  }

  private func seal(
    _ snapshot: Snapshot, for target: TargetAccess, _ request: Request, _ host: String
  ) async throws -> Pushed {
    let database = request.database
    let repository = try await target.open()
    let chain = repository.keys.keyring.chainID(host: host, database: database.name, fork: database.fork)
    let state = try StateFolder(world.stateFolder, repository: repository.id)
    var session = try await PushSession(repository, chain: chain, state: state, policy: .init(now: world.now))
    for problem in session.problems { world.reporter.notice("\(target.name): \(problem.message)") }
    let image = try SnapshotImage(snapshot)
    let place = session.next
    let draft = VersionDraft(
      chain: chain, sequence: place.sequence, previous: place.previous, time: UInt64(max(0, snapshot.takenAt)),
      host: host,
      database: database.name, method: snapshot.method == .vacuum ? .vacuum : .pages,
      flags: flags(of: snapshot, database),
      members: [image.member(of: database, snapshot)], tags: unique(database.tags + request.tags), note: request.note,
      compressionLevel: database.compressionLevel)
    let keepsEqual = request.force || !request.tags.isEmpty || !request.note.isEmpty
    let result = try await session.push(draft, skipEqual: !keepsEqual, dryRun: request.dryRun) { done in
      world.reporter.progress(Progress(.sealing, subject: database.name, bytesDone: done, bytesTotal: image.length))
    }
    guard let version = VersionSummary(result.manifest, target: target.name) else {
      throw RepositoryError(.damaged, "the manifest just written is no version")
    }
    if !request.dryRun {
      remember(version, result.manifest, snapshot, target, request, host, repository)
    }
    return Pushed(version: version, unchanged: result.unchanged, dryRun: request.dryRun)
  }

  private func flags(of snapshot: Snapshot, _ database: DatabaseSource) -> Core.Flags {
    var flags: Core.Flags = []
    switch snapshot.check {
    case .ok: break
    case .notCheckable: flags.insert(.notCheckable)
    case .damaged: flags.insert(.damaged)
    }
    if database.keepFreePages, snapshot.method == .pages { flags.insert(.freePagesKept) }
    return flags
  }

  /// Only a settled signature proves anything: a write within the clock's grain would not show.
  private func remember(
    _ version: VersionSummary, _ manifest: StoredManifest, _ snapshot: Snapshot, _ target: TargetAccess,
    _ request: Request, _ host: String, _ repository: Repository
  ) {
    guard case .ok = snapshot.check, snapshot.source.isSettled else { return }
    let memory = SourceMemory(
      signature: snapshot.source, repository: repository.id.hex, chain: manifest.name.chain.hex,
      object: manifest.name.objectName.text, version: version, seenAt: world.now())
    memory.write(
      SourceMemory.path(world, request.database, host: host, location: target.store.traits.location))
  }

  private func unique(_ tags: [String]) -> [String] {
    var seen: Set<String> = []
    return tags.filter { seen.insert($0).inserted }
  }
}
