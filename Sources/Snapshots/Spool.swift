import FoundationEssentials
import Platform

/// A private folder for the copies of one run, `<state>/spool/<random>`, readable by nobody else; or one of its own
/// among everybody's temporary files.
///
/// While the run lives it holds a lock on a file in there. The lock dies with the process, however that ends, and a
/// folder whose lock can be taken is a dead run's: the next `sweep` removes it.
///
/// Any thread may remove it: nothing in here changes but `removal`.
package final class Spool: Sendable {
  /// Absolute; mode 0700.
  package let path: String
  private let lock: Int32
  private let removal = StopSignal()

  init(path: String, lock: Int32) {
    self.path = path
    self.lock = lock
  }

  deinit { remove() }

  /// Makes a spool below `stateFolder`; that folder is made too (0700), but not its parents.
  /// - Parameter patience: how long to wait for another run that makes or sweeps spools there.
  /// - Throws: `.spool`; `.cancelled` when the task is while it waits.
  package static func open(
    in stateFolder: String, patience: Duration = .seconds(60)
  ) throws(SnapshotError) -> Spool {
    let hall = try SpoolHall.enter(stateFolder, patience: patience)
    defer { hall.leave() }
    let folder = "\(hall.path)/\(randomName())"
    guard mkdir(folder, 0o700) == 0 else { throw spoolError("the folder \(folder) cannot be made", errno) }
    do throws(SnapshotError) {
      guard let lock = try lockFile("\(folder)/\(lockName)") else {
        throw SnapshotError(.spool, "the folder \(folder), just made, is locked by someone else")
      }
      return Spool(path: folder, lock: lock)
    } catch {
      unlink("\(folder)/\(lockName)")
      rmdir(folder)
      throw error
    }
  }

  /// Removes the folder and all in it. Doing it twice is harmless.
  package func remove() {
    // Of several at once only one: the descriptor of the lock may be somebody else's after it is closed.
    guard removal.raise() else { return }
    // It is a plain copy of a database: one failed call must not leave it until the next run.
    for _ in 1...3 where Self.isEmptied(path) { return Self.end(path, lock) }
    unlock(lock)
  }

  /// Removes all that is in a spool but its lock.
  /// - Returns: whether nothing else is left, for certain: a folder that cannot be read may hold anything.
  static func isEmptied(_ folder: String) -> Bool {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name != lockName {
      try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
    guard let left = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      return access(folder, F_OK) != 0 && errno == ENOENT
    }
    // A listing that broke off shows too little; the lock itself is there as long as it is not removed.
    return left == [lockName]
  }

  /// Removes the lock of an emptied spool, and the folder. The file is closed before the folder goes: a network file
  /// system keeps an open one under another name in there. Whoever sweeps meanwhile removes no more than this does.
  static func end(_ folder: String, _ lock: Int32) {
    unlink("\(folder)/\(lockName)")
    unlock(lock)
    rmdir(folder)
  }

  static let lockName = "lock"

  /// Removes what dead runs left below `stateFolder`, and returns how many folders those were. What has no name that
  /// `open` gives is left alone; what cannot be removed stays for the next time: old copies must not stand in the way of
  /// a new one. Makes nothing, and waits for nobody: where another run is at it, that one sweeps.
  /// - Parameter left: gets the path of each that stays though no lock is known to be held on it: that of a run of another
  ///   user, as a rule.
  @discardableResult
  package static func sweep(in stateFolder: String, left: (_ folder: String) -> Void = { _ in }) -> Int {
    guard access("\(stateFolder)/spool", F_OK) == 0, let hall = try? SpoolHall.enter(stateFolder) else { return 0 }
    let (removed, staying) = swept(hall)
    // Before anybody is told, who may take long over it, or open a spool.
    hall.leave()
    for folder in staying { left(folder) }
    return removed
  }

  private static func swept(_ hall: SpoolHall) -> (removed: Int, left: [String]) {
    var removed = 0
    var left: [String] = []
    // Only what could be ours: a state folder named by mistake may hold a spool of somebody else, as /var does.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: hall.path)) ?? [] where isRandomName(name) {
      let folder = "\(hall.path)/\(name)"
      var status = stat()
      guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { continue }
      let lock: Int32
      do throws(SnapshotError) {
        // A run that died between making its folder and its lock file left one without: it is made here.
        guard let taken = try lockFile("\(folder)/\(lockName)") else { continue }
        lock = taken
      } catch {
        left.append(folder)
        continue
      }
      guard isEmptied(folder) else {
        unlock(lock)
        left.append(folder)
        continue
      }
      end(folder, lock)
      if access(folder, F_OK) != 0 { removed += 1 }
    }
    return (removed, left)
  }
}

