import CSQLite

/// Writes a repacked copy of `source` into the empty file `image`.
///
/// Measured with 3.40.1: the copy and its -journal stay within the spool folder and keep the mode 0600 of the
/// file we made; no other temporary file is used, because whole tables and indexes are transferred in order
/// and nothing is sorted. `query_only` cannot be set (it makes the statement fail).
/// - Parameter expecting: called before the first page is written with about how many there will be.
/// - Throws: `SQLiteFailure` as SQLite put it, or `SnapshotError`.
func copyByVacuum(
  _ source: Source, into image: String, _ request: SnapshotRequest, _ transaction: ReadTransaction,
  expecting: (Int) -> Void
) throws {
  let connection = source.connection
  // The connection writes nothing but the copy, which need not survive a power cut: no syncs.
  try connection.execute("PRAGMA synchronous=OFF")
  let pages = try connection.integer("PRAGMA page_count") - connection.integer("PRAGMA freelist_count")
  try demandSpace(pages * connection.integer("PRAGMA page_size") + spaceToSpare, in: request.spoolFolder)
  expecting(pages)
  transaction.begins()
  defer { transaction.ends() }
  try connection.execute("VACUUM INTO ?", image)
}

/// For the copy's journal and the file system's own books.
let spaceToSpare = 1 << 20
