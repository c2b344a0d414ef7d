import CSQLite
import Platform

/// What SQLite answered: its extended result code and its own words.
struct SQLiteFailure: Error, CustomStringConvertible {
  let code: Int32
  let message: String
  /// The next time it may well be otherwise.
  var isPassing = false
  /// What the system said, where it would not have a file opened or made larger; of other codes that of an earlier call.
  var systemError: Int32 = 0

  /// The low byte, which says what kind of failure it is.
  var primary: Int32 { code & 0xff }

  var description: String { "\(message) (SQLite code \(code))" }
}

/// It has no room for a -shm, or for one more name.
private func isFull(_ folder: String) -> Bool {
  var facts = statvfs()
  guard statvfs(folder, &facts) == 0 else { return false }
  // Where names are made as they are needed, there is no number of them.
  return facts.freeBytes < 32 << 10 || facts.f_files > 0 && facts.f_favail == 0
}

/// Extended codes that are macros over other macros, which Swift does not import.
enum ExtendedCode {
  static let readOnlyRollback = SQLITE_READONLY | (3 << 8)
  static let readOnlyDirectory = SQLITE_READONLY | (6 << 8)
  static let sharedMemoryOpen = SQLITE_IOERR | (18 << 8)
  static let sharedMemorySize = SQLITE_IOERR | (19 << 8)
  static let sharedMemoryMap = SQLITE_IOERR | (21 << 8)
}

extension SQLiteFailure {
  /// A page that this machine could not read, for its disk or for want of memory, which a check lists among what is wrong:
  /// that says nothing of the database.
  /// - Parameter lines: of `quick_check` or `integrity_check`.
  init?(failedReadIn lines: [String]) {
    // Page 70: unable to get the page. error code=8458
    // Page 3: btreeInitPage() returns error code 266
    // Page 27: unable to get the page. error code=7
    for line in lines {
      let words = line.split(whereSeparator: { " =.:\n".contains($0) })
      for index in words.indices.dropFirst(2) where words[index - 2..<index] == ["error", "code"] {
        guard let code = Int32(words[index]) else { continue }
        let failure = SQLiteFailure(code: code, message: line)
        guard failure.isOfTheMachine else { continue }
        self = failure
        return
      }
    }
    return nil
  }

  /// The database needs a collation, a function or a module that only its application has. These are the
  /// words SQLite uses; all of them come with the plain `SQLITE_ERROR`.
  var needsApplicationCode: Bool {
    guard primary == SQLITE_ERROR else { return false }
    return [
      "no such collation sequence", "no such function", "unknown function", "unsafe use of", "no such module",
      "no such tokenizer", "unknown tokenizer",
    ]
    .contains { message.contains($0) }
  }

  /// A statement is no SQL, whatever the database has in it: these are SQLite's words for it.
  var isOfParsing: Bool {
    guard primary == SQLITE_ERROR else { return false }
    return message == "incomplete input" || message.hasPrefix("unrecognized token: ")
      || message.hasPrefix("near \"") && message.hasSuffix(": syntax error")
  }

  /// An expression of the schema (a generated column, an index, a CHECK) could not be computed here: it needs code of the
  /// application, or the value is of a form that only its SQLite knows, such as the JSON5 of 3.42 and the JSONB of 3.45.
  var stopsComputing: Bool { [SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_MISMATCH].contains(primary) }

  /// The database contradicts itself. A broken constraint counts too: rows that are copied exactly as they
  /// were can break one only when an index and its table already disagree.
  var meansDamage: Bool {
    [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_CONSTRAINT].contains(primary)
  }

  /// This machine could not, whatever is in the database.
  var isOfTheMachine: Bool { [SQLITE_NOMEM, SQLITE_IOERR, SQLITE_FULL].contains(primary) }

