import Repositories
import Sealing
import Snapshots
import Storage

extension Push {
  /// Seals the copy for one target, and remembers it as what is the newest there.
  func sealForOne(
    _ target: TargetAccess, _ repository: Repository, openedWith opening: String?, _ copy: PushCopy,
    _ capture: CompanionCapture, _ deltas: DeltaPlan, _ request: Request, _ host: String, _ outcome: inout Outcome
  ) async throws -> (Pushed, PushSession.Result) {
    capture.events.beginTarget()
    let snapshot = copy.begun
    let database = request.database
    let chain = repository.keys.keyring.chainID(host: host, database: database.name, fork: database.fork)
    let state = try StateFolder(world.stateFolder, repository: repository.id)
    var policy = PushSession.Policy(now: world.now)
    policy.packLength = packLength
    policy.settles = !request.dryRun
    // Who has seen versions there keeps to that repository; two that were made at once may both have been empty until now.
    if state.markedChains().isEmpty {
      policy.confirm = { [world] in try await target.demandOnlyOne(repository, world) }
    }
    var session = try await PushSession(repository, chain: chain, state: state, policy: policy)
    for problem in session.problems { world.reporter.notice("\(target.name): \(problem.message)") }
    // What is remembered is not the newest version any more, whatever comes of this: files may come to be as they were.
    let memory = SourceMemory.path(world, database, host: host, store: target.store.traits.identity)
    if !request.dryRun { StateFiles.remove(memory) }
    let image = try SnapshotImage(snapshot, growth: copy.growth)
    let place = session.next
    var draft = VersionDraft(
      chain: chain, sequence: place.sequence, previous: place.previous, time: UInt64(max(0, snapshot.takenAt)),
      host: host,
      database: database.name, method: database.coreMethod(snapshot), flags: database.coreFlags(snapshot),
      members: [image.member(of: database, snapshot)], tags: unique(database.tags + request.tags), note: request.note,
      compressionLevel: database.compressionLevel)
    draft.deltas = deltas
    draft.lateFlags = { [reporter = world.reporter] in
      reporter.progress(Progress(.checking, subject: database.name, bytesDone: 0, bytesTotal: nil))
      return try await copy.demandSealable().flags
    }
    draft.lateRows = { try await copy.rows().map { Remarks.TableRows(table: $0.table, rows: $0.rows) } }
    draft.companions = { try await capture.members(with: copy.finished()).sources }
    draft.lateStore = { try await capture.members(with: copy.finished()).store }
    let newest = session.newest
    let isFromElsewhere = session.newestIsFromElsewhere
    draft.lateCapture = { capture.remarks(after: newest) }
    if !request.dryRun { draft.admit = { try demandNotOvertaken(snapshot, by: newest) } }
    let result = try await session.push(draft, skipEqual: !request.keepsEqual, dryRun: request.dryRun) { done in
      // Companions come behind the database: how much they are is not known.
      let total = done <= image.expectedLength ? image.expectedLength : nil
      world.reporter.progress(Progress(.sealing, subject: database.name, bytesDone: done, bytesTotal: total))
    }
    // Nothing can have been said of one that was not there before; what was said of another is not read for this.
    let words: Annotations? = result.unchanged ? nil : Annotations.none
    guard let version = VersionSummary(result.manifest.facts, target: target.name, words: words) else {
      throw RepositoryError(.damaged, "the manifest just written is no version")
    }
    tellCutVersion(session, result, request, at: target)
    tellContest(session, at: target, &outcome)
    if !result.unchanged, !request.dryRun { tellClockWentBack(to: version.time, from: newest, at: target.name) }
    let captured = try await capture.members(with: copy.finished())
    let shortfalls = capture.shortfalls(of: captured.store, after: newest, at: target.name)
    outcome.shortfalls += shortfalls
    let isSettled = shortfalls.isEmpty && (captured.digest == nil || captured.isSettled)
    // One that cannot be checked here cannot be tomorrow either, unless SQLite is another then.
    if !request.dryRun, try await !copy.outcome().isDamaged, isSettled {
      remember(
        version, result, .init(database), snapshot, captured.digest, repository, openedWith: opening, at: memory)
    }
    var pushed = Pushed(version: version, unchanged: result.unchanged, dryRun: request.dryRun)
    pushed.beside = Beside(captured, capture.events.all)
    if isFromElsewhere { pushed.pushedElsewhere = newest?.name.sequence }
    return (pushed, result)
  }

  /// A push that was stopped had stored the newest version, and nobody was told of it.
  private func tellCutVersion(
    _ session: borrowing PushSession, _ result: PushSession.Result, _ request: Request, at target: TargetAccess
  ) {
    if session.newestWasCut, !request.dryRun, let newest = session.newest {
      let (id, isWhole) = (newest.id.hex.prefix(8), session.newestIsWhole)
      world.reporter.notice(
        "\(target.name): version \(id), which an earlier push had stored when it was stopped, "
          + (result.unchanged || isWhole
            ? "counts from now on" : "is not whole any more: `sealift forget \(id)` before the next prune"))
    }
  }

  /// The version is safe. Until the two machines have parted, none of this chain is found but by its id.
  private func tellContest(_ session: borrowing PushSession, at target: TargetAccess, _ outcome: inout Outcome) {
    guard let contest = session.contest else { return }
    outcome.shortfalls.append(
      OperationError(
        .partlyDone, code: "forked", "\(target.name): \(contest.message)", hint: contest.hint, cause: contest))
  }

  private func unique(_ tags: [String]) -> [String] {
    var seen: Set<String> = []
    return tags.filter { seen.insert($0).inserted }
  }
}
