import Glibc
import Repositories
import Sealing
import Snapshots
import Storage

/// What a restore would do, found out without changing anything.
package struct RestorePreview: Sendable {
  package var version: VersionSummary
  /// Where the file would be; links are followed where something is replaced.
  package var path: String
  package var mode: Restore.Mode
  /// Permission bits that it would have.
  package var permissions: UInt32 = 0o600
  /// Bytes that are free there; `nil` when there is no such folder.
  package var free: Int?
  /// Bytes that it would take there before it has ended, at most: holes in companions are counted.
  package var needed = 0
  /// Bytes that earlier restores left there, and which come back.
  private var regained = 0
  /// What may go wrong where it would be repacked elsewhere.
  private var spoolDoubt: String?
  /// What may go wrong because others are restored before it.
  var doubtOfAll: String?
  /// What it would take; `nil` where nothing would be written.
  private(set) var room: RestoreRoom?
  package var moves: [Restore.Move] = []
  /// Where a live restore would keep the old content.
  package var undoCopy: String?
  package var use: DatabaseUse?
  /// Paths of the members that come with the database.
  package var companions: [String]
  /// What of the version would be left out because that was asked for.
  package var leftOut: LeftOut?
  /// It would be repacked, or say another journal mode of itself.
  package var identical: Bool
  /// Why it would not be done.
  package var refusal: OperationError?

  /// What may go wrong though nothing is against it: there may be too little room, or the version be refused for what only
  /// its content shows.
  package var doubt: String? {
    guard refusal == nil, let free else { return nil }
    let here = RestoreRoom.doubt(
      in: PathSteps.folder(of: path), free: free, regained: regained, most: needed,
      hasCompanions: !companions.isEmpty)
    return here ?? spoolDoubt ?? doubtOfAll ?? (mode == .live ? Self.unseen : nil)
  }

  private static let unseen =
    "that its text encoding is the database's, and that nothing but SQLite writes to the ends of its pages, is seen only "
    + "when it is fetched"

  /// The version stands there already: nothing is against it, and nothing would be written.
  mutating func standsAlready() { (refusal, needed, spoolDoubt, room) = (nil, 0, nil, nil) }

  /// The folder would be there when it is restored.
  mutating func findsFolder(_ mode: Restore.Mode) {
    self.mode = mode
    guard refusal?.code == "noFolder" else { return }
    refusal = nil
    let room = room
    note { try room?.demand() }
  }

  /// Of a pull into a new file.
  init(_ found: FoundVersion, newFile path: String, _ makeOver: MakeOver, state: String) {
    version = found.summary
    self.path = path
    mode = .new
    companions = found.companions
    leftOut = found.leftOut
    identical = makeOver.isNothing
    permissions = found.permissions
    note { try makeOver.demandImage(found) }
    note { try found.demandFreePlaces(for: Restore.Request(place: .file(path)), beside: path) }
    lookAtNewFile()
    lookAtFolder(RestoreRoom(found, beside: path, makeOver, state: state))
  }

  init(_ found: FoundVersion, _ request: Restore.Request, _ restore: Restore) async throws {
    let path = try restore.path(of: found, request)
    let state = restore.world.stateFolder
    self.init(found, newFile: path, restore.pull.makeOver, state: state)
    mode = request.mode
    refusal = nil
    note { try restore.demandSense(request, found) }
    note { try restore.pull.makeOver.demandImage(found) }
    let place = try mode == .new ? path : Restore.realPlace(of: path)
    note { try found.demandNoOwnFolder(of: request, beside: place, restore.world) }
    guard mode != .new else {
      do {
        try await restore.hinting(request, at: path) { try RestoredFile.refuseIfPresent(path) }
      } catch {
        note { throw error }
      }
      note { try ReplaceIntent(database: path).demandSettled() }
      note { try found.demandFreePlaces(for: request, beside: path) }
      lookAtCompanions(of: found, request, path)
      lookAtFolder(RestoreRoom(found, beside: path, restore.pull.makeOver, state: state))
      return
    }
    let real = place
    self.path = real
    permissions = FileLikeness(of: Restore.model(of: real)).map { UInt32($0.mode) } ?? 0o600
    let use = DatabaseUse(of: real)
    self.use = use
    let now = Times.compact(restore.world.now())
    var room = RestoreRoom(found, beside: real, restore.pull.makeOver, state: state)
    let existing = found.companionPlaces(of: request, beside: real).map(\.path).filter(CompanionsPlace.stands)
    let time =
      mode == .replace
      ? SetAside.freeTime(now, of: real, with: existing) : CompanionsPlace.freeTime(now, for: existing)
    if mode == .replace {
      note { try use.demandNobody(real) }
      note { try SetAside.demandMovable(real) }
      note { try ReplaceIntent(database: real).demandUsable() }
      let aside = SetAside(real, time: time, leavingCompanions: found.leavesCompanions)
      moves = aside.plan.map { Restore.Move(from: $0.from, to: $0.to) }
    } else {
      identical = false
      note { try restore.demandInSight(real) }
      note { try ReplaceIntent(database: real).demandSettled() }
      note { try Restore.demandDatabase(real) }
      note {
        let live = try LiveDestination(lookingAt: real)
        try live.demandFitting(pageSize: found.summary.pageSize)
        room = RestoreRoom(found, into: live, at: real, keepsUndo: request.keepsUndo, state: state)
      }
      if request.keepsUndo { note { try Restore.demandRoomForUndo(of: real) } }
      undoCopy = request.keepsUndo ? SetAside.freeName(real, now) : nil
    }
    lookAtCompanions(of: found, request, real)
    restore.tellDatabasesMovedAside(by: found, beside: real, request)
    for place in existing {
      guard !moves.contains(where: { $0.from == place }) else { continue }
      moves.append(Restore.Move(from: place, to: CompanionsPlace.aside(place, time)))
    }
    lookAtFolder(room)
  }

  private mutating func lookAtCompanions(of found: FoundVersion, _ request: Restore.Request, _ path: String) {
    let places = found.companionPlaces(of: request, beside: path)
    note { try CompanionsPlace.demandOwn(places, beside: path) }
    note { try CompanionsPlace.demandWay(to: places, beside: path) }
    note { try found.demandRoomForNames(of: request, beside: path) }
    note { try found.demandNobody(for: request, beside: path) }
  }

  private mutating func lookAtNewFile() {
    let path = path
    note { try RestoredFile.refuseIfPresent(path) }
    note { try ReplaceIntent(database: path).demandSettled() }
  }

  private mutating func lookAtFolder(_ room: RestoreRoom) {
    let folder = PathSteps.folder(of: path)
    let known = RestoreRoom.free(in: folder)
    (free, needed, regained, spoolDoubt) = (known, room.most, room.regained, room.spoolDoubt)
    self.room = room
    note {
      guard known != nil else { throw RestoredFile.noFolder(folder) }
      try RestoredFile.demandOwnWay(to: folder)
      try RestoredFile.demandWritable(folder)
      try room.demand()
    }
  }

  /// Keeps the first reason against it.
  private mutating func note(_ demand: () throws -> Void) {
    do { try demand() } catch { refusal = refusal ?? OperationError(error) }
  }
}

extension Pull {
  /// What a pull into a new file would do. Nothing is changed, and nothing of the version's content is fetched.
  package func preview(
    _ selector: VersionSelector, from target: TargetAccess, to path: String, expect: [String] = []
  ) async throws -> RestorePreview {
    do {
      let found = try await find(selector, at: target, expect: expect)
      return RestorePreview(found, newFile: path, makeOver, state: world.stateFolder)
    } catch {
      throw OperationError(error, doing: "pulling from \(target.name)")
    }
  }
}
