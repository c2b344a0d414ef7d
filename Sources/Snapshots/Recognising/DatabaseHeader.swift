/// The 100 bytes at the start of every SQLite database. See: sqlite.org/fileformat2.html, section 1.3.
struct DatabaseHeader {
  static let size = 100
  /// "SQLite format 3" and a zero byte.
  static let magic: [UInt8] = Array("SQLite format 3\0".utf8)

  let bytes: [UInt8]

  /// Nil when `bytes` are too few or do not begin as a database does.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.size, bytes.starts(with: Self.magic) else { return nil }
    self.bytes = Array(bytes.prefix(Self.size))
  }

  /// Bytes a page, 512 to 65536; nil when the field holds anything else than a power of two in that range.
  var pageSize: Int? {
    let field = Int(bytes[16]) << 8 | Int(bytes[17])
    let size = field == 1 ? 65536 : field
    return size >= 512 && size & (size - 1) == 0 ? size : nil
  }

  /// Whether the file says that it is read through a write-ahead log.
  var isWAL: Bool { bytes[19] == 2 }
  /// Only a later SQLite, or a branch of it, can read the file: read and write version are above 2, as
  /// `journal_mode=wal2` makes them 3. Where they are far from that, or anything else of the header is odd, it is damaged.
  var isOfLaterSQLite: Bool {
    let (write, read) = (bytes[18], bytes[19])
    guard read > 2, write >= read, write <= 8, pageSize != nil, (0...3).contains(encoding) else { return false }
    let fractions: [UInt8] = [64, 32, 32]
    return bytes[21..<24].elementsEqual(fractions) && bytes[72..<92].allSatisfy { $0 == 0 }
  }
  /// Unused bytes at the end of each page.
  var reservedBytes: Int { Int(bytes[20]) }
  /// The size of the database; nil when the last writer was so old that it did not keep this field.
  var pageCount: Int? { number(at: 24) == number(at: 92) && number(at: 28) > 0 ? number(at: 28) : nil }
  var firstFreelistTrunk: Int { number(at: 32) }
  var freelistCount: Int { number(at: 36) }
  var schemaCookie: Int { number(at: 40) }
  /// The schema's format is 1 to 3, in which indexes are ascending, whatever they say; 0 while nothing is there.
  var ignoresDescending: Bool { (1...3).contains(number(at: 44)) }
  /// 1 UTF-8, 2 UTF-16le, 3 UTF-16be; 0 while nothing was ever created.
  var encoding: Int { number(at: 56) }
  var userVersion: Int { number(at: 60) }

  /// The later fields are none that SQLite ever writes, as when only the first 32 bytes were left plain and the rest is
  /// encrypted (SQLCipher's cipher_plaintext_header_size): the bytes kept for later are not zero, and there is no such
  /// encoding.
  var isNoise: Bool { bytes[72..<92].contains { $0 != 0 } && !(0...3).contains(encoding) }

  private func number(at offset: Int) -> Int { bigEndian(bytes, at: offset) }

  /// What the backup API overwrites in the copy of page 1: the change counter, the number of pages (when the
  /// source is shorter than it says), the schema cookie, and "version valid for" with the number of the SQLite
  /// that wrote it.
  static let counters: [Range<Int>] = [24..<32, 40..<44, 92..<100]
  /// Write and read version: 1 for a rollback journal, 2 for a write-ahead log.
  static let journalMode = 18..<20
}

/// A 32-bit number, most significant byte first.
func bigEndian(_ bytes: [UInt8], at offset: Int) -> Int {
  bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
}

/// The number of the page that holds SQLite's lock bytes at 1 GiB; never used for content.
func lockBytePage(pageSize: Int) -> Int { 0x4000_0000 / pageSize + 1 }
