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

  /// - Parameter most: for tests.
  init(most: Int = HeldFiles.most) { left = Locked(min(most, max(0, Self.roomForDescriptors() - Self.reserve))) }

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

  /// Raises the soft limit of this process as far as it may.
  private static func roomForDescriptors() -> Int {
    var limit = rlimit()
    let which = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(which, &limit) == 0 else { return 0 }
    let wanted = min(limit.rlim_max, rlim_t(most + reserve))
    if limit.rlim_cur < wanted {
      limit.rlim_cur = wanted
      setrlimit(which, &limit)
      guard getrlimit(which, &limit) == 0 else { return 0 }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
