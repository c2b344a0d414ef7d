import CSQLite
import Platform

/// A live database, opened so that nothing we do can change it: read-only, never checkpointing, never
/// recovering (unless that was asked for).
final class Source {
  let path: String
  let connection: Connection
  /// The state before the read transaction begins: at least as old as what is copied.
  private(set) var signature: SourceSignature
  /// The file promises that it is read through a -wal.
  let isWAL: Bool
  /// Opened without locks, because SQLite can make no -shm in this folder, or should not, and nobody can be writing.
  let isImmutable: Bool
  /// Opened so where SQLite could lock it: when somebody writes meanwhile, the copy is begun anew with locks.
  let isTentative: Bool
  /// Whoever wants to write waits until it was read.
  var blocksWriters: Bool { !isWAL && !isImmutable }
  /// Others may read the copy while it is written: it holds nobody up, and is not begun anew.
  var growsInSight: Bool { !blocksWriters && !isTentative }
  /// SQLite calls the file malformed before it even reads a table; only its pages can be copied.
  let damage: String?

  /// - Parameter path: the real path, without symbolic links.
  /// - Throws: `SnapshotError`.
  static func open(_ path: String, _ request: SnapshotRequest, _ watch: Watch) throws -> Source {
    do {
      return try Source(path, as: .live, watch)
    } catch let failure as SQLiteFailure {
      if let refusal = watch.refusal { throw refusal }
      // Beside the folder by which its writer locks it, that one may be alive.
      if failure.code == ExtendedCode.readOnlyRollback, request.allowRecovery, LockFolder.beside(path) == nil {
        try recover(path, watch)
        return try open(path, request.withoutRecovery, watch)
      }
      if failure.primary == SQLITE_CORRUPT {
        return try explaining(path) { try Source(path, as: .damaged(failure.message), watch) }
      }
      guard failure.primary == SQLITE_CANTOPEN || failure.code == ExtendedCode.readOnlyDirectory,
        !isWritable(folder(of: path))
      else { throw failure.explained(of: path) }
      try demandNoWriter(path, watch, failure)
      return try explaining(path) { try Source(path, as: .immutable, watch) }
    }
  }

  /// Opens a closed WAL database of another user so that nothing of ours is left beside it.
  /// - Returns: nil where SQLite's own way leaves nothing, or where this one is refused: somebody may be writing.
  /// - Throws: `SnapshotError` `.cancelled`.
  static func openLeavingNothing(_ path: String, _ watch: Watch) throws -> Source? {
    guard wouldLeaveFiles(beside: path) else { return nil }
    do {
      try demandNoWriter(path, watch)
      let source = try Source(path, as: .tentative, watch)
      // Whoever has opened it meanwhile has made them already.
      return sideFiles(of: path).isEmpty ? source : nil
    } catch {
      try watch.check()
      return nil
    }
  }

  private enum Opening {
    case live
    case immutable
    case tentative
    case damaged(String)
  }

  private init(_ path: String, as opening: Opening, _ watch: Watch) throws {
    self.path = path
    let before = try SourceSignature.read(path)
    try demandFiles(beside: path)
    switch opening {
    case .live: (isImmutable, isTentative, damage) = (false, false, nil)
    case .immutable: (isImmutable, isTentative, damage) = (true, false, nil)
    case .tentative: (isImmutable, isTentative, damage) = (true, true, nil)
    case .damaged(let message): (isImmutable, isTentative, damage) = (false, false, message)
    }
    connection =
      isImmutable
      ? try Connection(reading: immutableURI(path), flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, watch)
      : try Connection(reading: path, watch)
    // A file shorter than its header says is only readable while the schema counts as writable; the
    // connection remains read-only.
    if damage != nil { try connection.execute("PRAGMA writable_schema=1") }
    // The first read, which opens the -wal and finds every reason not to.
    _ = try connection.integer("PRAGMA schema_version")
    signature = isImmutable ? before : try before.afterOpening(path)
    connection.limitCache()
    isWAL = DatabaseHeader(try connection.leadingBytes(DatabaseHeader.size))?.isWAL ?? false
  }

  /// Another connection of ours has opened the database: what that does to its -wal is no change.
  func noteOwnOpening() {
    if let now = try? SourceSignature.read(path) { signature = signature.afterOwnerIsGiven(now) }
  }

