import Glibc

extension Restore {
  /// What stands where a database is meant to be: its file with something in it, or a -wal or journal, which may be all
  /// that is left of one. None of it is looked into. What a restore that was cut has left is not that: it has no name yet.
  /// Nor is a folder, such as a container makes where a file that it was to mount is missing.
  /// - Returns: the path of the first that is there.
  package static func standing(at path: String) -> String? {
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 { return path }
    return ["-wal", "-journal"].map { path + $0 }.first { lstat($0, &status) == 0 }
  }
}
