/// What SQLite's file format says of a b-tree page, as far as taking it apart into cells needs
/// (https://www.sqlite.org/fileformat2.html#b_tree_pages). Pages with reserved bytes at their end are not taken apart.
enum BTreePage {
  static let interiorIndex: UInt8 = 2
  static let interiorTable: UInt8 = 5
  static let leafIndex: UInt8 = 10
  static let leafTable: UInt8 = 13

  static func isType(_ byte: UInt8) -> Bool {
    byte == leafTable || byte == leafIndex || byte == interiorIndex || byte == interiorTable
  }

  static func isInterior(_ type: UInt8) -> Bool { type <= interiorTable }

  /// Bytes before the cell pointers.
  static func headerLength(_ type: UInt8) -> Int { isInterior(type) ? 12 : 8 }
}

extension UnsafePointer<UInt8> {
  /// Two bytes, big-endian.
  @inline(__always)
  func number16(at offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }

  /// Four bytes, big-endian.
  @inline(__always)
  func number32(at offset: Int) -> UInt32 {
    UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16 | UInt32(self[offset + 2]) << 8
      | UInt32(self[offset + 3])
  }
}
