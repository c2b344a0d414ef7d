import Glibc
import Snapshots
import Storage

/// A database and its side files under another name, so that their place is free and nothing of them is lost.
///
/// Every file gets its other name before the first one loses its own: whatever is killed in between, a whole database is at
/// one of the two. The database goes first and comes back last, because SQLite applies a -wal or -journal to whatever
/// database it stands beside, and would lose what is in it where the database goes on without.
struct SetAside {
  /// What was done to one file.
  struct Move: Sendable, Hashable {
    let from: String
    let to: String
  }

  let database: String
  let aside: String
  private(set) var moves: [Move] = []
  /// All that is the old database's, also what was not moved yet or has come back.
  private var own: [Move] = []
  /// The companions of the database in its place are those of the next one too.
  private let leavesCompanions: Bool

  /// - Parameters:
  ///   - database: its real path.
  ///   - time: as in file names.
  ///   - leavingCompanions: what stands beside it, and is no side file, stays.
  init(_ database: String, time: String, leavingCompanions: Bool = false) {
    self.database = database
    aside = Self.freeName(database, time)
    leavesCompanions = leavingCompanions
  }

  /// - Parameter earlier: the name that a restore which was killed gave to it.
  init(_ database: String, continuing earlier: String, leavingCompanions: Bool = false) {
    self.database = database
    aside = earlier
    leavesCompanions = leavingCompanions
  }

  /// `NAME.before-20261120T120000Z`; with a number behind it when there is such a file.
  static func freeName(_ database: String, _ time: String) -> String {
    firstFreeName("\(database).before-\(time)", where: isFree)
  }

  /// A time at which no name is taken that the database, or what goes aside with it, would get.
  /// - Parameter others: what is in the way of companions.
  static func freeTime(_ time: String, of database: String, with others: [String]) -> String {
    firstFreeName(time) { time in
      isFree("\(database).before-\(time)")
        && !others.contains { CompanionsPlace.stands(CompanionsPlace.aside($0, time)) }
    }
  }

  private static func isFree(_ name: String) -> Bool {
    ([""] + endings).allSatisfy { FileIdentity(at: name + $0) == nil }
  }

  /// What goes along with a database: the companions of a version that was restored there before. By what stands behind
  /// the database's name; whatever else is to go along is named here.
  static let goesAlong = [".companions"]

  private static let endings = SideFiles.endings + goesAlong
  private var ownEndings: [String] { leavesCompanions ? SideFiles.endings : Self.endings }

  /// - Throws: `.failed` where the database's own file is a mount point, as one file given to a container is: it cannot
  ///   get another name. Nor can a side file. So where something stands there, and the name leaves no room for another one.
  static func demandMovable(_ database: String) throws {
    if let point = ([""] + SideFiles.endings).map({ database + $0 }).first(where: FileSystemKind.isMountPoint) {
      throw OperationError(
        .failed, code: "mountPoint", "\(point) is a mount point: it cannot be moved aside",
        hint:
          "Mount its folder instead, or restore where that is. --live restores into it in rollback mode, or while its "
          + "application has it open by this very name.")
    }
    guard !isFree(database) else { return }
    // Whatever comes to stand beside it until it is moved, or until the restore is taken back, goes along.
    try RoomForNames.demand(
      database, ending: endings.map(\.utf8.count).max() ?? 0,
      hint: "Restore to a file with a shorter name with --to FILE, or give the database a shorter name first.")
  }

  /// What would be moved.
  var plan: [Move] { moves { FileIdentity(at: $0.from) != nil } }

  private func moves(where isMeant: (Move) -> Bool) -> [Move] {
    ([""] + ownEndings).map { Move(from: database + $0, to: aside + $0) }.filter(isMeant)
  }

  /// As it stands in the names of what was moved aside.
  var time: String { String(aside.dropFirst("\(database).before-".count)) }

  // MARK: There and back

  /// Moves everything that is there, durably.
  /// - Throws: what failed; everything is in its place again then.
  mutating func move() throws {
    let planned = plan
    own = planned
    do {
      let linked = try planned.filter { try link($0) }
      try RestoredFile.synchronizeFolder(of: database)
      for move in planned {
        if linked.contains(move) {
          guard FileIdentity(at: move.from) == FileIdentity(at: move.to) else { throw Self.disturbed(move.from) }
          guard unlink(move.from) == 0 else { throw Self.failure("cannot move \(move.from)", errno) }
        } else {
          try Self.rename(move)
        }
        moves.append(move)
      }
      try RestoredFile.synchronizeFolder(of: database)
    } catch {
      try putBack()
      for move in planned { Self.removeSecondName(move) }
      throw error
    }
  }

  /// Everything under its old name again.
  /// - Throws: when one of those names is taken; nothing has come back then. A -wal beside a database that it does not
  ///   belong to would be the end of both.
  mutating func putBack() throws {
    if let taken = moves.first(where: { FileIdentity(at: $0.from) != nil }) { throw Self.disturbed(taken.from) }
    while let move = moves.last {
      try Self.rename(Move(from: move.to, to: move.from))
      moves.removeLast()
    }
    try RestoredFile.synchronizeFolder(of: database)
  }

