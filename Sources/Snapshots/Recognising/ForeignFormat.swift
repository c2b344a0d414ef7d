/// What is no SQLite database and can be told by how it begins, or by what a folder holds: named, so that a person knows
/// what to do instead.
package enum ForeignFormat: String, Sendable, Hashable, CaseIterable {
  case realm, duckDB, lmdb, berkeleyDB, gdbm, access, sqlite2
  case levelDB, postgreSQL
  case wal, journal
  case laterSQLite
  case sqlText, xml
  case gzip, zip, zstd, xz, bzip2, sevenZip, tar

  /// As it stands in a sentence: `a Realm database`.
  package var name: String {
    switch self {
    case .realm: "a Realm database"
    case .duckDB: "a DuckDB database"
    case .lmdb: "an LMDB database"
    case .berkeleyDB: "a Berkeley DB database"
    case .gdbm: "a GDBM database"
    case .access: "a Microsoft Access database"
    case .sqlite2: "a database of SQLite 2"
    case .levelDB: "a LevelDB or RocksDB folder"
    case .postgreSQL: "a PostgreSQL folder"
    case .wal: "a write-ahead log of an SQLite database"
    case .journal: "a rollback journal of an SQLite database"
    case .laterSQLite:
      "a database in a format of a later or branched SQLite (read version above 2, as journal_mode=wal2 makes)"
    case .sqlText: "a text of SQL statements"
    case .xml: "an XML file"
    case .gzip, .xz, .zstd, .bzip2: "compressed (\(rawValue))"
    case .zip, .sevenZip, .tar: "an archive (\(self == .sevenZip ? "7z" : rawValue))"
    }
  }

  /// The way out, as a whole sentence.
  package var hint: String {
    switch self {
    case .realm: "Let its application write a copy (Realm's writeCopy), and push that file with \(Self.method)."
    case .duckDB: "Copy it while no program has it open, or export it, and push that file with \(Self.method)."
    case .lmdb: "Make a copy with mdb_copy, and push its data.mdb with \(Self.method)."
    case .berkeleyDB: "Make a copy with db_dump or db_hotbackup, and push that file with \(Self.method)."
    case .gdbm: "Make a copy with gdbm_dump, and push that file with \(Self.method)."
    case .access: "Close it in every program, and push the file with \(Self.method)."
    case .sqlite2: "Convert it with `sqlite OLD .dump | sqlite3 NEW`, and push the new one."
    case .levelDB: "Pack the folder into one file while its application is stopped, and push that with \(Self.method)."
    case .postgreSQL: "Let pg_dump write a file, and push that with \(Self.method)."
    case .wal, .journal: "Name the database itself: what lies beside it comes along with the copy."
    case .laterSQLite:
      "Let its application leave that mode (PRAGMA journal_mode=wal), or export it with its own SQLite (VACUUM INTO)."
    case .sqlText, .xml, .gzip, .zip, .zstd, .xz, .bzip2, .sevenZip, .tar:
      "A file that is complete and does not change any more can be pushed with \(Self.method)."
    }
  }

  /// - Parameter path: as it was given.
  func refusal(of path: String) -> SnapshotError {
    let kind = self == .laterSQLite ? name : "\(name), no SQLite database"
    return SnapshotError(.otherFormat, "\(path) is \(kind)", hint: hint)
  }

  /// How a person asks for a file to be taken as it is.
  static let method = "\"method\": \"file\" (--method file)"

  /// By the first bytes of a file.
  init?(beginningOf bytes: [UInt8]) {
    let text = Array(bytes.drop { Self.blanks.contains($0) }.prefix(64))
    if let known = Self.magics.first(where: { Self.stands($0.bytes, at: $0.offset, in: bytes) }) {
      self = known.format
    } else if Self.begins(text, with: "<?xml") {
      self = .xml
    } else if Self.begins(text, with: "PRAGMA foreign_keys=") || Self.begins(text, with: "BEGIN TRANSACTION;") {
      self = .sqlText
    } else {
      return nil
    }
  }

  /// By the names in a folder.
  init?(folderOf names: [String]) {
    if names.contains("CURRENT"), names.contains(where: { $0.hasPrefix("MANIFEST-") }) {
      self = .levelDB
    } else if names.contains("data.mdb") {
      self = .lmdb
    } else if names.contains("PG_VERSION") {
      self = .postgreSQL
    } else {
      return nil
    }
  }

  private static let blanks: Set<UInt8> = [0x20, 0x09, 0x0a, 0x0d]

  static func begins(_ bytes: [UInt8], with text: String) -> Bool { bytes.starts(with: text.utf8) }

  private static func stands(_ magic: [UInt8], at offset: Int, in bytes: [UInt8]) -> Bool {
    bytes.count >= offset + magic.count && bytes[offset..<offset + magic.count].elementsEqual(magic)
  }

  private static let magics: [(format: ForeignFormat, offset: Int, bytes: [UInt8])] = [
    (.realm, 16, Array("T-DB".utf8)),
    (.duckDB, 8, Array("DUCK".utf8)),
    // A meta page: its flags, then the magic number and version 1, on machines of 64 bits.
    (.lmdb, 16, [0xde, 0xc0, 0xef, 0xbe, 1, 0, 0, 0]),
    (.access, 4, Array("Standard Jet DB".utf8)), (.access, 4, Array("Standard ACE DB".utf8)),
    (.sqlite2, 0, Array("** This file contains an SQLite 2".utf8)),
    (.wal, 0, [0x37, 0x7f, 0x06, 0x82]), (.wal, 0, [0x37, 0x7f, 0x06, 0x83]),
    (.journal, 0, [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]),
    (.gzip, 0, [0x1f, 0x8b, 8]), (.zip, 0, [0x50, 0x4b, 3, 4]), (.zip, 0, [0x50, 0x4b, 5, 6]),
    (.zstd, 0, [0x28, 0xb5, 0x2f, 0xfd]), (.xz, 0, [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), (.bzip2, 0, Array("BZh".utf8)),
    (.sevenZip, 0, [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]),
    // Behind the name and facts of the first file in it.
    (.tar, 257, Array("ustar".utf8)),
    (.gdbm, 0, [0xce, 0x9a, 0x57, 0x13]), (.gdbm, 0, [0xcf, 0x9a, 0x57, 0x13]), (.gdbm, 0, [0xcd, 0x9a, 0x57, 0x13]),
    // B-tree, hash, queue and heap, by either order of bytes.
    (.berkeleyDB, 12, [0x62, 0x31, 5, 0]), (.berkeleyDB, 12, [0, 5, 0x31, 0x62]),
    (.berkeleyDB, 12, [0x61, 0x15, 6, 0]), (.berkeleyDB, 12, [0, 6, 0x15, 0x61]),
    (.berkeleyDB, 12, [0x53, 0x22, 4, 0]), (.berkeleyDB, 12, [0, 4, 0x22, 0x53]),
    (.berkeleyDB, 12, [0x82, 0x45, 7, 0]), (.berkeleyDB, 12, [0, 7, 0x45, 0x82]),
  ]
}
