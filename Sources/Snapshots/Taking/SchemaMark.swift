import CSQLite
import Platform

/// What decides whether a database can be vacuumed here, as far as its file tells without a lock: once any of it is another,
/// a vacuum that failed may well succeed.
///
/// A schema that was changed in the -wal shows when that was checkpointed.
package struct SchemaMark: Sendable, Hashable, CustomStringConvertible {
  private let cookie: Int
  private let userVersion: Int
  private let inode: UInt64
  /// The release of SQLite that works here.
  private let release: String

  /// - Returns: nil where there is no database to be looked at.
  package init?(of path: String) {
    guard let identity = try? identify(path) else { return nil }
    self.init(identity)
  }

  init?(_ identity: Identity) {
    var status = stat()
    guard case .database(let facts) = identity.kind, stat(identity.path, &status) == 0 else { return nil }
    cookie = facts.schemaCookie
    userVersion = facts.userVersion
    inode = UInt64(status.st_ino)
    release = String(cString: sqlite3_libversion())
  }

  /// On one line.
  package var description: String {
    "schema \(cookie), user version \(userVersion), inode \(inode), SQLite \(release)"
  }
}
