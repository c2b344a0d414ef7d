import CSQLite
import Platform

/// What a file is, as far as it can be told without locking it or making files beside it.
package enum FileKind: Sendable, Hashable {
  case database(DatabaseFacts)
  /// Zero bytes.
  case empty
  case notADatabase
  /// Whole sectors of what looks like random bytes, which is how SQLCipher's and SEE's databases look; perhaps behind a
  /// beginning that was left plain.
  case probablyEncrypted
  /// A file that its application writes as a whole.
  case atomicStore(AtomicStore)
  /// A database or an archive of another kind.
  case foreign(ForeignFormat)
  /// A folder that is a database of another kind.
  case foreignFolder(ForeignFormat)
  case directory
  case missing
  /// A socket, a pipe, a device.
  case special
}

/// What the header of a database says.
package struct DatabaseFacts: Sendable, Hashable {
  /// Bytes; nil when the header is damaged there.
  package var pageSize: Int?
  /// Bytes left free at the end of each page.
  package var reservedBytes: Int
  /// As in `PRAGMA encoding`; nil when no table was ever made.
  package var encoding: String?
  package var isWAL: Bool
  /// Bytes, without the -wal.
  package var size: Int
  /// Another after each change of the schema, and after a `VACUUM`.
  var schemaCookie: Int
  /// The application's own number.
  var userVersion: Int
}

package struct Identity: Sendable, Hashable {
  /// The real file, with every symbolic link resolved; the path as given when nothing is there.
  package var path: String
  package var kind: FileKind
}

/// Looks at what `path` leads to.
///
/// The file is read through SQLite's own door: in a process that has this database open elsewhere, opening
/// and closing it by other means would drop its locks.
/// - Throws: `.unreadable`.
package func identify(_ path: String) throws(SnapshotError) -> Identity {
  guard let real = realPath(path) else {
    if errno == ENOENT || errno == ENOTDIR { return Identity(path: path, kind: .missing) }
    throw unreadable(path, errno)
  }
  var status = stat()
  guard stat(real, &status) == 0 else {
    // Gone just now, or its name is no text.
    if errno == ENOENT { return Identity(path: path, kind: .missing) }
    throw unreadable(path, errno)
  }
  switch status.st_mode & S_IFMT {
  case S_IFDIR:
    let format = ForeignFormat(folderOf: names(inFolder: real))
    return Identity(path: real, kind: format.map(FileKind.foreignFolder) ?? .directory)
  case S_IFREG: break
  default: return Identity(path: real, kind: .special)
  }
  guard faccessat(AT_FDCWD, real, R_OK, AT_EACCESS) == 0 else { throw unreadable(path, errno) }
  if status.st_size == 0 { return Identity(path: real, kind: .empty) }
  return Identity(path: real, kind: try kind(ofFileAt: real, size: Int(status.st_size)))
}

extension Identity {
  /// The same answer as an error, when it is not a database.
  func demandDatabase(named path: String) throws(SnapshotError) -> DatabaseFacts {
    switch kind {
    case .database(let facts): return facts
    case .missing:
      throw missingFile(path)
    case .directory:
      throw SnapshotError(.isDirectory, "\(path) is a folder", hint: "Name the database file inside it.")
    case .empty:
      throw SnapshotError(
        .empty, "\(path) is empty (0 bytes)",
        hint: "An empty file is usually a mistyped path that some program created; check that this is the database.")
    case .probablyEncrypted:
      throw SnapshotError(
        .encrypted, "\(path) is no plain SQLite database; it looks encrypted",
        hint: "Let its application export it to a file of its own (SQLCipher: sqlcipher_export, GRDB: backup(to:)), "
          + "and push that with \(ForeignFormat.method).")
    case .foreign(let format), .foreignFolder(let format):
      throw format.refusal(of: path)
    case .atomicStore(let store):
      throw SnapshotError(
        .otherFormat, "\(path) is \(store.name), no SQLite database",
        hint: "It can be pushed as one file, with \(ForeignFormat.method).")
    case .notADatabase, .special:
      throw SnapshotError(
        .notADatabase, "\(path) is not an SQLite database",
        hint: "SQLite databases begin with the words \"SQLite format 3\"; check the path.")
    }
  }
}

private func kind(ofFileAt path: String, size: Int) throws(SnapshotError) -> FileKind {
  let start: [UInt8]
  do {
    start = try Connection(path, flags: SQLITE_OPEN_READONLY).leadingBytes(4096)
  } catch {
    throw error.explained(of: path)
  }
  guard let header = DatabaseHeader(start) else {
    if let store = AtomicStore(beginningOf: start) { return .atomicStore(store) }
    if let format = ForeignFormat(beginningOf: start) { return .foreign(format) }
    return size.isMultiple(of: 512) && looksRandom(start[...]) ? .probablyEncrypted : .notADatabase
  }
  if header.isNoise, looksRandom(start.dropFirst(DatabaseHeader.size)) { return .probablyEncrypted }
  if header.isOfLaterSQLite { return .foreign(.laterSQLite) }
  let encodings = [1: "UTF-8", 2: "UTF-16le", 3: "UTF-16be"]
  return .database(
    DatabaseFacts(
      pageSize: header.pageSize, reservedBytes: header.reservedBytes, encoding: encodings[header.encoding],
      isWAL: header.isWAL, size: size, schemaCookie: header.schemaCookie, userVersion: header.userVersion))
}

/// A chi-square test over byte values. Random bytes give 255 ± 23 whatever their number; text, pictures'
/// headers and page structures give thousands.
private func looksRandom(_ bytes: ArraySlice<UInt8>) -> Bool {
  // What is left of a page of 512 bytes behind a plain header is enough.
  guard bytes.count >= 412 else { return false }
  var counts = [Double](repeating: 0, count: 256)
  for byte in bytes { counts[Int(byte)] += 1 }
  let expected = Double(bytes.count) / 256
  let chiSquare = counts.reduce(0) { $0 + ($1 - expected) * ($1 - expected) / expected }
  return chiSquare < 400
}
