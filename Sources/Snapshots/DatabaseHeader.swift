import Glibc

/// The first 100 bytes of a database file. See: sqlite.org/fileformat2.html#the_database_header
struct DatabaseHeader: Equatable {
  static let length = 100
  static let magic = Array("SQLite format 3\0".utf8)

  let bytes: [UInt8]

  /// `nil` when these are not the first bytes of a database.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.length, Array(bytes[..<16]) == Self.magic else { return nil }
    self.bytes = Array(bytes[..<Self.length])
    guard (512...65_536).contains(pageSize), pageSize & (pageSize - 1) == 0 else { return nil }
  }

  var pageSize: Int {
    let value = Int(bytes[16]) << 8 | Int(bytes[17])
    return value == 1 ? 65_536 : value
  }

  /// Write and read version: 1 is a rollback journal, 2 a write-ahead log.
  var journalBytes: [UInt8] { Array(bytes[18...19]) }
  var firstFreelistTrunk: UInt32 { integer(at: 32) }

  /// The same header with another schema cookie: SQLite says it for the transaction that is open.
  func withSchemaCookie(_ cookie: UInt32) -> DatabaseHeader {
    var bytes = bytes
    for index in 0..<4 { bytes[40 + index] = UInt8(truncatingIfNeeded: cookie >> UInt32(24 - 8 * index)) }
    return DatabaseHeader(bytes) ?? self
  }

  func integer(at offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
}