  /// Finishes what a restore that was killed began: the database has its other name, its side files get theirs.
  /// - Parameter now: as in file names.
  mutating func takeAlong(_ now: String) throws {
    for move in plan where move.from != database {
      if FileIdentity(at: move.from) == FileIdentity(at: move.to) {
        guard unlink(move.from) == 0 else { throw Self.failure("cannot move \(move.from)", errno) }
      } else if Self.goesAlong.contains(where: { move.from == database + $0 }), FileIdentity(at: move.to) != nil {
        // The old one is away already: this is what that restore had put in its place.
        try Self.rename(Move(from: move.from, to: "\(move.from).undone-\(now)"))
      } else {
        try Self.rename(move)
      }
    }
    if leavesCompanions { try bringCompanionsBack(now) }
    moves = moves { FileIdentity(at: $0.to) != nil }
    own = moves
    try RestoredFile.synchronizeFolder(of: database)
  }

  /// The restore that was killed had moved them along. What it put in their place goes, under another name.
  private func bringCompanionsBack(_ now: String) throws {
    for ending in Self.goesAlong where FileIdentity(at: aside + ending) != nil {
      try HeldPlace(database + ending, below: PathSteps.folder(of: database))?.moveAway(now)
      try Self.rename(Move(from: aside + ending, to: database + ending))
    }
  }

  /// Takes the second names away that a restore which was killed gave before it moved anything.
  static func removeSecondNames(_ aside: String, of database: String) {
    for ending in [""] + SideFiles.endings {
      removeSecondName(Move(from: database + ending, to: aside + ending))
    }
  }

  private static func removeSecondName(_ move: Move) {
    guard let first = FileIdentity(at: move.from), first == FileIdentity(at: move.to) else { return }
    unlink(move.to)
  }

  /// Gives the file its second name.
  /// - Returns: false where the file system knows no second names, or does not show that both are one file (sshfs), and
  ///   for folders.
  private func link(_ move: Move) throws -> Bool {
    let file = FileIdentity(at: move.from)
    if Glibc.link(move.from, move.to) == 0 {
      if FileIdentity(at: move.to) == file { return true }
      guard FileIdentity(at: move.from) == file, unlink(move.to) == 0 else { throw Self.disturbed(move.from) }
      return false
    }
    switch errno {
    case EPERM, EACCES, EOPNOTSUPP, ENOSYS, EMLINK, EINVAL: return false
    case let number: throw Self.failure("cannot name \(move.to)", number)
    }
  }

  private static func rename(_ move: Move) throws {
    guard FileIdentity(at: move.to) == nil else { throw disturbed(move.to) }
    guard Glibc.rename(move.from, move.to) == 0 else {
      throw failure("cannot move \(move.from) to \(move.to)", errno)
    }
  }

  private static func failure(_ message: String, _ number: Int32) -> OperationError {
    .fileSystem(message, number, hint: "Run as a user who may change the folder of the database.")
  }

  static func disturbed(_ path: String) -> OperationError {
    OperationError(
      .failed, code: "databaseInUse", "somebody changed \(path) meanwhile",
      hint: "End what uses the database, and restore again.")
  }

  // MARK: The way back

  /// Takes the restored database away and puts the old one back: a line for a shell. Cut anywhere and run again, it goes
  /// on; run twice, it does nothing more. `nil` where nothing waits to come back.
  var undo: String? {
    let old = waiting
    guard !moves.isEmpty, !old.isEmpty else { return nil }
    // What is the old one's and is in its place stays there.
    let endings = ownEndings.filter { ending in
      old.contains { $0.ending == ending } || !own.contains { $0.from == database + ending }
    }
    return ShellMoves.undo(database, endings, old, away: undone)
  }

  /// Puts the old database back where nothing is, side files first: a line for a shell, which may be run again as well.
  var back: String {
    ShellMoves.back(database, waiting.filter { !$0.ending.isEmpty } + [(ending: "", path: aside)], away: undone)
  }

  /// What went along with the database and has not come back.
  var wentAlong: [Move] {
    waiting.filter { Self.goesAlong.contains($0.ending) }.map { Move(from: database + $0.ending, to: $0.path) }
  }

  /// In the order in which it comes back. What a restore that was killed left with both names is in its place.
  private var waiting: [ShellMoves.Old] {
    (ownEndings.reversed() + [""]).map { (ending: $0, path: aside + $0) }.filter { ending, path in
      guard let file = FileIdentity(at: path) else { return false }
      return file != FileIdentity(at: database + ending)
    }
  }

  /// The name that gets whatever stands in its place.
  private var undone: String { firstFreeName("\(database).undone-\(time)", where: Self.isFree) }
}
