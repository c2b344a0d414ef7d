import CSQLite

/// Copies the pages of `source` into the empty file `image`, inside one read transaction.
///
/// Without the held transaction a copy in steps starts again at every commit of another process, for ever
/// under a busy writer; with it the copy is the state at its beginning, and needs no schema.
/// - Parameter stepDone: called before the first step and after each (those of the request, if it names any) with the pages done, the pages in all, and page 1's
///   header as the transaction saw it.
/// - Returns: page 1's header as the transaction saw it, nil if it could not be seen.
/// - Throws: `SQLiteFailure` as SQLite put it, or `SnapshotError`, or what `stepDone` throws.
func copyByPages(
  _ source: Source, into image: String, _ request: SnapshotRequest, _ transaction: ReadTransaction, _ watch: Watch,
  stepDone: (Int, Int, DatabaseHeader?) throws -> Void
) throws -> DatabaseHeader? {
  let connection = source.connection
  try connection.execute("PRAGMA query_only=1")
  let capture = HeaderCapture(connection)
  defer { capture.end() }
  try connection.execute("BEGIN")
  transaction.begins()
  // Reads page 1 and nothing else: a schema that cannot be parsed is copied like any other page.
  _ = try connection.integer("PRAGMA schema_version")
  capture.end()
  transaction.lookForWriters()
  defer {
    transaction.lookForWriters()
    try? connection.execute("COMMIT")
    transaction.ends()
  }

  let steps = CopySteps(pages: request.pagesPerStep)
  func demandProgress(_ done: Int, of total: Int) throws {
    try watch.check()
    transaction.lookForWriters()
    try transaction.demandModestWal()
    if steps.ends(at: done, of: total) { try stepDone(done, total, capture.header) }
  }

  if let header = capture.header, source.damage == nil, let still = StillCopy(source, header) {
    try demandSpace(still.pageCount * (header.pageSize ?? 65536) + spaceToSpare, in: request.spoolFolder)
    try stepDone(0, still.pageCount, header)
    try still.write(to: image, by: steps) { try demandProgress($0, of: still.pageCount) }
    return header
  }

  let copy = try Connection(writingCopy: image)
  guard let backup = sqlite3_backup_init(copy.handle, "main", connection.handle, "main") else {
    throw SQLiteFailure(
      code: sqlite3_extended_errcode(copy.handle), message: String(cString: sqlite3_errmsg(copy.handle)))
  }
  var finished = false
  defer { if !finished { sqlite3_backup_finish(backup) } }

  // A step of no pages: it only tells how many there are.
  try demandStep(sqlite3_backup_step(backup, 0))
  let total = pages(sqlite3_backup_pagecount(backup))
  let pageSize = capture.header?.pageSize ?? 65536
  try demandSpace(total * pageSize + spaceToSpare, in: request.spoolFolder)

  try stepDone(0, total, capture.header)
  let mostPages = max(1, (1 << 20) / pageSize)
  var done = 0
  while true {
    let code = sqlite3_backup_step(backup, Int32(steps.next(after: done, atMost: mostPages)))
    if code == SQLITE_DONE { break }
    try demandStep(code)
    done = total - pages(sqlite3_backup_remaining(backup))
    try demandProgress(done, of: total)
  }
  finished = true
  try demandStep(sqlite3_backup_finish(backup))
  return capture.header
}

/// SQLite counts up to 2^32 - 2 pages, and hands the number out as if it were signed.
func pages(_ count: Int32) -> Int { Int(UInt32(bitPattern: count)) }

private func demandStep(_ code: Int32) throws(SQLiteFailure) {
  guard code != SQLITE_OK else { return }
  throw SQLiteFailure(code: code, message: String(cString: sqlite3_errstr(code)))
}