  /// Throws `.changedMeanwhile` when a file that was read without locks is not what it was.
  func demandUnchanged() throws(SnapshotError) {
    guard isImmutable else { return }
    guard try SourceSignature.read(path) == signature, !exists(path + "-journal") else {
      throw SnapshotError(
        .changedMeanwhile, "\(path) changed while it was copied from a folder that we may not write to",
        hint: "Run as the user who owns the database, so that SQLite can lock it.")
    }
  }
}

/// Lets SQLite roll back what a dead writer left. Its -wal, if it has one, is not checkpointed.
private func recover(_ path: String, _ watch: Watch) throws {
  try demandNothingPlanted(beside: path, watch)
  try explaining(path) {
    let connection = try Connection(reading: path, flags: SQLITE_OPEN_READWRITE, watch)
    // Where it may not write, SQLite has opened it for reading, and would leave the transaction as it is.
    guard !connection.isReadOnly else {
      throw SnapshotError(
        .hotJournal,
        "\(path) was left in the middle of a transaction by a writer that died, and this user may not roll it back",
        hint: "Run as the user who owns the database, or let its application open it once."
      ).heedingReadOnlyMount(of: path)
    }
    _ = try connection.integer("PRAGMA schema_version")
  }
}

/// The rule for reading without locks: SQLite can make no files in the folder, or none is there (the caller knows), there is
/// no journal and no -wal with content, and nothing was touched for two seconds. Waits for those.
private func demandNoWriter(_ path: String, _ watch: Watch, _ failure: SQLiteFailure? = nil) throws {
  func refusal(isAtRest: Bool) -> SnapshotError {
    SnapshotError(
      .readOnlyFolder, "\(path) is in use, and SQLite may not make the files it needs in this folder",
      hint: "Run as the user who owns the database.", cause: failure
    ).heedingReadOnlyMount(of: path, isAtRest: isAtRest)
  }
  for _ in 0..<30 {
    try watch.check()
    let signature = try SourceSignature.read(path)
    guard !exists(path + "-journal"), signature.wal == nil else { throw refusal(isAtRest: signature.isSettled) }
    if signature.isSettled { return }
    usleep(100_000)
  }
  throw refusal(isAtRest: false)
}

/// SQLite would make a -wal and a -shm here and leave them, as this user's: the owner of the database could not open it any
/// more. Root gives them to the owner.
private func wouldLeaveFiles(beside path: String) -> Bool {
  var status = stat()
  guard geteuid() != 0, stat(path, &status) == 0, status.st_uid != geteuid(), sideFiles(of: path).isEmpty,
    isWritable(folder(of: path)), case .database(let facts)? = try? identify(path).kind
  else { return false }
  return facts.isWAL
}

private func isWritable(_ folder: String) -> Bool { faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0 }

/// - Parameter folder: where the work writes a copy, if it does.
func explaining<Value>(_ path: String, into folder: String? = nil, _ work: () throws -> Value) throws -> Value {
  do {
    return try work()
  } catch let failure as SQLiteFailure {
    throw folder.map { failure.explained(copying: path, into: $0) } ?? failure.explained(of: path)
  }
}

extension Connection {
  /// Opens a live database to read it.
  /// - Parameter flags: of `sqlite3_open_v2`.
  convenience init(reading path: String, flags: Int32 = SQLITE_OPEN_READONLY, _ watch: Watch) throws(SQLiteFailure) {
    try self.init(path, flags: flags)
    try configure(watch)
  }

  /// What every connection to a live database must have before its first read.
  private func configure(_ watch: Watch) throws(SQLiteFailure) {
    obey(watch)
    // SQLite's WAL-reset bug (3.7.0 to 3.51.2) needs a second process that checkpoints: never be that one.
    try demand(sl_db_config_int(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nil))
    try demand(sqlite3_wal_autocheckpoint(handle, 0))
    try trustSchema()
    try execute("PRAGMA mmap_size=0")
    try execute("PRAGMA cell_size_check=1")
  }
}

extension SnapshotRequest {
  fileprivate var withoutRecovery: SnapshotRequest {
    var request = self
    request.allowRecovery = false
    return request
  }
}