  /// A write failed for a reason other than a full disk: a quota, a limit on the size of files, the disk itself.
  private var isOfWriting: Bool {
    [3, 4, 5, 6, 10].contains { code == SQLITE_IOERR | ($0 << 8) }  // WRITE, FSYNC, DIR_FSYNC, TRUNCATE, DELETE
  }

  /// SQLite has room for 512 bytes of a path, `-journal` behind it included: what is longer it calls closed to us.
  private static let longestPath = 504

  private func isOfLongPath(_ path: String) -> Bool { primary == SQLITE_CANTOPEN && path.utf8.count > Self.longestPath }

  private func tooLong(_ path: String, _ code: SnapshotError.Code, _ hint: String) -> SnapshotError {
    let limit = "SQLite opens no database with a path of more than \(Self.longestPath) bytes"
    return SnapshotError(code, "\(limit), and \(path) has \(path.utf8.count)", hint: hint, cause: self)
  }

  private func ofLongCopy(_ path: String) -> SnapshotError {
    tooLong(
      path, .spool,
      "Name a folder with a shorter path: a state folder, a scratch folder, or that of what is restored; a link will not "
        + "do.")
  }

  /// The same failure as a person should hear it, met with a file of ours.
  func explained(ofCopy path: String) -> SnapshotError {
    isOfLongPath(path) ? ofLongCopy(path) : explained(of: path)
  }

  /// The same failure as a person should hear it, met with a database or with files of ours for a restore into it.
  /// - Parameter copies: their paths.
  func explained(of path: String, copies: [String]) -> SnapshotError {
    guard !isOfLongPath(path), let long = copies.first(where: { isOfLongPath($0) }) else { return explained(of: path) }
    return ofLongCopy(long)
  }

  /// The same failure as a person should hear it, met while a copy of `source` was written: nothing else is.
  /// - Parameter folder: where the copy is.
  func explained(copying source: String, into folder: String) -> SnapshotError {
    let copy = "\(folder)/\(randomName()).sqlite"
    if isOfLongPath(copy), !isOfLongPath(source) { return ofLongCopy(copy) }
    guard isOfWriting else { return explained(of: source) }
    return SnapshotError(
      .spool, "the copy of \(source) cannot be written to \(folder) (\(message), SQLite code \(code))",
      hint: "Look at the quota and the limit on the size of files, and at the kernel's log for errors of that disk.",
      cause: self)
  }

  /// The same failure as a person should hear it, met while an open database was written.
  /// - Parameter deed: what was being done to what.
  func ofTheDisk(while deed: String) -> SnapshotError {
    SnapshotError(
      .diskFailed, "the disk failed while \(deed) (\(message), SQLite code \(code))",
      hint: "What was begun is taken back, at the latest by whoever opens the database next. Look at the quota, the "
        + "limit on the size of files, and the kernel's log for errors of this disk.",
      cause: self)
  }

  /// What this machine is short of, where a file beside the database could not be made: SQLite calls it a disk that fails, or
  /// a database that is closed to us.
  private func refusalBySystem(of path: String) -> SnapshotError? {
    let isOfMemory = [ExtendedCode.sharedMemoryOpen, ExtendedCode.sharedMemorySize].contains(code)
    guard isOfMemory || primary == SQLITE_CANTOPEN, !isOfLongPath(path) else { return nil }
    func error(_ code: SnapshotError.Code, _ message: String, _ hint: String) -> SnapshotError {
      SnapshotError(code, message, hint: hint, cause: self)
    }
    let need = isOfMemory ? "SQLite needs 32 KiB beside a WAL database" : "SQLite could make no file beside it"
    switch systemError {
    case EMFILE, ENFILE:
      return error(
        .spool, "\(path), or a file beside it, cannot be opened: \(words(systemError))",
        "Raise the limit of open files (LimitNOFILE=, ulimit -n).")
    case EFBIG:
      return error(
        .noSpace, "\(need), which the limit on the size of files forbids: \(path)",
        "Raise that limit (LimitFSIZE=, ulimit -f).")
    case ENOSPC, EDQUOT: break
    // Where it may not make the file it looks whether there is one, and that there is none is all that is left.
    case 0, ENOENT:
      guard exists(path), isFull(folder(of: path)) else { return nil }
    default: return nil
    }
    return error(
      .noSpace, "the disk of \(path) is full, and \(need)", "Free space there; of many small files `df -i` may tell.")
  }

