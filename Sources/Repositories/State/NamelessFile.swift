import Glibc

/// Files that are never seen: whatever is killed, nothing is left behind.
enum NamelessFile {
  /// Without a name from the start where the file system can do that, else unlinked at once.
  static func open(in folder: String) throws(RepositoryError) -> Int32 {
    let withoutName: Int32 = 0o20000000 | O_DIRECTORY  // O_TMPFILE, a macro that Swift does not see
    let nameless = Glibc.open(folder, O_RDWR | withoutName | O_CLOEXEC, 0o600)
    if nameless >= 0 { return nameless }
    let path = "\(folder)/.sealift-table-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    let named = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard named >= 0 else { throw failure("cannot make a table", in: folder, errno) }
    unlink(path)
    return named
  }

  /// Where a restore has its own, that is not the state folder.
  static func failure(_ message: String, in folder: String, _ number: Int32) -> RepositoryError {
    let isFull = number == ENOSPC || number == EDQUOT
    return RepositoryError(
      isFull ? .noSpace : .stateFolder, "\(message) in \(folder): \(String(cString: strerror(number)))",
      hint: isFull ? "Make room there, or take another disk." : "Check space and permissions there.")
  }
}
