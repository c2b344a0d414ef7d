import Glibc
import Repositories
import Sealing
import Snapshots
import Storage

extension Restore {
  /// The old database and all that belongs to it get another name, then the new one gets theirs.
  func replace(_ found: FoundVersion, at path: String, _ request: Request) async throws -> Outcome {
    // Told before gigabytes are fetched; looked at again when it counts.
    let use = DatabaseUse(of: path)
    try use.demandNobody(path)
    try SetAside.demandMovable(path)
    try ReplaceIntent(database: path).demandUsable()
    try found.demandRoomForNames(of: request, beside: path)
    try found.demandNobody(for: request, beside: path)
    if let remark = use.remark { world.reporter.notice(remark) }
    tellDatabasesMovedAside(by: found, beside: path, request)
    pull.tellDoubt(RestoreRoom(found, beside: path, pull.makeOver, state: world.stateFolder))
    let spooled = try await pull.spool(found, for: path, replacing: true)
    defer { spooled.discard() }
    let beside = try await pull.keeping(spooled) {
      try await RestoreBeside(found, spooled.reader, beside: path, self, request)
    }
    defer { beside.discard() }
    let folder = try await pull.keeping(spooled) {
      try await FolderLock.take(of: path, within: request.patience(at: path), world.reporter)
    }
    defer { folder.release() }
    try await pull.keeping(spooled) { try DatabaseUse(of: path).demandNobody(path) }
    try await pull.keeping(spooled) { try beside.demandNobody() }
    // Only now: a file that looks like the old one is not recognised as ours by a later run.
    try spooled.file.endFetching()
    let likeness = FileLikeness(of: Self.model(of: path))
    if let likeness {
      for remark in spooled.file.resemble(likeness) { world.reporter.notice("\(path): \(remark)") }
      try spooled.file.synchronize()
    }
    // From here on nothing waits for anybody.
    try Task.checkCancellation()
    let before = ReplaceIntent(database: path)
    var (aside, resuming) = try freePlace(path, before, beside)
    do {
      try beside.put(aside.time, resuming: resuming)
      do {
        try onReplace()
        try spooled.file.publish()
      } catch {
        let left = beside.takeBack().left
        guard !left.isEmpty else { throw error }
        throw OperationError(error).leaving(
          "; and what was moved aside could not all be put back: \(left.joined(separator: ", "))")
      }
      // It is done: what fails now changes nothing of that.
      // What stands beside it and is of no companion of this version is as those that did not end have left it.
      try? before.settle(beside.put, isResumed: resuming)
      try? RestoredFile.synchronizeFolder(of: path)
      var outcome = Outcome(
        pulled: pull.outcome(found, spooled, path), mode: .replace,
        moved: aside.moves.map { Move(from: $0.from, to: $0.to) }, undo: aside.undo)
      beside.tell(&outcome)
      // It is a new file, and has nobody's owner.
      if likeness == nil { pull.tellHandingOver(path, with: outcome.putBeside) }
      return outcome
    } catch {
      try takeBack(&aside, after: error)
      throw error
    }
  }

  /// A restore that was killed right before it moved anything has left second names of the old database's files. Whoever
  /// writes into those files now would write into what passes for the old content.
  func removeSecondNames(of path: String, within patience: Duration) async throws {
    guard case .notBegun = ReplaceIntent(database: path).state else { return }
    // One that is running has them for a moment.
    let folder = try await FolderLock.take(of: path, within: patience, world.reporter)
    defer { folder.release() }
    let intent = ReplaceIntent(database: path)
    guard case .notBegun(let aside) = intent.state else { return }
    SetAside.removeSecondNames(aside, of: path)
    if intent.remark == nil { try intent.remove() }
  }

  /// What a new database is made like: the one in its place, or the one that a killed restore moved away.
  static func model(of path: String) -> String {
    if case .inBetween(let aside) = ReplaceIntent(database: path).state { return aside }
    return path
  }

  /// Makes room for the new database, from whatever a restore that was killed has left.
  /// - Returns: what was moved, and where it is. Nobody has it open.
  /// - Parameter intent: what that one has noted.
  private func freePlace(
    _ path: String, _ intent: ReplaceIntent, _ beside: RestoreBeside
  ) throws -> (SetAside, resuming: Bool) {
    let time = Times.compact(world.now())
    switch intent.state {
    case .inBetween(let earlier):
      world.reporter.notice(
        "going on with an earlier restore of \(path) that did not end; the old database is \(earlier)")
      var aside = SetAside(path, continuing: earlier, leavingCompanions: beside.leavesOut)
      try settle(intent, earlier, beside, time)
      try aside.takeAlong(time)
      try demandNobody(aside, [])
      return (aside, true)
    case .notBegun(let earlier): SetAside.removeSecondNames(earlier, of: path)
    // Who began has told where the old one is.
    case .done: break
    case .unusable(let problem): throw problem
    case .settled: break
    }
    // All that is moved gets names of one time.
    let free = SetAside.freeTime(time, of: path, with: beside.existing)
    return (try moveAside(path, free, intent, beside), false)
  }