/// The folder of all spools. Its lock is held for moments only, while a spool is made or dead ones are swept,
/// so that no sweep finds a folder whose owner had no time yet to lock it.
private struct SpoolHall {
  static let lockName = "lock"
  let path: String
  let lock: Int32

  /// Waits for whoever is in there. That is never for long, unless that process stands still.
  static func enter(_ stateFolder: String, patience: Duration) throws(SnapshotError) -> SpoolHall {
    let end = SuspendingClock.now + patience
    while true {
      if let hall = try enter(stateFolder) { return hall }
      if Task.isCancelled { throw SnapshotError(.cancelled, "the snapshot was cancelled") }
      guard SuspendingClock.now < end else {
        throw SnapshotError(
          .spool, "another run holds \(stateFolder)/spool/\(lockName)",
          hint: "End the run that stands still, or has stopped there; it keeps all others from copying a database.")
      }
      usleep(20_000)
    }
  }

  /// `nil` while somebody else is in there.
  static func enter(_ stateFolder: String) throws(SnapshotError) -> SpoolHall? {
    let path = "\(stateFolder)/spool"
    if mkdir(stateFolder, 0o700) == 0 {
      // More than spools will be in it, and that must last when the power goes.
      try synchronizeParent(of: stateFolder)
    } else if errno != EEXIST {
      throw spoolError("the folder \(stateFolder) cannot be made", errno)
    }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw spoolError("the folder \(path) cannot be made", errno)
    }
    try demandOwn(path, in: stateFolder)
    guard let lock = try lockFile("\(path)/\(lockName)") else { return nil }
    return SpoolHall(path: path, lock: lock)
  }

  private static func synchronizeParent(of path: String) throws(SnapshotError) {
    let descriptor = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if descriptor >= 0 { close(descriptor) } }
    // Folders that a virtual machine's host lends, and others, know no such thing: that is no error.
    guard descriptor >= 0, fsync(descriptor) == 0 || errno == EINVAL || errno == EOPNOTSUPP else {
      throw spoolError("the name of the folder \(path) cannot be made durable", errno)
    }
  }

  /// A folder that another user put there first, or a link, is theirs: they could exchange what we put into it.
  private static func demandOwn(_ path: String, in stateFolder: String) throws(SnapshotError) {
    var own = stat()
    var parent = stat()
    guard lstat(path, &own) == 0, own.st_mode & S_IFMT == S_IFDIR, stat(stateFolder, &parent) == 0,
      own.st_uid == geteuid() || (parent.st_mode & 0o022 == 0 && own.st_uid == parent.st_uid)
    else {
      throw SnapshotError(
        .spool, "\(path) was put there by another user, or is no folder",
        hint: "Name a state or scratch folder that only you can write to.")
    }
  }

  func leave() { unlock(lock) }
}

/// Opens and locks a file that children do not inherit; nil when another has the lock.
func lockFile(_ path: String) throws(SnapshotError) -> Int32? {
  let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
  guard file >= 0 else { throw spoolError("the file \(path) cannot be opened", errno) }
  while flock(file, LOCK_EX | LOCK_NB) != 0 {
    if errno == EINTR { continue }
    let number = errno
    close(file)
    if number == EWOULDBLOCK { return nil }
    throw spoolError("the file \(path) cannot be locked", number)
  }
  return file
}

/// Gives a lock back at once, also where a child that was just forked has the file open.
func unlock(_ file: Int32) {
  flock(file, LOCK_UN)
  close(file)
}

func spoolError(_ what: String, _ number: Int32) -> SnapshotError {
  SnapshotError(
    .spool, "\(what): \(words(number))", hint: "Check who owns the state folder and that its disk is writable.")
}
