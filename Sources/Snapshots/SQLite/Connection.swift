import CSQLite

/// One SQLite connection, owned by one thread, closed exactly once.
///
/// No function, collation or module is ever registered here: what a database needs from its application stays
/// unknown, and the copy falls back to pages instead of computing with stubs.
final class Connection {
  let handle: OpaquePointer
  /// Of an image: what of its schema is passed over, because our SQLite cannot read it.
  var passedOver: String?
  private var watch: Watch?

  /// - Parameter name: an absolute path (which can never be taken for a URI), or a URI with `SQLITE_OPEN_URI`.
  init(_ name: String, flags: Int32) throws(SQLiteFailure) {
    var opened: OpaquePointer?
    // Private also in an application that shares its cache among connections: ours would be its own, with its locks.
    let ours = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE
    let code = sqlite3_open_v2(name, &opened, flags | ours, nil)
    guard code == SQLITE_OK, let opened else {
      let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      let systemError = opened.map { sqlite3_system_errno($0) } ?? 0
      sqlite3_close_v2(opened)
      throw SQLiteFailure(code: code, message: message, systemError: systemError)
    }
    handle = opened
  }

  /// Opens an empty file of ours that a copy is written to, page by page: it need not survive a power cut, and may have as
  /// many pages as any database. By itself SQLite before 3.45 stops at 2^30 - 1 and says that the disk is full.
  convenience init(writingCopy image: String) throws(SQLiteFailure) {
    try self.init(image, flags: SQLITE_OPEN_READWRITE)
    try makeCopy()
  }

  /// See `init(writingCopy:)`.
  func makeCopy() throws(SQLiteFailure) {
    for pragma in [
      "journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=100", "max_page_count=4294967294",
    ] { try execute("PRAGMA \(pragma)") }
  }

  deinit { sqlite3_close_v2(handle) }

  /// Runs SQL to its end; `texts` are bound in order.
  func execute(_ sql: String, _ texts: String...) throws(SQLiteFailure) {
    _ = try rows(sql, texts, limit: .max)
  }

  /// After a write that failed, SQLite leaves what it began to whoever reads next. Now that is us.
  /// - Returns: whether the old content stands there.
  func hasRolledBack() -> Bool { (try? integer("PRAGMA schema_version")) != nil }

  /// The first column of the first row as a number; 0 when there is no row.
  func integer(_ sql: String) throws(SQLiteFailure) -> Int {
    Int(try rows(sql, [], limit: 1).first ?? "0") ?? 0
  }

  /// The first column of at most `limit` rows, as text.
  func rows(_ sql: String, _ texts: [String] = [], limit: Int) throws(SQLiteFailure) -> [String] {
    var found: [String] = []
    try read(sql, texts, limit: limit, into: &found)
    return found
  }

  /// The same, into what holds the rows before a failure as well.
  func read(
    _ sql: String, _ texts: [String] = [], limit: Int, into found: inout [String]
  ) throws(SQLiteFailure) {
    var statement: OpaquePointer?
    try demand(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
    defer { sqlite3_finalize(statement) }
    for (index, text) in texts.enumerated() {
      try demand(sqlite3_bind_text(statement, Int32(index + 1), text, -1, sl_transient()))
    }
    while true {
      let code = sqlite3_step(statement)
      guard code == SQLITE_ROW else { return try demand(code == SQLITE_DONE ? SQLITE_OK : code) }
      found.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
      if found.count >= limit { return }
    }
  }

  /// Throws what this connection says went wrong, unless `code` is `SQLITE_OK`.
  func demand(_ code: Int32) throws(SQLiteFailure) {
    guard code != SQLITE_OK else { return }
    throw SQLiteFailure(
      code: code, message: String(cString: sqlite3_errmsg(handle)), systemError: sqlite3_system_errno(handle))
  }

  /// Lets `watch` interrupt long statements and decide how long to wait for a lock.
  func obey(_ watch: Watch) {
    self.watch = watch
    let context = Unmanaged.passUnretained(watch).toOpaque()
    // 4000 operations take about 1 ms; the cost of the callback cannot be measured.
    sqlite3_progress_handler(
      handle, 4000, { Unmanaged<Watch>.fromOpaque($0.unsafelyUnwrapped).takeUnretainedValue().goesOn() ? 0 : 1 },
      context)
    sqlite3_busy_handler(
      handle,
      { context, count in
        Unmanaged<Watch>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue().waitsForLock(count) ? 1 : 0
      }, context)
  }

  /// Lets the schema use whatever functions SQLite has. Mistrust protects from functions of an application that do more
  /// than compute, and no such function is here; but to SQLite 3.38 to 3.40 its own JSON functions are unsafe in a schema that is
  /// not trusted, and sound databases would be refused, or called malformed (`Docs/Decisions/0025`).
  func trustSchema() throws(SQLiteFailure) {
    try demand(sl_db_config_int(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, nil))
  }

  /// Holds no more pages than SQLite does by itself (2 MB): a database may ask for any number in its header
  /// (`PRAGMA default_cache_size`), on purpose or because a byte of it has fallen over. Reads the schema; where that cannot be
  /// read there is no cache to fill.
  func limitCache(of schema: String = "main") { try? execute("PRAGMA \(schema).cache_size=-2000") }

  /// Ends a transaction, if there is one.
  func rollBack() {
    if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
  }

  /// The file has lost its name, or its name now stands for another one.
  var hasMoved: Bool {
    var moved: Int32 = 0
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || moved != 0
  }

  /// SQLite's own open file of the database, through which bytes can be read without a second `open`: closing
  /// a second descriptor would drop every POSIX lock this process holds on the file.
  var mainFile: UnsafeMutablePointer<sqlite3_file>? { file(SQLITE_FCNTL_FILE_POINTER) }

  /// SQLite's open -wal or -journal; nil before the first read.
  var journalFile: UnsafeMutablePointer<sqlite3_file>? { file(SQLITE_FCNTL_JOURNAL_POINTER) }

  private func file(_ operation: Int32) -> UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", operation, &file) == SQLITE_OK else { return nil }
    return file?.pointee.pMethods == nil ? nil : file
  }

  /// The first `count` bytes of the database file, without its -wal; fewer when it is shorter.
  func leadingBytes(_ count: Int) throws(SQLiteFailure) -> [UInt8] { try bytes(at: 0, count) }

  /// Bytes of the database file, without its -wal; fewer where it ends before.
  func bytes(at offset: Int, _ count: Int) throws(SQLiteFailure) -> [UInt8] {
    guard let file = mainFile, let methods = file.pointee.pMethods else { return [] }
    var size: sqlite3_int64 = 0
    try Self.demandDisk(methods.pointee.xFileSize(file, &size))
    let wanted = min(count, Int(size) - offset)
    guard wanted > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: wanted)
    let code = methods.pointee.xRead(file, &bytes, Int32(wanted), sqlite3_int64(offset))
    // It was cut meanwhile.
    guard code != Self.shortRead else { return [] }
    try Self.demandDisk(code)
    return bytes
  }

  private static let shortRead = SQLITE_IOERR | (2 << 8)

  private static func demandDisk(_ code: Int32) throws(SQLiteFailure) {
    guard code != SQLITE_OK else { return }
    throw SQLiteFailure(code: code, message: String(cString: sqlite3_errstr(code)))
  }
}
