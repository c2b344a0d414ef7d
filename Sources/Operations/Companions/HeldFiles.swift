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

  private let left: Locked<Int>
  /// What the soft limit was, and what it was raised to; `nil` when it was enough.
  private let raised: (from: rlim_t, to: rlim_t)?

  /// - Parameters:
  ///   - wanted: so many files are to be held.
  ///   - most: for tests.
  init(for wanted: Int, most: Int = HeldFiles.most) {
    let room = Self.makeRoom(for: min(wanted, most))
    left = Locked(room.descriptors)
    raised = room.raised
  }

  /// The limit is that of the whole process, which may be somebody else's.
  deinit {
    guard let raised, var limit = Self.limit(), limit.rlim_cur == raised.to else { return }
    limit.rlim_cur = raised.from
    setrlimit(Self.which, &limit)
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

  /// Raises the soft limit of this process, where it does not suffice, as far as it may.
  private static func makeRoom(for wanted: Int) -> (descriptors: Int, raised: (from: rlim_t, to: rlim_t)?) {
    guard wanted > 0, var limit = limit() else { return (0, nil) }
    let others = (folderEntries("/proc/self/fd")?.count ?? reserve) + reserve
    let needed = min(limit.rlim_max, rlim_t(others + wanted))
    let before = limit.rlim_cur
    if before < needed {
      limit.rlim_cur = needed
      guard setrlimit(which, &limit) == 0 else { return (max(0, Int(clamping: before) - others), nil) }
    }
    let room = max(0, Int(clamping: limit.rlim_cur) - others)
    return (min(wanted, room), before < needed ? (before, needed) : nil)
  }
}
