import Glibc
import Repositories
import Storage

/// What restores that were killed left beside their destination, or left there on purpose to go on from.
extension RestoredFile {
  /// A temporary that is ours: a new one, or a dead run's that is taken over.
  struct Temporary {
    let path: String
    let descriptor: Int32
    /// Held while we live: a later restore removes only leftovers that it can lock. False where a file system knows none.
    let isLocked: Bool
    /// Bytes from its beginning on that are complete.
    let complete: Int
  }

  /// Whoever sweeps between making a file and locking it takes it for a dead run's: then another one is made.
  static func makeTemporary(in folder: String, _ name: String) throws -> Temporary {
    let path = temporaryPath(in: folder, name)
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure("cannot write in \(folder)", errno) }
    let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    let problem = isLocked ? 0 : errno
    if access(path, F_OK) == 0, isLocked || knowsNoLocks.contains(problem) {
      return Temporary(path: path, descriptor: descriptor, isLocked: isLocked, complete: 0)
    }
    unlink(path)
    close(descriptor)
    guard isLocked || problem == EWOULDBLOCK else { throw failure("cannot lock \(path)", problem) }
    return try makeTemporary(in: folder, name)
  }

  private static func temporaryPath(in folder: String, _ name: String) -> String {
    "\(folder)/\(temporaryPrefix(name))\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
  }

  private static func temporaryPrefix(_ name: String) -> String { ".\(shortName(name)).sealift-" }

  /// Removes what killed restores of a database left beside it.
  static func sweep(besides path: String) throws { try sweep(PathSteps.folder(of: path), leftoversOf: name(of: path)) }

  /// Removes what killed restores of the same file left behind.
  /// - Parameter note: of the version that is to come.
  /// - Returns: the one that holds some of it, which stays.
  @discardableResult
  static func sweep(_ folder: String, leftoversOf name: String, but note: FetchNote? = nil) throws -> Temporary? {
    var kept: Temporary?
    for path in try leftovers(in: folder, of: name) {
      guard !isSecondName(path, of: "\(folder)/\(name)") else {
        unlink(path)
        continue
      }
      let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      guard descriptor >= 0 else { continue }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        // Looked at under the lock: whoever held it may have given the file its name, or removed it.
        var spare: Temporary? = Temporary(
          path: path, descriptor: descriptor, isLocked: true, complete: note?.found(in: descriptor, at: path) ?? 0)
        // Of several the one that holds the most.
        if let found = spare, found.complete > kept?.complete ?? 0 { (kept, spare) = (found, kept) }
        spare.map(remove)
      } else {
        close(descriptor)
      }
    }
    return kept
  }

  /// A restore that was killed between giving the file its name and removing the temporary one has left it both. Not to be
  /// opened: to close it would drop all locks that this process has on the database (sqlite.org/howtocorrupt.html, 2.2).
  private static func isSecondName(_ leftover: String, of path: String) -> Bool {
    guard let file = FileIdentity(at: path) else { return false }
    return FileIdentity(at: leftover) == file
  }

  private static func remove(_ leftover: Temporary) {
    unlink(leftover.path)
    close(leftover.descriptor)
  }

  /// Bytes on the disk that the next restore of a file gets back, or goes on from.
  static func leftoverBytes(besides path: String) -> Int {
    leftovers(besides: path).map { leftover -> Int in
      guard !isSecondName(leftover, of: path) else { return 0 }
      let descriptor = open(leftover, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard descriptor >= 0 else { return 0 }
      defer { close(descriptor) }
      return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? bytesOnDisk(descriptor) : 0
    }.clampedSum
  }

  /// What it takes there: less than its length where it has holes.
  static func bytesOnDisk(_ descriptor: Int32) -> Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_blocks) * 512 : 0
  }

  /// None where the folder cannot be read.
  static func leftovers(besides path: String) -> [String] {
    (try? leftovers(in: PathSteps.folder(of: path), of: name(of: path))) ?? []
  }

  private static func leftovers(in folder: String, of name: String) throws -> [String] {
    guard let entries = folderEntries(folder) else { throw failure("cannot open \(folder)", errno) }
    let prefix = temporaryPrefix(name)
    return entries.filter { $0.hasPrefix(prefix) }.map { "\(folder)/\($0)" }
  }
}
