import CSQLite
import Platform

/// A file of ours that a copy is written to, in a folder where others may exchange names: SQLite opens by name, and whoever
/// may write in that folder decides where the name leads.
package struct OwnFile: Sendable {
  /// Real path: SQLite follows no link on it.
  package var path: String
  /// The file itself, open for reading and writing as long as this is in use.
  package var descriptor: Int32
  /// Called before SQLite opens it; for tests.
  var opening: @Sendable () throws -> Void = {}

  package init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  /// Opens it, emptied, for a copy.
  ///
  /// What SQLite has opened is this file when it reads there what was just written here. Nothing is written by name before
  /// that, and afterwards the name is of no matter: such a copy has no journal.
  /// - Throws: `.spool` where the name leads elsewhere by now; that is left as it is.
  func openForCopy() throws -> Connection {
    let mark = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
    try empty()
    try mark.withUnsafeBytes { try writeBytes($0, to: descriptor, path, at: 0) }
    guard isNamed else { throw exchanged }
    try opening()
    let copy = try Connection(path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW)
    guard try copy.bytes(at: 0, mark.count) == mark else { throw exchanged }
    try empty()
    try copy.makeCopy()
    return copy
  }

  func synchronize() throws(SnapshotError) {
    guard fsync(descriptor) == 0 else { throw imageError(path, errno) }
  }

  private func empty() throws(SnapshotError) {
    guard ftruncate(descriptor, 0) == 0 else { throw imageError(path, errno) }
  }

  /// A pipe or a device is not even to be opened.
  private var isNamed: Bool {
    var (own, named) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && lstat(path, &named) == 0 && own.st_dev == named.st_dev
      && own.st_ino == named.st_ino
  }

  private var exchanged: SnapshotError {
    SnapshotError(
      .spool, "\(path) is another file by now than the one that was made",
      hint: "Nothing was changed. Somebody else may write in that folder, and has exchanged it.")
  }
}
