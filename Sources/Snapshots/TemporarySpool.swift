import FoundationEssentials
import Platform

extension Spool {
  private static let temporaryPrefix = "sealift-copy-"

  /// Makes a spool in a folder that others may write to as well, such as /tmp. Its random name is taken by nobody
  /// before us.
  /// - Throws: `.spool`.
  package static func openTemporary(in folder: String) throws(SnapshotError) -> Spool {
    for _ in 0..<10 {
      let path = "\(folder)/\(temporaryPrefix)\(randomName())"
      guard mkdir(path, 0o700) == 0 else {
        if errno == EEXIST { continue }
        throw spoolError("the folder \(path) cannot be made", errno)
      }
      // A sweep of another process may be quicker than our lock: then the folder is gone, or is about to be.
      if let lock = try? lockFile("\(path)/\(lockName)") {
        var status = stat()
        if fstat(lock, &status) == 0, status.st_nlink > 0 { return Spool(path: path, lock: lock) }
        unlock(lock)
      }
    }
    throw SnapshotError(.spool, "no folder of our own could be made in \(folder)")
  }

  /// Removes what dead runs of this user left in a folder, and returns how many of their folders those were. Only
  /// folders of this user's, readable by nobody else, with a lock file that nobody holds are taken for such.
  @discardableResult
  package static func sweepTemporary(in folder: String) -> Int {
    var removed = 0
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    where name.hasPrefix(temporaryPrefix) {
      let path = "\(folder)/\(name)"
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_mode & 0o077 == 0,
        status.st_uid == geteuid()
      else { continue }
      let lock = Platform.open("\(path)/\(lockName)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      guard lock >= 0 else { continue }
      guard flock(lock, LOCK_EX | LOCK_NB) == 0, isEmptied(path) else {
        unlock(lock)
        continue
      }
      end(path, lock)
      if access(path, F_OK) != 0 { removed += 1 }
    }
    return removed
  }
}
