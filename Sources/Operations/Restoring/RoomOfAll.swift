import Glibc
import Repositories

/// The room that restores take one after the other: what was restored stays, and the next one comes on top of it.
struct RoomOfAll {
  /// What does not fit beside what is restored before it, though it would by itself.
  struct Shortage {
    let folder: String
    let free: Int
    let needed: Int
    /// Companions are not counted, which may have holes.
    let isSure: Bool

    var text: String {
      let room = "\(folder) has \(free >> 20) MiB free, and with what is restored there before it"
      let needed = "\((needed >> 20) + 1) MiB"
      return isSure
        ? "\(room) \(needed) are needed: it will not fit" : "\(room) up to \(needed) may be needed: it may not fit"
    }

    var error: OperationError {
      OperationError(
        .failed, code: "noSpace", text, hint: "Make room there first, or restore it to another file system.")
    }
  }

  private struct Disk {
    let free: Int
    /// What stays of those before, surely and at most.
    var stays = 0
    var staysAtMost = 0
  }

  private let freeBytes: (String) -> Int?
  /// As they were before the first one.
  private var disks: [UInt: Disk] = [:]

  /// - Parameter freeBytes: in a folder.
  init(_ freeBytes: @escaping (String) -> Int?) { self.freeBytes = freeBytes }

  /// Counts the next one, where it fits.
  mutating func add(_ room: RestoreRoom) -> Shortage? {
    guard let home = key(of: room.folder) else { return nil }
    var needs: [UInt: RestoreRoom.Need] = [:]
    for need in room.needs {
      guard let disk = key(of: need.folder) else { continue }
      let bytes = [need.bytes, needs[disk]?.bytes ?? 0].clampedSum
      needs[disk] = RestoreRoom.Need(folder: need.folder, bytes: bytes)
    }
    for (disk, need) in needs {
      guard let known = disks[disk] else { continue }
      // Of what does not fit by itself that is told, and nothing of it stays.
      guard need.bytes <= known.free else { return nil }
      let needed = [known.stays, need.bytes].clampedSum
      guard needed <= known.free else {
        return Shortage(folder: need.folder, free: known.free, needed: needed, isSure: true)
      }
    }
    guard let known = disks[home] else { return nil }
    disks[home]?.stays = [known.stays, room.stays].clampedSum
    disks[home]?.staysAtMost = [known.staysAtMost, room.staysAtMost].clampedSum
    let (most, free) = ([known.staysAtMost, room.most].clampedSum, [known.free, room.regained].clampedSum)
    guard most > free, room.most <= free else { return nil }
    return Shortage(folder: room.folder, free: known.free, needed: most, isSure: false)
  }

  /// The file system of a folder, or of the nearest one above it that is there.
  private mutating func key(of folder: String) -> UInt? {
    let place = RestoreRoom.existing(folder)
    var status = stat()
    guard stat(place, &status) == 0 else { return nil }
    let key = UInt(status.st_dev)
    if disks[key] == nil {
      guard let bytes = freeBytes(place) else { return nil }
      disks[key] = Disk(free: bytes)
    }
    return key
  }
}
