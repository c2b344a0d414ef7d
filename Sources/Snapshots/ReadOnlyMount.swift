import Platform

// On a file system that is mounted read-only, such as a snapshot of ZFS or btrfs, nobody can make the files that SQLite
// needs, or roll a transaction back, whoever it is.

extension SnapshotError {
  /// The same, with the way out there, of a database that cannot be read as it stands.
  /// - Parameter isReadOnly: how the file system of `path` is mounted; for tests.
  package func heedingReadOnlyMount(of path: String, isReadOnly: Bool? = nil) -> SnapshotError {
    guard isReadOnly ?? isMountedReadOnly(path) else { return self }
    var error = self
    error.message += "; its file system is mounted read-only"
    error.hint = "Copy it with its -wal or -journal into a folder that can be written, and push that copy."
    return error
  }
}

private func isMountedReadOnly(_ path: String) -> Bool {
  var facts = statvfs()
  // ST_RDONLY
  return statvfs(path, &facts) == 0 && facts.f_flag & 1 != 0
}
