import Platform
import Snapshots

/// Where SQLite's locks are not to be believed.
package enum LockTrust {
  /// - Parameter tables: only tables are restored.
  /// - Throws: `.failed`, code `untrustedLocks`.
  package static func demand(_ path: String, tables: Bool = false) throws {
    if let refusal = refusal(of: path, on: FileSystemKind.of(path: path), tables: tables) { throw refusal }
  }

  /// What replaces the whole database is no way to restore some of its tables.
  static func refusal(of path: String, on kind: FileSystemKind, tables: Bool) -> OperationError? {
    guard let reason = kind.reason else { return nil }
    return OperationError(
      .failed, code: "untrustedLocks",
      "\(path) is on a file system where SQLite's locks cannot be trusted: \(reason)",
      hint: tables
        ? "Restore where the database is local, or restore the whole version beside it and copy the rows."
        : "Stop what uses the database and restore with --replace, or restore where the database is local.")
  }

  /// Before anything is fetched. It is asked again where the database is opened: hours may lie between.
  /// - Throws: `.failed`, code `untrustedLocks`, where a program locks the database its own way just now.
  static func demandNoLockFolder(_ path: String) throws {
    guard let folder = LockFolder.beside(path) else { return }
    guard !isShared(path) else { return }
    throw OperationError(LockFolder.refusal(of: path, folder))
  }

  /// Somebody is in the -shm of a database, which is in WAL mode then, and goes by the system's locks: SQLite's
  /// `unix-dotfile` knows no shared memory. A folder `NAME.lock` beside it is the application's own.
  static func isShared(_ path: String) -> Bool {
    let shm = (realPath(path) ?? path) + "-shm"
    guard let file = FileIdentity(at: shm) else { return false }
    if !ProcessTable(holding: [shm: file]).holders.isEmpty { return true }
    // To ask a file for its locks opens it: this process has it not open, or it would be among them.
    return FileLocks.holder(of: shm, FileLocks.sharedMemory) != nil
  }
}
