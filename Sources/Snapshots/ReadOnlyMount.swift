import Platform

// On a file system that is mounted read-only, such as a snapshot of ZFS or btrfs, nobody can make the files that SQLite
// needs, or roll a transaction back, whoever it is. So it is in a container whose volume is mounted read-only, but
// there others may write to the database elsewhere, and a copy by other means would be of two moments.

extension SnapshotError {
  /// The same, with the way out there, of a database that cannot be read as it stands.
  /// - Parameters:
  ///   - isAtRest: whether nobody is known to write to it.
  ///   - isReadOnly: how the file system of `path` is mounted; for tests.
  package func heedingReadOnlyMount(
    of path: String, isAtRest: Bool = true, isReadOnly: Bool? = nil
  ) -> SnapshotError {
    guard isReadOnly ?? isMountedReadOnly(path) else { return self }
    var error = self
    error.message += "; its file system is mounted read-only"
    let elsewhere =
      "Where its applications write to it elsewhere (a container's volume that is mounted read-only), mount it "
      + "writable here, or let the application open it once."
    let still =
      " Where it is a snapshot that nobody writes to, copy it with its -wal or -journal into a folder that can be "
      + "written, and push that copy."
    error.hint = isAtRest ? elsewhere + still : elsewhere
    return error
  }
}

private func isMountedReadOnly(_ path: String) -> Bool {
  var facts = statvfs()
  // ST_RDONLY
  return statvfs(path, &facts) == 0 && facts.f_flag & 1 != 0
}
