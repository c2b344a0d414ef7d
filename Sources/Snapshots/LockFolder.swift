import Platform

/// The folder by which a program locks a database instead of by locks of the system, as SQLite's VFS `unix-dotfile` does:
/// `NAME.lock`, for as long as it reads or writes. Neither sees the other's lock; and whoever is killed leaves the folder.
package enum LockFolder {
  /// - Returns: its path, where it stands beside the file that `path` leads to.
  package static func beside(_ path: String) -> String? {
    let folder = (realPath(path) ?? path) + ".lock"
    var status = stat()
    return lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? folder : nil
  }

  /// As it stands in a sentence, behind a colon.
  package static func remark(_ folder: String) -> String {
    "the folder \(folder) beside it says that a program locks it so (SQLite's unix-dotfile, or a lock of the "
      + "application's own), and may heed no other lock"
  }

  package static let wayOut = "Stop its application; where none runs, remove the empty folder."

  /// What is told where something was to be written into that database.
  package static func refusal(of path: String, _ folder: String) -> SnapshotError {
    SnapshotError(
      .untrustedLocks, "SQLite's locks do not keep others from \(path): \(remark(folder))",
      hint: "Nothing was changed. \(wayOut)")
  }
}

/// Keeps us from writing into a database beside such a folder. It is asked before the first read of a connection that
/// may write, which would take the journal of a writer that is alive for a dead one's; and again before the commit.
struct LockFolderWatch {
  private let database: String
  private let isPassedOver: Bool

  /// - Parameter isForeign: whether a folder there, also one that comes later, is none of SQLite's; asked now, before the
  ///   database is open, as whoever has it open cannot ask.
  /// - Throws: `.untrustedLocks`.
  init(_ database: String, isForeign: (String) -> Bool) throws(SnapshotError) {
    self.database = database
    isPassedOver = isForeign(database)
    try demandNone()
  }

  /// - Throws: `.untrustedLocks`.
  func demandNone() throws(SnapshotError) {
    guard !isPassedOver, let folder = LockFolder.beside(database) else { return }
    throw LockFolder.refusal(of: database, folder)
  }
}