  /// The same failure as a person should hear it.
  func explained(of path: String) -> SnapshotError {
    func error(_ code: SnapshotError.Code, _ message: String, _ hint: String?) -> SnapshotError {
      SnapshotError(code, message, hint: hint, cause: self)
    }
    if let refusal = refusalBySystem(of: path) { return refusal }
    switch (primary, code) {
    case (_, ExtendedCode.readOnlyRollback):
      if let folder = LockFolder.beside(path) {
        return error(
          .hotJournal, "\(path) is in mid-transaction, and its writer may be alive: \(LockFolder.remark(folder))",
          LockFolder.wayOut)
      }
      return error(
        .hotJournal, "\(path) was left in the middle of a transaction by a writer that died",
        "Let its application open it once, or allow recovery with --allow-recovery, which rolls that transaction back."
      ).heedingReadOnlyMount(of: path)
    case (_, ExtendedCode.readOnlyDirectory):
      return error(
        .readOnlyFolder, "\(path) is in WAL mode, and SQLite may not make its -wal and -shm files in this folder",
        "Run as the user who owns the database, or try again when its application has it open."
      ).heedingReadOnlyMount(of: path)
    case _ where isOfLongPath(path):
      return tooLong(path, .unreadable, "Move it, or mount it, to where its path is shorter; a link will not do.")
    case (SQLITE_CANTOPEN, _), (SQLITE_PERM, _), (SQLITE_AUTH, _), (SQLITE_READONLY, _):
      return error(
        .unreadable, "\(path), or a file beside it, cannot be opened (\(message))",
        "Run as the user who owns the database; with a -wal beside it SQLite must be able to read and make the -shm too."
      )
    case (SQLITE_BUSY, _), (SQLITE_LOCKED, _):
      return error(
        .busy, "\(path) stayed locked by another process",
        "Try again when no long transaction is running, or wait longer: with a larger busyTimeout of that database in "
          + "the configuration. An application that locks its database for itself as long as it runs (browsers, "
          + "locking_mode=EXCLUSIVE) has to be closed first.")
    case (SQLITE_NOTADB, _) where (try? identify(path))?.kind == FileKind.foreign(.laterSQLite):
      var refusal = ForeignFormat.laterSQLite.refusal(of: path)
      refusal.cause = self
      return refusal
    case _ where isOfUnparsedSchema:
      return error(
        .sqlite, "the schema of \(path) may be of a later SQLite than ours (\(CheckOutcome.release)): \(message)",
        "Bring SQLite here to the release that its application has.")
    case (SQLITE_CORRUPT, _), (SQLITE_NOTADB, _):
      return error(
        .damaged, "\(path) is damaged so badly that SQLite cannot read it (\(message))",
        "Keep the file as it is, and restore the newest version that was taken before the damage.")
    case (SQLITE_FULL, _):
      return error(.noSpace, "the disk became full while \(path) was copied", "Free space, or move the state folder.")
    case (_, ExtendedCode.sharedMemoryMap):
      return error(
        .unreadable,
        "\(path) is in WAL mode, and the file system there cannot share memory between programs (\(message))",
        "Nobody can open it here: push on the machine that has the disk.")
    case (SQLITE_IOERR, _):
      return error(
        .unreadable, "the disk failed while \(path) was copied (\(message), SQLite code \(code))",
        "Look at the kernel's log for errors of this disk.")
    default:
      return error(.sqlite, "SQLite refused to copy \(path): \(message) (code \(code))", nil)
    }
  }
}
