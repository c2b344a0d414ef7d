import Glibc
import Platform
import Snapshots

/// A database whose file may be in use by another name.
///
/// SQLite looks for the -wal and the -shm beside the name that it is given. Where a container has the file alone, or the
/// name is a second link of it, those of the first name are not seen here, nor are the locks in that -shm: a copy is sound,
/// and of an earlier moment (https://sqlite.org/howtocorrupt.html, "Multiple links to the same file").
struct OtherNames {
  /// The name that was looked at, without symbolic links.
  let real: String
  /// Something is mounted right there; else the file has a second link.
  let isMounted: Bool

  /// Nil where nobody can be using another name.
  init?(of path: String, _ isMountPoint: (String) -> Bool) {
    var status = stat()
    guard let real = realPath(path), stat(real, &status) == 0 else { return nil }
    isMounted = isMountPoint(real)
    if status.st_nlink > 1 {
      let left = nlink_t(Self.leftNames(of: real, FileIdentity(status)))
      status.st_nlink -= min(left, status.st_nlink - 1)
    }
    guard isMounted || status.st_nlink > 1 else { return nil }
    self.real = real
  }

  /// How many names restores that were killed have left it, which nobody uses: right before they moved it away, and
  /// right after they gave it its own.
  private static func leftNames(of real: String, _ file: FileIdentity) -> Int {
    var names = RestoredFile.leftovers(besides: real)
    if case .notBegun(let aside) = ReplaceIntent(database: real).state { names.append(aside) }
    return names.filter { FileIdentity(at: $0) == file }.count
  }

  /// `nil` for what is no database.
  var isWAL: Bool? {
    guard case .database(let facts)? = try? identify(real).kind else { return nil }
    return facts.isWAL
  }

  /// Of a push. A -wal beside this name proves that it is the one in use. A file that is mounted alone is nearly always in
  /// use outside; a second link is most often a copy that somebody keeps.
  func tell(of database: DatabaseSource, _ outcome: inout Push.Outcome, _ world: World) {
    var wal = stat()
    guard stat(real + "-wal", &wal) != 0 || wal.st_size == 0 else { return }
    guard isWAL == true else { return }
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
