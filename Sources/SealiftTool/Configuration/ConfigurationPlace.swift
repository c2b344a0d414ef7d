import Glibc

/// Where a configuration is looked for though nobody named it.
struct ConfigurationPlace {
  let path: String
  /// What a variable names; `nil` for the system's own.
  let folder: String?

  /// Also where a link leads nowhere, or a folder cannot be entered: then it is not known to be absent, and the next place
  /// may say something else.
  var mayBeThere: Bool {
    var status = stat()
    guard lstat(path, &status) != 0 else { return true }
    return ![ENOENT, ENOTDIR].contains(errno) && !isOutOfReach
  }

  /// Nobody puts something there for a user who cannot enter the folder, and whose it is not: a service has been started
  /// with root's HOME, or homes are hidden from it.
  private var isOutOfReach: Bool {
    guard let folder else { return false }
    var status = stat()
    guard lstat("\(folder)/.", &status) != 0, errno == EACCES else { return false }
    return stat(folder, &status) != 0 || status.st_uid != geteuid()
  }

  /// What is in root's own folder root has put there, whosever file it is, as one that a container mounts. In another
  /// user's it is that user's word; root comes there with a HOME that was kept.
  var isTrusted: Bool {
    guard let folder, geteuid() == 0 else { return true }
    var status = stat()
    return stat(folder, &status) == 0 && status.st_uid == 0 && status.st_mode & 0o002 == 0
  }
}
