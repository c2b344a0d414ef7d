import Platform

/// SQLite opens whatever has the name of a -journal, a -wal or a -shm. In a pipe it waits for whoever writes to it, and no
/// signal and no timeout ends that; opening a device may do anything. So this is asked before each opening that may lead
/// there.
/// - Parameter path: real path of a database.
/// - Throws: `.unreadable`.
func demandFiles(beside path: String) throws(SnapshotError) {
  for ending in sideFileEndings {
    var status = stat()
    guard stat(path + ending, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { continue }
    throw SnapshotError(
      .unreadable, "\(path)\(ending) is no file, and SQLite would open it with the database",
      hint: "No SQLite has made it: remove it.")
  }
}

/// The same before SQLite opens a database that it may write to, where the first read rolls back what a dead writer left.
/// - Parameter patience: how long a transaction that is being committed is waited for.
/// - Throws: `.unreadable`, `.hotJournal`, `.cancelled`.
func demandNothingPlanted(beside path: String, _ watch: Watch, patience: Duration = .zero) throws(SnapshotError) {
  try demandFiles(beside: path)
  try SuperJournal.demandOwn(beside: path, watch, patience: patience)
}
