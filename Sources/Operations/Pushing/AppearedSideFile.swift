import Glibc
import Platform

/// A file that SQLite made beside a database because we opened it.
struct AppearedSideFile {
  let path: String
  /// It is this user's and the database is not: who owns that may not be able to open it.
  let isInTheWay: Bool

  init(_ path: String, of database: String) {
    self.path = path
    var own = stat()
    var source = stat()
    isInTheWay =
      stat(path, &own) == 0 && stat(database, &source) == 0 && own.st_uid == geteuid() && own.st_uid != source.st_uid
  }

  /// What is to be told as long as such files lie beside a database, since this run or an earlier one; nil where none do.
  ///
  /// A -wal that holds something was written by somebody who uses the database with these files: they are in nobody's way.
  static func shortfall(of database: DatabaseSource) -> OperationError? {
    var wal = stat()
    guard let real = realPath(database.path), stat(real + "-wal", &wal) != 0 || wal.st_size == 0 else { return nil }
    let files = ["-wal", "-shm"].map { AppearedSideFile(real + $0, of: real) }.filter(\.isInTheWay).map(\.path)
    guard !files.isEmpty else { return nil }
    return OperationError(
      .partlyDone, code: "sideFilesLeft",
      "'\(database.name)': SQLite made \(files.joined(separator: " and ")) for us, as this user's: the database's owner may not be able to open it until that is removed",
      hint: "Remove it while nothing has the database open, and run sealift as the owner of the database.")
  }
}
