import CSQLite

/// Opens a live database so that it is only ever read.
struct SourceConnection {
  let connection: Connection
  /// Read without locks, because SQLite could not make its side files: the file is compared afterwards.
  let isImmutable: Bool

  /// - Throws: `SnapshotError` that explains what stands in the way.
  init(_ file: SourceFile, busyTimeout: Duration, allowRecovery: Bool) throws {
    do {
      connection = try Self.open(file, flags: allowRecovery ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, busyTimeout)
      isImmutable = false
    } catch let failure as SQLiteFailure {
      guard Self.isBlockedByFolder(failure), Self.mayBeImmutable(file) else { throw Self.explain(failure, file) }
      do {
        connection = try Self.openImmutable(file)
        isImmutable = true
      } catch let failure as SQLiteFailure {
        throw Self.explain(failure, file)
      }
    }
  }

  private static func open(_ file: SourceFile, flags: Int32, _ busyTimeout: Duration) throws -> Connection {
    let connection = try Connection(file.path, flags: flags)
    connection.wait(milliseconds: Int32(min(Double(Int32.max), busyTimeout / .milliseconds(1))))
    try prepare(connection)
    return connection
  }

  private static func openImmutable(_ file: SourceFile) throws -> Connection {
    let connection = try Connection(
      "file:\(URIPath.encode(file.path))?immutable=1&mode=ro", flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
    try prepare(connection)
    return connection
  }

  /// The last reader that leaves would checkpoint; a hostile schema could call functions: both are switched off.
  private static func prepare(_ connection: Connection) throws {
    connection.set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, to: true)
    connection.set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, to: false)
    try connection.execute("PRAGMA mmap_size = 0")
    try connection.execute("PRAGMA cell_size_check = 1")
    // Touches the file: a hot journal or a folder that cannot be written shows here.
    try connection.execute("PRAGMA schema_version")
  }

  private static func isBlockedByFolder(_ failure: SQLiteFailure) -> Bool {
    failure.code == SQLiteFailure.readOnlyDirectory || failure.code == SQLiteFailure.readOnlyCannotInit
      || failure.code == SQLiteFailure.readOnlyRecovery || failure.primary == SQLITE_CANTOPEN
  }

  /// No journal, no content in the -wal, and nothing touched for two seconds: then nobody is writing.
  private static func mayBeImmutable(_ file: SourceFile) -> Bool {
    file.size(of: "-journal") == nil && (file.size(of: "-wal") ?? 0) == 0
      && ((try? SourceSignature.read(file.path))?.isSettled ?? false)
  }

  /// SQLite's words, and what a person can do.
  static func explain(_ failure: SQLiteFailure, _ file: SourceFile) -> SnapshotError {
    switch failure.code {
    case SQLiteFailure.readOnlyRollback:
      return SnapshotError(
        .hotJournal, "\(file.path) has a journal of a transaction that a crash left half done",
        hint: "Start the application once so that SQLite undoes it, or say --allow-recovery.", cause: failure)
    case SQLiteFailure.readOnlyDirectory, SQLiteFailure.readOnlyCannotInit, SQLiteFailure.readOnlyRecovery,
      SQLiteFailure.readOnlyCannotLock:
      return readOnlyFolder(failure, file)
    default: break
    }
    switch failure.primary {
    case SQLITE_CANTOPEN where file.size(of: "-wal") != nil: return readOnlyFolder(failure, file)
    case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
      return SnapshotError(
        .unreadable, "SQLite cannot open \(file.path): \(failure.message)",
        hint: "Run sealift as the owner of the database.", cause: failure)
    case SQLITE_BUSY, SQLITE_LOCKED:
      return SnapshotError(
        .busy, "\(file.path) stayed locked by a writer for longer than the busy timeout",
        hint: "Push at a quieter time, or raise \"busyTimeout\".", cause: failure)
    case SQLITE_NOTADB:
      return SnapshotError(.notADatabase, "\(file.path) is not a SQLite database, or is encrypted", cause: failure)
    case SQLITE_CORRUPT: return SnapshotError(.damaged, "\(file.path) is damaged: \(failure.message)", cause: failure)
    case SQLITE_FULL:
      return SnapshotError(
        .noSpace, "no space for the copy", hint: "Make room where the state folder lies.", cause: failure)
    case SQLITE_INTERRUPT: return SnapshotError(.cancelled, "interrupted", cause: failure)
    default: return SnapshotError(.sqlite, "SQLite cannot read \(file.path): \(failure.message)", cause: failure)
    }
  }

  private static func readOnlyFolder(_ failure: SQLiteFailure, _ file: SourceFile) -> SnapshotError {
    SnapshotError(
      .readOnlyFolder,
      "reading \(file.path) in WAL mode needs its -shm file, and \(file.folder) cannot be written by this user",
      hint: "Run sealift as the owner of the database, or keep the application running while it reads.", cause: failure)
  }
}
