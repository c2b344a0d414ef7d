/// The -wal of a database that others may have open, before something is written to it and after that was taken back.
///
/// It stays as long as it has become, and only its applications may cut it: where two checkpoint one database at once, pages
/// may be lost (SQLite's WAL-reset bug, 3.7.0 to 3.51.2), and a checkpoint that cuts the file keeps writers out while it
/// waits for readers. Where nobody else has the database open, closing it checkpoints it alone, and has removed the -wal.
struct GrownWal {
  private let path: String
  private let before: Int

  init(of database: String) {
    path = database + "-wal"
    before = fileSize(path) ?? 0
  }

  /// Called when our connections are closed.
  /// - Returns: the error, with what the -wal keeps of the disk in its hint.
  func told(with error: SnapshotError) -> SnapshotError {
    let grown = (fileSize(path) ?? 0) - before
    guard grown >= 1 << 20 else { return error }
    var told = error
    let remark =
      "The -wal beside it has grown by \(grown >> 20) MiB, which come free when its applications close it, or when one "
      + "of them runs PRAGMA wal_checkpoint(TRUNCATE)."
    told.hint = error.hint.map { "\($0) \(remark)" } ?? remark
    return told
  }
}
