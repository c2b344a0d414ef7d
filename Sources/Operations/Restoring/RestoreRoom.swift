import Glibc
import Platform
import Repositories
import Sealing
import Snapshots
import Storage

/// The room on disk that a restore takes before it has ended: what it writes stands beside what is there until then.
struct RestoreRoom {
  struct Need: Equatable {
    let folder: String
    let bytes: Int
  }

  /// What companions take is not among them: holes in them take nothing, and only their restore shows where holes are.
  let needs: [Need]
  /// Bytes in the database's folder, at most.
  let most: Int
  /// What earlier restores left there, which is taken over or removed.
  let regained: Int
  /// The database's.
  let folder: String
  /// Bytes that are still there when the restore has ended: surely, and at most.
  let stays: Int
  let staysAtMost: Int
  private let hasCompanions: Bool
  /// Of a database that is repacked elsewhere: the copy, and what is made of it, at most.
  private let spool: Need?

  /// Of a file of its own, which takes the place of another one only when it is complete; one that is repacked stands
  /// beside the one that it is made of, and is no larger. What an earlier restore left there is taken over, or removed.
  /// - Parameter state: the folder where it is repacked if others may exchange names where it is to come to lie.
  init(_ found: FoundVersion, beside path: String, _ makeOver: MakeOver, state: String) {
    let size = found.summary.size
    regained = RestoredFile.leftoverBytes(besides: path)
    folder = PathSteps.folder(of: path)
    hasCompanions = !found.companions.isEmpty
    let isSpooled = makeOver.needsSpool(for: path)
    spool = isSpooled ? Need(folder: state, bytes: [size, size, found.tableBytes].clampedSum) : nil
    needs =
      [Need(folder: folder, bytes: max(0, size - regained))] + (isSpooled ? [Need(folder: state, bytes: size)] : [])
    let tables = isSpooled ? 0 : found.tableBytes
    most = [size, makeOver.vacuum ? size : 0, found.companionBytes, found.baseBytes, tables].clampedSum
    // Nobody knows what a vacuum leaves of it.
    stays = makeOver.vacuum ? 0 : max(0, size - regained)
    staysAtMost = max(0, [size, found.companionBytes].clampedSum - regained)
  }

  /// Of a live restore: a private image, the copy of the old content, and what SQLite writes beside the database — the new
  /// pages in WAL mode, else the old ones that they take the place of, and those that the database grows by. Of a database
  /// that shrinks, the journal may hold the pages at its end too.
  init(_ found: FoundVersion, into live: LiveDestination, at path: String, keepsUndo: Bool, state: String) {
    self.init(found, into: live.size, isWAL: live.isWAL, at: path, keepsUndo: keepsUndo, state: state)
  }

  /// Of a live restore into a database that is not looked into: this process may have it open.
  init(_ found: FoundVersion, intoUnread path: String, keepsUndo: Bool, state: String) {
    var status = stat()
    let size = stat(path, &status) == 0 ? Int(status.st_size) : 0
    let isWAL = FileIdentity(at: path + "-wal") != nil
    self.init(found, into: size, isWAL: isWAL, at: path, keepsUndo: keepsUndo, state: state)
  }

  /// - Parameter old: bytes of the database that is there.
  private init(
    _ found: FoundVersion, into old: Int, isWAL: Bool, at path: String, keepsUndo: Bool, state: String
  ) {
    let size = found.summary.size
    let undo = keepsUndo ? old : 0
    regained = RestoredFile.leftoverBytes(besides: path)
    folder = PathSteps.folder(of: path)
    hasCompanions = !found.companions.isEmpty
    spool = nil
    needs = [
      Need(folder: state, bytes: [size, found.tableBytes].clampedSum),
      Need(folder: folder, bytes: [size, undo].clampedSum),
    ]
    most = [isWAL ? size : max(size, old), undo, found.companionBytes].clampedSum
    stays = [max(0, size - old), undo].clampedSum
    staysAtMost = [isWAL ? size : max(0, size - old), undo, found.companionBytes].clampedSum
  }

