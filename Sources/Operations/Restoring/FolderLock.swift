import Glibc
import Storage

/// Held while the files of a database change their names: another restore in this folder waits.
struct FolderLock {
  private let descriptor: Int32
  /// False where the file system locks no folders.
  private(set) var isHeld = true

  /// Anybody who may read the folder can hold such a lock: it is waited for so long and no longer.
  /// - Throws: `.failed` (`folderLocked`) when that has passed; `CancellationError`.
  static func take(of path: String, within patience: Duration, _ reporter: any Reporter) async throws -> FolderLock {
    let folder = PathSteps.folder(of: path)
    var lock = try FolderLock(folder)
    do {
      let clock = SuspendingClock()
      let began = clock.now
      var hasTold = false
      while flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0 {
        // A file system that locks no folders, as NFS: the restore goes on without, as `freePlace` looks at everything again.
        guard errno == EWOULDBLOCK || errno == EINTR else {
          lock.isHeld = false
          return lock
        }
        let waited = clock.now - began
        if !hasTold, waited > .seconds(1) {
          reporter.notice("waiting for \(folder), which another program has locked")
          hasTold = true
        }
        guard waited < patience else { throw isLocked(folder) }
        try await Task.sleep(for: .milliseconds(50))
      }
      return lock
    } catch {
      close(lock.descriptor)
      throw error
    }
  }

  private init(_ folder: String) throws {
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw OperationError.fileSystem(
        "cannot open \(folder)", errno, hint: "Run as a user who may read and write that folder.")
    }
  }

  func release() {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  private static func isLocked(_ folder: String) -> OperationError {
    OperationError(
      .failed, code: "folderLocked", "another program holds a lock (flock) on \(folder), and kept it",
      hint:
        "Another restore may be at work there; `fuser -v \(shellQuoted(folder))` shows who has it open. Nothing was changed."
    )
  }
}
