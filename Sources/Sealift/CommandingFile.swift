import Glibc
import Snapshots

/// A file that says which commands are run and where secrets are sent: who may change it acts as the user that we are.
package enum CommandingFile {
  package static let exposed = "anybody may change it"
  package static let foreign = "it is another user's"

  /// The whole content.
  /// - Parameters:
  ///   - isTrusted: somebody named it, or only root can have put it there: whose it is is up to them.
  ///   - isReadOnly: how its file system is mounted; for tests.
  /// - Throws: `FileContent.Failure`, also for the reasons above.
  package static func read(
    _ path: String, limit: Int, isTrusted: Bool, isReadOnly: Bool? = nil
  ) throws(FileContent.Failure) -> [UInt8] {
    try FileContent.read(
      path, limit: limit,
      accepting: { (status, file) throws(FileContent.Failure) in
        guard status.st_mode & S_IFMT == S_IFREG else { return }
        let isOpenToAll = status.st_mode & 0o002 != 0 && !(isReadOnly ?? isMountedReadOnly(file))
        if isOpenToAll, FileSystemKind.of(path: path).keepsModes {
          throw FileContent.Failure(reason: exposed)
        }
        if !isTrusted, geteuid() == 0, status.st_uid != 0 { throw FileContent.Failure(reason: foreign) }
      })
  }

  /// As what a container is given often is: the bits let nobody write there, and nobody can mend them.
  private static func isMountedReadOnly(_ file: Int32) -> Bool {
    var facts = statvfs()
    // ST_RDONLY
    return fstatvfs(file, &facts) == 0 && facts.f_flag & 1 != 0
  }
}
