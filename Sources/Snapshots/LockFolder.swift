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
    "the folder \(folder) beside it says that a program locks it so (SQLite's unix-dotfile), and heeds no other lock"
  }

  package static let wayOut = "Stop its application; where none runs, remove the empty folder."
}