  /// What to say where not surely everything fits; `nil` where it does.
  var doubt: String? {
    let here = Self.free(in: folder).flatMap { free in
      Self.doubt(in: folder, free: free, regained: regained, most: most, hasCompanions: hasCompanions)
    }
    return here ?? spoolDoubt
  }

  /// The same of the private place where it is repacked.
  var spoolDoubt: String? {
    guard let spool else { return nil }
    let place = Self.existing(spool.folder)
    var (there, here) = (stat(), stat())
    guard let free = Self.free(in: place), stat(place, &there) == 0, stat(folder, &here) == 0 else { return nil }
    let isShared = there.st_dev == here.st_dev
    return Self.doubt(
      in: place, free: free, regained: isShared ? regained : 0, most: [spool.bytes, isShared ? most : 0].clampedSum,
      hasCompanions: false)
  }

  static func doubt(in folder: String, free: Int, regained: Int, most: Int, hasCompanions: Bool) -> String? {
    guard [free, regained].clampedSum < most else { return nil }
    let room = "\(folder) has \(free >> 20) MiB free, and up to \((most >> 20) + 1) MiB may be needed"
    return hasCompanions
      ? "\(room): the companions may not fit (--no-companions leaves them out)" : "\(room): it may not fit"
  }

  /// - Throws: `.failed`, code `noSpace`, for a disk with less room than is surely needed there.
  func demand() throws {
    var disks: [UInt: (need: Need, free: Int)] = [:]
    for need in needs {
      let folder = Self.existing(need.folder)
      var status = stat()
      guard stat(folder, &status) == 0, let free = Self.free(in: folder) else { continue }
      let sum = [need.bytes, disks[UInt(status.st_dev)]?.need.bytes ?? 0].clampedSum
      disks[UInt(status.st_dev)] = (Need(folder: folder, bytes: sum), free)
    }
    for (need, free) in disks.values where free < need.bytes {
      throw OperationError(
        .failed, code: "noSpace",
        "\(need.folder) has \(free >> 20) MiB free, the restore needs \((need.bytes >> 20) + 1) MiB",
        hint: "Make room there, or restore to another file system.")
    }
  }

  /// Bytes that are free; `nil` where there is no such folder.
  static func free(in folder: String) -> Int? {
    var space = statvfs()
    return statvfs(folder, &space) == 0 ? space.freeBytes : nil
  }

  /// A folder, or the nearest above it that is there.
  static func existing(_ folder: String) -> String {
    var (folder, status) = (folder, stat())
    while stat(folder, &status) != 0, folder != "/", folder != "." { folder = PathSteps.folder(of: folder) }
    return folder
  }
}

extension FoundVersion {
  /// Bytes of all files that come with the database, holes counted.
  fileprivate var companionBytes: Int { companionMembers.map { Int(clamping: $0.file?.length ?? 0) }.clampedSum }

  /// Bytes of what is decoded for others that rest on it, which lies beside the database meanwhile (Decisions/0006): none where
  /// no more is decoded than comes back.
  fileprivate var baseBytes: Int {
    let decoded = Int(clamping: manifest.body.bytesDecoded)
    let content = [summary.size, manifestCompanionBytes].clampedSum
    return decoded - content > content / 20 ? decoded : 0
  }

  /// Bytes of tables that lie beside what is fetched meanwhile: where each page and each block of companions goes, and the
  /// fingerprints of pages.
  fileprivate var tableBytes: Int {
    let pages = manifest.core?.members.first?.file?.unitCount ?? 0
    let blocks = companionMembers.reduce(0) { $0 + ($1.file?.unitCount ?? 0) }
    return Int(16 * (2 * pages + blocks))
  }

  /// Of all companions, also where they are left out.
  private var manifestCompanionBytes: Int {
    (manifest.core?.members.dropFirst() ?? []).map { Int(clamping: $0.file?.length ?? 0) }.clampedSum
  }
}
