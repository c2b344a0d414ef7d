import Glibc

/// The byte locks by which SQLite's connections know of each other.
enum FileLocks {
  /// `F_OFD_GETLK` and `F_OFD_SETLK` (linux/fcntl.h): a lock of the open file, not of the process.
  private static let get: Int32 = 36
  private static let set: Int32 = 37

  /// PENDING, RESERVED and SHARED in a database file. A connection in WAL mode holds SHARED all its life.
  static let database: Range<Int64> = 0x4000_0000..<0x4000_0200
  /// The locks of a -wal's users in its -shm, and the one that every connection holds there all its life.
  static let sharedMemory: Range<Int64> = 120..<129

  /// The process that holds a lock there; 0 where the system does not say who, `nil` where nobody does.
  ///
  /// The file is opened and closed for it, which would drop every POSIX lock that this process itself has on it: for files
  /// that this process has not open only.
  static func holder(of path: String, _ range: Range<Int64>) -> Int32? {
    // Not blocking: a pipe that was planted there has no locks, and opening it would wait for whoever writes to it.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var lock = exclusive(range)
    guard fcntl(descriptor, get, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return nil }
    return max(0, lock.l_pid)
  }

  /// Takes all of SQLite's locks on a database file, for as long as the descriptor is open: whoever opens the database
  /// meanwhile finds it locked.
  /// - Returns: false when somebody holds one; true also where the system knows no such locks.
  static func seize(_ descriptor: Int32) -> Bool {
    var lock = exclusive(database)
    if fcntl(descriptor, set, &lock) == 0 { return true }
    return errno != EAGAIN && errno != EACCES
  }

  private static func exclusive(_ range: Range<Int64>) -> flock {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = off_t(range.lowerBound)
    lock.l_len = off_t(range.count)
    return lock
  }

  /// Who holds locks on these files, by the system's own table: no file is opened.
  static func holders(of files: [String: FileIdentity]) -> [Int32: Set<String>] {
    var found: [Int32: Set<String>] = [:]
    let inodes = Set(files.values.map(\.inode))
    // 3: POSIX  ADVISORY  READ  20131 08:01:1312344 128 128
    for line in (systemText("/proc/locks") ?? "").split(separator: "\n") {
      let fields = line.split(separator: " ").filter { $0 != "->" }
      guard fields.count >= 6, let pid = Int32(fields[4]) else { continue }
      let place = fields[5].split(separator: ":")
      guard place.count == 3, let inode = UInt64(place[2]), inodes.contains(inode) else { continue }
      for (path, file) in files
      where file.inode == inode && UInt64(place[0], radix: 16) == file.major
        && UInt64(place[1], radix: 16) == file.minor
      {
        found[pid, default: []].insert(path)
      }
    }
    return found
  }
}
