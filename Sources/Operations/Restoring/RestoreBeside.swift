import Repositories
import Sealing
import Storage

/// What comes with a version, put where a restore wants it: into places of its own beside a database that is restored to
/// where it is used, else into `FILE.companions` beside a file that was named.
///
/// First all of it is fetched and proved, under no name yet; then it is put, at once, when the restore is about to succeed.
final class RestoreBeside: Sendable {
  private struct Done {
    var published: StagedCompanions.Published?
    var placed: CompanionsPlace.Placed?
  }

  private let path: String
  private let mode: Restore.Mode
  private let layout: CompanionsPlace.Layout
  /// What stands there is not touched, whatever the version has.
  let leavesOut: Bool
  private let staged: StagedCompanions?
  private let done = Locked(Done())
  /// Of a live restore: what stands in its way, as it was gone through last.
  private let standing = Locked<StandingCompanions?>(nil)

  /// Fetches.
  /// - Throws: before anything of it is fetched, for what stands in the way and is not to be replaced.
  init(
    _ found: FoundVersion, _ reader: VersionReader, beside path: String, _ restore: Restore, _ request: Restore.Request
  ) async throws {
    self.path = path
    mode = request.mode
    layout = found.layout(of: request, at: path)
    leavesOut = found.leavesCompanions
    let places = found.companionPlaces(of: request, beside: path)
    try CompanionsPlace.demandOwn(places, beside: path)
    try CompanionsPlace.demandWay(to: places, beside: path)
    let owners = MemberOwners(of: places, database: Restore.model(of: path))
    try found.demandFreePlaces(for: request, beside: path)
    let count = Counter()
    staged = try await found.stagedCompanions(reader, beside: path, owners: owners) {
      [reporter = restore.world.reporter] bytes in
      reporter.progress(
        Progress(
          .fetching, subject: found.summary.database, bytesDone: found.summary.size + count.add(bytes), bytesTotal: nil)
      )
    }
    for remark in owners.remarks { restore.world.reporter.notice("\(path): \(remark)") }
  }

  /// The paths that what stands in its places will get.
  func aside(at time: String) -> [String] { existing.map { CompanionsPlace.aside($0, time) } }

  /// A time at which none of those is taken.
  func freeTime(_ time: String) -> String { CompanionsPlace.freeTime(time, for: existing) }

  /// The paths that what comes with the version will get.
  var places: [String] { staged.map { CompanionsPlace($0, beside: path, layout).places.map(\.path) } ?? [] }

  /// Those of them where an application looks for them.
  var put: PutPlaces { PutPlaces(layout == .apart ? [] : places, beside: path, restoredAs: path) }

  /// Those, and where SQLite would keep something beside them.
  var claimed: [String] { staged.map { CompanionsPlace($0, beside: path, layout).claimed } ?? [] }

  /// The same, with what gets them.
  func claims() throws -> [StagedCompanions.Claim] { try staged?.claims(beside: path, layout) ?? [] }

  /// What stands in its way.
  var existing: [String] { staged.map { CompanionsPlace($0, beside: path, layout).existing } ?? [] }

  /// - Throws: `.failed` where somebody has a database open that is about to be moved aside.
  func demandNobody() throws {
    guard mode != .new, let staged else { return }
    let found = CompanionsPlace(staged, beside: path, layout).standing
    if mode == .live { standing.withLock { $0 = found } }
    try DatabaseUse.demandNobody(at: found)
  }

  /// The same once more, of what was found then: applications wait for the database's lock by now, and to go through a
  /// million files would take longer than they do.
  func demandNobodyCame() throws {
    let known = standing.withLock { standing in
      standing?.renew()
      return standing
    }
    if let known { try DatabaseUse.demandNobody(at: known) }
  }

