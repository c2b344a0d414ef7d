import FoundationEssentials
import Glibc

/// A private folder (0700) for plaintext that exists only while a command runs. It is locked while we live: what a killed
/// process left behind is found by its free lock and removed by the next one.
package final class Spool: Sendable {
  package let path: String
  private let lock: Int32

  private init(path: String, lock: Int32) {
    self.path = path
    self.lock = lock
  }

  deinit {
    remove()
    close(lock)
  }

  /// Makes `<state>/spool/<random>`.
  package static func open(in state: String) throws(SnapshotError) -> Spool {
    let parent = "\(state)/spool"
    for folder in [state, parent] where mkdir(folder, 0o700) != 0 && errno != EEXIST { throw failure(folder, errno) }
    let path = "\(parent)/\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
    guard mkdir(path, 0o700) == 0 else { throw failure(path, errno) }
    let lock = Glibc.open("\(path)/lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw failure(path, errno) }
    return Spool(path: path, lock: lock)
  }

  /// Removes the folders of dead processes.
  package static func sweep(in state: String) {
    let parent = "\(state)/spool"
    for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
      let folder = "\(parent)/\(name)"
      let lock = Glibc.open("\(folder)/lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      if lock >= 0 {
        if flock(lock, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: folder) }
        close(lock)
      } else if isOld(folder) {
        // No lock file: killed between making the folder and its lock. One that is being made is younger.
        try? FileManager.default.removeItem(atPath: folder)
      }
    }
  }

  package func remove() { try? FileManager.default.removeItem(atPath: path) }

  private static func isOld(_ folder: String) -> Bool {
    var status = stat()
    return lstat(folder, &status) == 0 && status.st_mtim.tv_sec < time(nil) - 60
  }

  private static func failure(_ path: String, _ number: Int32) -> SnapshotError {
    SnapshotError(
      .spool, "cannot make the spool folder \(path): \(String(cString: strerror(number)))",
      hint: "Check space and permissions of the state folder, or name another one with SEALIFT_STATE.")
  }
}