  /// Goes on with what the restore that was killed had planned. It may have been of another version: what it moved
  /// aside for a companion that this one does not have is put back; what it put where nothing stood is moved away.
  private func settle(_ intent: ReplaceIntent, _ earlier: String, _ beside: RestoreBeside, _ time: String) throws {
    let home = PathSteps.folder(of: intent.database)
    for path in intent.added {
      guard let away = try HeldPlace(path, below: home)?.moveAway(time) else { continue }
      world.reporter.notice("moved away what the earlier restore had put where nothing was: \(path) is \(away)")
    }
    // What SQLite kept beside a database that is replaced goes with it, whatever the version has there.
    let places = Set(beside.places.flatMap { path in ([""] + SideFiles.endings).map { MemberPath.key(path + $0) } })
    var others: [(from: String, to: String)] = []
    for (from, to) in intent.companions where !places.contains(MemberPath.key(from)) && CompanionsPlace.stands(to) {
      try HeldPlace(from, below: home)?.moveAway(time)
      others.append((from, to))
    }
    // A database is there again when what belongs to it is.
    for (from, to) in others.reversed() {
      guard let old = HeldPlace(to, below: home), old.move(to: old.named(from)) else {
        throw OperationError.fileSystem("cannot put \(to) back to \(from)", errno)
      }
      world.reporter.notice("put back what the earlier restore had moved aside: \(from)")
    }
    let moved = intent.companions.filter { from, to in
      places.contains(MemberPath.key(from)) && (CompanionsPlace.stands(from) || CompanionsPlace.stands(to))
    }
    let known = Set(moved.map { MemberPath.key($0.from) })
    let rest = beside.claimed.filter { !known.contains(MemberPath.key($0)) }
    try intent.noteNext(
      earlier, companions: moved.map(\.from) + rest.filter(CompanionsPlace.stands),
      free: rest.filter { !CompanionsPlace.stands($0) })
  }

  private func moveAside(
    _ path: String, _ time: String, _ intent: ReplaceIntent, _ beside: RestoreBeside
  ) throws -> SetAside {
    var aside = SetAside(path, time: time, leavingCompanions: beside.leavesOut)
    let claimed = beside.claimed
    let (standing, free) = (claimed.filter(CompanionsPlace.stands), claimed.filter { !CompanionsPlace.stands($0) })
    guard !aside.plan.isEmpty else {
      // Files go aside all the same, and new ones come.
      try intent.noteNext(aside.aside, companions: standing, free: free)
      return aside
    }
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    defer { if descriptor >= 0 { close(descriptor) } }
    // Whoever comes now waits for a lock, and finds no database.
    guard descriptor < 0 || FileLocks.seize(descriptor) else {
      try DatabaseUse(of: path).demandNobody(path)
      throw SetAside.disturbed(path)
    }
    // A journal that is moved aside is cut off from what decides whether its transaction is committed.
    try SuperJournal.makeIndependent(journalOf: path)
    let own: Set<Int32> = descriptor >= 0 ? [descriptor] : []
    try intent.noteNext(aside.aside, companions: standing, free: free)
    do {
      try aside.move()
      // Nobody can open it by its name any more: who has it open now had it open before.
      try demandNobody(aside, own)
    } catch {
      try takeBack(&aside, after: error)
      throw error
    }
    return aside
  }

  private func demandNobody(_ aside: SetAside, _ own: Set<Int32>) throws {
    let use = DatabaseUse(of: aside.aside, ignoring: own)
    guard use.isOpen else { return }
    throw OperationError(
      .failed, code: "databaseInUse", "\(aside.database) was opened meanwhile: \(use.lines.joined(separator: "; "))",
      hint: "End what has it open and restore again, or use --live.")
  }

  /// Everything as it was. Where that cannot be, the error says where the old database is.
  private func takeBack(_ aside: inout SetAside, after error: any Error) throws {
    do {
      try aside.putBack()
      // What could not be put back with it, or is left of an earlier one, is told as long as it stands.
      let intent = ReplaceIntent(database: aside.database)
      if intent.remark == nil { try intent.remove() }
    } catch let second {
      let told = OperationError(error).leaving("; and \(OperationError(second).message)")
      guard let undo = aside.undo else { throw told }
      // Something has its name: that goes aside first.
      throw told.leaving(
        ": the old database is \(aside.aside)",
        hint: "End what uses \(aside.database), then put the old one back with: \(undo)")
    }
  }
}
