// Bytes that SQLite leaves at the end of each page. An extension of the application may keep something there, such as sums
// of the pages (https://sqlite.org/cksumvfs.html): a vacuum here would leave zeros, and whoever changes a page without that
// extension leaves a sum that is wrong, with which the application cannot read the page any more.

extension DatabaseHeader {
  /// Whether those bytes hold something.
  /// - Parameter beginning: reads so many bytes of a database from its first one on; fewer where it ends before.
  static func usesReservedBytes<Failure>(_ beginning: (Int) throws(Failure) -> [UInt8]) throws(Failure) -> Bool {
    guard let header = DatabaseHeader(try beginning(size)), header.reservedBytes > 0, let pageSize = header.pageSize
    else { return false }
    let bytes = try beginning(16 * pageSize)
    return stride(from: pageSize, through: bytes.count, by: pageSize).contains { end in
      bytes[end - header.reservedBytes..<end].contains { $0 != 0 }
    }
  }
}

extension Connection {
  /// - Throws: `SQLiteFailure` when the disk fails.
  func usesReservedBytes() throws(SQLiteFailure) -> Bool {
    try DatabaseHeader.usesReservedBytes { (count) throws(SQLiteFailure) in try leadingBytes(count) }
  }
}

extension SnapshotError {
  /// - Parameter whose: what has such pages.
  static func reservedBytes(of whose: String, hint: String) -> SnapshotError {
    SnapshotError(
      .reservedBytes, "the pages of \(whose) end with what only its application can write (checksums, perhaps)",
      hint: hint)
  }
}
