import FoundationEssentials
import Glibc
import Repositories
import Sealing
import Snapshots

/// The plain images of earlier versions of one database that are kept on this machine, so that the next push sends only
/// what changed: `<state>/bases/<id>/anchor.db` and `middle.db`, their samples, and `record.json`.
///
/// None of it is trusted or needed (see `BaseImage`); without it a push sends whole pages. One process at a time uses it.
final class BaseFolder {
  private let path: String
  private let lock: Int32
  private let limit: Int
  private let world: World
  private let database: String
  private var record: BaseRecord?
  /// What the limit leaves: of what is there no more is used, or stays.
  private var room = BaseRoom.none
  /// What the disk has room for: so much is kept anew. What is there stays, and is used on.
  private var diskRoom = BaseRoom.both
  /// What a person should know: no base of this database has room.
  private(set) var shortage: String?
  private let isNew: Bool
  /// What the snapshot was taken for, in bytes: a copy that is being made may come to be shorter.
  private var plannedLength: Int?
  /// A target behind the first one has none of the bases.
  private var isLackedElsewhere = false
  private let companions: CompanionBaseFolder?

  /// - Returns: `nil` when this database has no bases, or another push uses them now.
  init?(of database: DatabaseSource, host: String, _ world: World) {
    guard database.keepsBases else { return nil }
    path = Self.path(of: database, host: host, world)
    isNew = access(path, F_OK) != 0
    guard (try? StateFiles.makeFolder(path)) != nil else { return nil }
    lock = open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else { return nil }
    limit = world.baseLimit
    self.world = world
    self.database = database.name
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      return nil
    }
    // When they were used last.
    futimens(lock, nil)
    StateFiles.removeAbandoned(in: path)
    // Whoever began them was killed: the lock is ours.
    for name in BaseName.allCases { name.removeUnfinished(in: path) }
    let bytes = try? StateFiles.read("\(path)/record.json")
    record = bytes.flatMap(BaseRecord.init(json:))
    companions = limit > 0 ? CompanionBaseFolder("\(path)/companions", limit: limit) : nil
  }

  deinit {
    // Also where a child that was just forked has the file open.
    flock(lock, LOCK_UN)
    close(lock)
  }

  static func path(of database: DatabaseSource, host: String, _ world: World) -> String {
    let identity = [host, database.name, database.path, "\(database.fork)"].joined(separator: "\0")
    let id = Digest.sha256(of: Array(identity.utf8)).hex.prefix(32)
    return "\(database.baseFolder ?? "\(world.stateFolder)/bases")/\(id)"
  }

  /// Where the images lie, whether they are there or not.
  var images: [String] { BaseName.allCases.map(image) }

  /// What a version of this snapshot should rest on.
  /// - Parameters:
  ///   - anew: on nothing that is there. The bases at hand stay until this version takes their place.
  ///   - dryRun: nothing is removed to make room.
  func plan(for snapshot: Snapshot, anew: Bool = false, dryRun: Bool = false) -> DeltaPlan {
    let length = snapshot.pageSize * snapshot.pageCount
    plannedLength = length
    // Asked for also where this version makes no base: what was kept under a higher limit goes.
    room = findRoom(for: snapshot, dryRun)
    diskRoom = room > .none ? findDiskRoom(for: snapshot, anew) : .both
    var plan = DeltaPlan(level: anew ? .fresh : .anchor, keepsPositions: snapshot.method == .pages)
    if !anew, let record, record.pageSize == snapshot.pageSize, record.method == snapshot.method.rawValue {
      plan.level = record.level(for: length)
      plan.leafUpTo = record.leafUpTo(for: length)
      plan.mustBeBase = record.isLackedElsewhere == true
      plan.asksForAnchor = record.isAnchorLacked == true
    }
    plan.companions = companions?.bases
    // Where only the anchor has room no middle version could take its place.
    plan.decidesBases = room == .both
    if plan.level > .anchor || plan.leafUpTo != nil {
      if room >= .anchor { plan.anchor = BaseImage(at: image(.anchor), pageSize: snapshot.pageSize, in: path) }
      if room >= .both { plan.middle = BaseImage(at: image(.middle), pageSize: snapshot.pageSize, in: path) }
      if plan.anchor == nil { (plan.level, plan.leafUpTo) = (.anchor, nil) }
    }
    if min(room, diskRoom) > .none { plan.samples = samples(for: plan.level, snapshot) }
    // An anchor that will not be kept serves nobody: what is there is referenced, as without bases.
    if plan.level == .anchor, plan.samples == nil, !anew { (plan.level, plan.leafUpTo) = (.leaf, nil) }
    return plan
  }

  /// - Returns: `nil` without room for samples that are to be taken.
  private func samples(for level: DeltaLevel, _ snapshot: Snapshot) -> BaseSamples? {
    let samples = BaseSamples(pages: snapshot.pageCount, pageSize: snapshot.pageSize, in: path)
    if level < .shoot, (try? samples.begin()) == nil { return nil }
    return samples
  }

  /// Takes note of what became of the version at a target behind the first one, before `keep`.
  func noteElsewhere(_ result: PushSession.Result) {
    if result.lacksBases, room == .both { isLackedElsewhere = true }
  }

  /// Takes the image of a version that was acknowledged out of its spool, if it is to be a base, and notes what it cost.
  /// - Parameter result: at the first target.
  func keep(_ snapshot: Snapshot, _ plan: DeltaPlan, _ result: PushSession.Result) {
    guard !result.unchanged else {
      guard isLackedElsewhere, record != nil else { return }
      record?.isLackedElsewhere = true
      return writeRecord()
    }
    let members = result.manifest.core?.members ?? []
    companions?.keep(members)
    let body = result.manifest.body
    let cost = result.bytesNew + result.manifest.name.length
    let length = snapshot.pageSize * snapshot.pageCount
    // What comes with a database must not count as if the database had to be decoded several times.
    let beside = members.reduce(0) { if case .file(let file) = $1.content { $0 + Int(file.length) } else { $0 } }
    let base = BaseRecord.Base(
      length: length, cost: cost, decoded: max(length, Int(body.bytesDecoded) - beside), plannedLength: plannedLength)
    let isKept =
      switch result.level {
      // Where its image has no room on the disk, the one before serves as far as they are alike.
      case .fresh, .anchor:
        keep(snapshot, as: .anchor, plan.samples) || (diskRoom < .anchor && access(image(.anchor), F_OK) == 0)
      // Where its image has no room leaves rest on the anchor, and on what this version and they have in common.
      case .middle:
        result.canBeBase && (room == .anchor || keep(snapshot, as: .middle, plan.samples) || diskRoom < .both)
      case .shoot, .leaf: false
      }
    record = BaseRecord.after(
      record, result.level, planned: plan.level, base, needs: result.needs, isKept: isKept,
      lacksBases: result.lacksBases && room == .both, meetsAnchor: result.meetsAnchor,
      isLackedElsewhere: isLackedElsewhere,
      pageSize: snapshot.pageSize, method: snapshot.method.rawValue)
    writeRecord()
  }

  private func writeRecord() {
    if let record, let bytes = try? JSONEncoder().encode(record) {
      try? StateFiles.write([UInt8](bytes), to: "\(path)/record.json", durably: false)
    } else {
      StateFiles.remove("\(path)/record.json")
    }
  }

  /// - Returns: false when its image is not kept; what was there before is, mostly.
  private func keep(_ snapshot: Snapshot, as name: BaseName, _ samples: BaseSamples?) -> Bool {
    guard let samples, samples.haveBegun, diskRoom >= (name == .anchor ? .anchor : .both) else { return false }
    makeWay(for: snapshot, name)
    guard isStaged(snapshot.path, name, samples) else {
      name.removeUnfinished(in: path)
      noteFailure()
      return false
    }
    // A middle version rests on the anchor that was.
    if name == .anchor { remove(.middle) }
    remove(name)
    if name.isTaken(in: path) { return true }
    remove(name)
    return false
  }

  /// Puts all of an image where it counts for nothing yet: a disk that is full costs no image that was there.
  private func isStaged(_ copy: String, _ name: BaseName, _ samples: BaseSamples) -> Bool {
    let staged = name.unfinished(in: path)
    guard rename(copy, staged) == 0 || moveAcross(copy, to: staged) else { return false }
    return (try? samples.write(besides: staged)) == true
  }

  /// Where both do not fit beside each other, what it takes the place of goes before it comes.
  private func makeWay(for snapshot: Snapshot, _ name: BaseName) {
    let length = snapshot.pageSize * snapshot.pageCount
    guard let free = world.roomAcross(snapshot.path, path), free < length else { return }
    let going: [BaseName] = name == .anchor ? BaseName.allCases : [.middle]
    guard [free, BaseRoom.bytes(of: going, in: path)].clampedSum >= length else { return }
    for name in going { remove(name) }
  }

  /// The next ones are not pushed in vain for a while: an anchor may cost more than a version without bases.
  private func noteFailure() {
    diskRoom = .none
    try? StateFiles.write([], to: "\(path)/\(BaseName.failure)", durably: false)
    world.reporter.notice(
      "\(database): its new base could not be kept in \(path), which may have no room: for a week none is tried, and pushes may store more"
    )
  }

  /// To another file system.
  private func moveAcross(_ from: String, to path: String) -> Bool {
    guard errno == EXDEV else { return false }
    do {
      try FileManager.default.copyItem(atPath: from, toPath: path)
      return chmod(path, 0o600) == 0
    } catch {
      unlink(path)
      return false
    }
  }

  private func remove(_ name: BaseName) { name.remove(in: path) }

  /// Asks what room there is for the bases of this database, and removes what has none.
  private func findRoom(for snapshot: Snapshot, _ dryRun: Bool) -> BaseRoom {
    let room = BaseRoom.besides(path, limit: limit, length: snapshot.pageSize * snapshot.pageCount, dryRun: dryRun)
    // Where it was otherwise before, or was never asked.
    if room == .none, isNew || images.contains(where: { access($0, F_OK) == 0 }) {
      shortage = "its bases have no room within baseLimit: pages that changed are sent whole"
    }
    if !dryRun {
      if room < .both { remove(.middle) }
      if room < .anchor { remove(.anchor) }
    }
    return room
  }

  /// Asks what room the disk has for new bases, where they come to lie on another one than the copy. Nothing goes for
  /// it: one that is full now may have room tomorrow.
  private func findDiskRoom(for snapshot: Snapshot, _ anew: Bool) -> BaseRoom {
    var diskRoom = BaseRoom.both
    if let free = world.roomAcross(snapshot.path, path) {
      let own = BaseRoom.bytes(of: BaseName.allCases, in: path)
      diskRoom = BaseRoom(for: snapshot.pageSize * snapshot.pageCount, free: [free, own].clampedSum)
    }
    if !anew, BaseName.hasFailedLately(in: path) { diskRoom = .none }
    if diskRoom == .none {
      shortage = "\(path) has no room for another base, or had none in the last week: pushes may store more"
    }
    return diskRoom
  }

  /// Removes all that is kept of a database, companions too: its settings say now that nothing of it is. Does nothing while
  /// another push uses it; the next one is asked again.
  static func removeAll(of database: DatabaseSource, host: String, _ world: World) {
    let folder = path(of: database, host: host, world)
    let lock = open("\(folder)/lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard lock >= 0 else { return }
    defer { close(lock) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { return }
    defer { flock(lock, LOCK_UN) }
    BaseName.removeAll(in: folder)
    CompanionBaseFolder.removeAll(in: "\(folder)/companions")
  }

  private func image(_ name: BaseName) -> String { name.image(in: path) }
}
