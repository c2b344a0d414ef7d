import Glibc
import Storage

/// Companions held open from before the snapshot until they are sealed: whoever deletes one, or puts another in its place,
/// takes its name away, not its content. As a hard link would, but nothing of the file changes, not even its times, it
/// works across file systems, and nothing is left behind by whoever is killed.
final class HeldFiles: Sendable {
  /// An open file, closed when nobody needs it any more.
  final class Held: Sendable {
    let descriptor: Int32
    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { close(descriptor) }
  }

  /// So many at most, and so many descriptors are left to everybody else. What is more is read by its name.
  private static let most = 65_536
  private static let reserve = 512

  /// The soft limit of open files is one of the whole process: what it was, what it was raised to, and for how many of us.
  private struct Raise {
    var before: rlim_t
    var now: rlim_t
    var users: Int
  }
  private struct Shared {
    var raise: Raise?
    /// Descriptors that those of us who live may open.
    var granted = 0
  }
  private static let shared = Locked(Shared())

  private let left: Locked<Int>
  private let granted: Int
  private let needsRaise: Bool

  /// - Parameters:
  ///   - wanted: so many files are to be held.
  ///   - most: for tests.
  init(for wanted: Int, most: Int = HeldFiles.most) {
    let room = Self.shared.withLock { shared in
      let room = Self.makeRoom(for: min(wanted, most), besides: shared.granted, &shared.raise)
      shared.granted += room.descriptors
      return room
    }
    left = Locked(room.descriptors)
    granted = room.descriptors
    needsRaise = room.needsRaise
  }

  deinit {
    Self.shared.withLock { shared in
      shared.granted -= granted
      if needsRaise { Self.giveBack(&shared.raise) }
    }
  }

  /// `nil` when the file is not the one that was listed any more, cannot be opened, or there are too many.
  func hold(_ name: String, in folder: FolderHandle, listedAs status: FileStatus) -> Held? {
    let isRoom = left.withLock { left in
      left -= 1
      return left >= 0
    }
    guard isRoom else { return nil }
    let descriptor = folder.file(name)
    guard descriptor >= 0 else { return nil }
    let held = Held(descriptor)
    var found = stat()
    guard fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG,
      FileStatus(found).isSameFile(as: status)
    else { return nil }
    return held
  }

  private static let which = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

  private static func limit() -> rlimit? {
    var limit = rlimit()
    return getrlimit(which, &limit) == 0 ? limit : nil
  }

  /// Raises the soft limit, where it does not suffice, as far as it may.
  /// - Parameter granted: what others of us may open, or have opened already.
  private static func makeRoom(
    for wanted: Int, besides granted: Int, _ raise: inout Raise?
  ) -> (descriptors: Int, needsRaise: Bool) {
    guard wanted > 0, var limit = limit() else { return (0, false) }
    let others = (folderEntries("/proc/self/fd")?.count ?? reserve) + reserve + granted
    let needed = min(limit.rlim_max, rlim_t(others + wanted))
    let earlier = raise.flatMap { $0.now == limit.rlim_cur ? $0 : nil }
    if limit.rlim_cur < needed {
      let before = limit.rlim_cur
      limit.rlim_cur = needed
      guard setrlimit(which, &limit) == 0 else { return (max(0, Int(clamping: before) - others), false) }
      raise = Raise(before: earlier?.before ?? before, now: needed, users: (raise?.users ?? 0) + 1)
    } else if earlier != nil {
      raise?.users += 1
    }
    let room = max(0, Int(clamping: limit.rlim_cur) - others)
    return (min(wanted, room), raise?.now == limit.rlim_cur)
  }

  /// The last of us puts the limit back, unless somebody else has changed it meanwhile.
  private static func giveBack(_ raise: inout Raise?) {
    raise?.users -= 1
    guard let over = raise, over.users <= 0 else { return }
    raise = nil
    guard var limit = limit(), limit.rlim_cur == over.now else { return }
    limit.rlim_cur = over.before
    setrlimit(which, &limit)
  }
}