  /// Puts it where it belongs, or nothing of it.
  /// - Parameters:
  ///   - time: as in the names of what is moved aside.
  ///   - resuming: see `CompanionsPlace.put`.
  func put(_ time: String, resuming: Bool = false) throws {
    guard let staged else { return }
    try done.withLock { done in
      if mode == .new, layout == .apart {
        done.published = try staged.publish(beside: path)
      } else {
        done.placed = try CompanionsPlace(staged, beside: path, layout)
          .put(
            replacing: mode != .new, time: time, resuming: resuming, goesAlong: mode == .replace, isLive: mode == .live)
      }
    }
  }

  /// Everything as it was before it was put. In a live restore an application may have written meanwhile: nothing that
  /// stands there now is removed.
  @discardableResult
  func takeBack() -> CompanionsPlace.TakenBack {
    let done = done.withLock { $0 }
    done.published?.discard()
    guard let staged, let placed = done.placed else { return CompanionsPlace.TakenBack() }
    return CompanionsPlace(staged, beside: path, layout).takeBack(placed, keeping: mode == .live)
  }

  /// What was not put goes.
  func discard() { staged?.discard() }

  /// Tells a restore's outcome of it.
  func tell(_ outcome: inout Restore.Outcome) {
    let done = done.withLock { $0 }
    outcome.pulled.companionsFolder = done.published?.folder
    outcome.pulled.supportFolder = done.published?.supportFolder
    guard let placed = done.placed else { return }
    if layout == .apart, let staged {
      let places = StagedCompanions.places(beside: path)
      outcome.pulled.companionsFolder = staged.hasOthers ? places.folder : nil
      outcome.pulled.supportFolder = staged.supportFolder == nil ? nil : places.support
    } else {
      outcome.companions = placed.made
    }
    outcome.moved += placed.movedAside.map { Restore.Move(from: $0.from, to: $0.to) }
    let undo = [outcome.undo ?? undoOfDatabase(placed)].compactMap { $0 } + placed.undo
    outcome.undo = undo.isEmpty ? nil : undo.joined(separator: " && ")
  }

  /// Where no database stood, the restored one goes when what came with it does. A live restore without a copy of the old
  /// content cannot be taken back.
  private func undoOfDatabase(_ placed: CompanionsPlace.Placed) -> String? {
    guard mode != .live, !placed.undo.isEmpty else { return nil }
    let away = firstFreeName("\(path).undone-\(placed.time)") { name in
      ([""] + SideFiles.endings).allSatisfy { !CompanionsPlace.stands(name + $0) }
    }
    return ShellMoves.undo(path, SideFiles.endings, [], away: away)
  }
}

extension FoundVersion {
  /// Where what comes with the database would stand.
  func companionPlaces(of request: Restore.Request, beside path: String) -> [CompanionsPlace.Place] {
    let support = manifest.body.remarks.store?.supportFolder ?? ""
    let tops = StagedCompanions.tops(of: companions)
    let supportTop = tops.first { MemberPath.isSame($0, support) }
    return CompanionsPlace.places(tops, support: supportTop, beside: path, layout(of: request, at: path))
  }

  /// The same before anything is fetched: as far as what stands there tells that it is a database.
  func demandNobody(for request: Restore.Request, beside path: String) throws {
    guard request.mode != .new else { return }
    try DatabaseUse.demandNobody(at: StandingCompanions(at: companionPlaces(of: request, beside: path)))
  }

  func layout(of request: Restore.Request, at path: String) -> CompanionsPlace.Layout {
    request.putsCompanionsInPlace(of: summary.database, at: path) ? .inPlace : .apart
  }

  /// - Throws: `.usage` when something stands there that is not to be replaced. What a restore that was killed has left is
  ///   moved away when the time comes, unless it has been changed, or is in use.
  func demandFreePlaces(for request: Restore.Request, beside path: String) throws {
    let places = companionPlaces(of: request, beside: path)
    guard request.mode == .new, !places.isEmpty else { return }
    let intent = NewIntent(database: path)
    for place in places where !intent.isLeft(place.path) {
      do { try StagedCompanions.demandFree(place.path) } catch {
        try intent.demandNobody(in: place.path)
        throw intent.explained(OperationError(error), at: place.path)
      }
    }
    try intent.demandNone(of: request.configured)
    try intent.demandNobody()
  }
}
