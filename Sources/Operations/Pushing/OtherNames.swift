import Glibc
import Snapshots

/// A database in WAL mode whose file may be in use by another name.
///
/// SQLite looks for the -wal beside the name that it is given. Where a container has the file alone, or the name is a
/// second link of it, what is committed by the first name lies in a -wal that is not seen here: the copy is sound, and of
/// an earlier moment (https://sqlite.org/howtocorrupt.html, "Multiple links to the same file").
struct OtherNames {
  private let database: DatabaseSource
  private let isMounted: Bool

  /// Nil where nobody can be using another name, or a -wal beside this one proves that it is the one in use.
  init?(of database: DatabaseSource, _ isMountPoint: (String) -> Bool) {
    var status = stat()
    guard let real = realPath(database.path), stat(real, &status) == 0 else { return nil }
    isMounted = isMountPoint(real)
    guard isMounted || status.st_nlink > 1 else { return nil }
    var wal = stat()
    guard stat(real + "-wal", &wal) != 0 || wal.st_size == 0 else { return nil }
    guard case .database(let facts)? = try? identify(real).kind, facts.isWAL else { return nil }
    self.database = database
  }

  /// A file that is mounted alone is nearly always in use outside; a second link is most often a copy that somebody keeps.
  func tell(_ outcome: inout Push.Outcome, _ world: World) {
    guard isMounted else {
      return world.reporter.notice(
        "\(database.name): its file has another name (a hard link): what is committed by that one, and not yet checkpointed, is not in this version"
      )
    }
    outcome.shortfalls.append(
      OperationError(
        .partlyDone, code: "mountedAlone",
        "'\(database.name)': the file \(database.path) is mounted by itself, and no -wal with content is beside it: what is committed by its other name, and not yet checkpointed, is not in this version",
        hint: "Mount the folder of the database, so that its -wal is there too."))
  }
}
