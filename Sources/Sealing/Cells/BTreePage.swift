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

  /// The length of the cell that begins at `cell`, without an interior cell's child pointer.
  /// - Parameter room: how many bytes there are from `cell` on.
  /// - Returns: `nil` when no cell of this type fits there.
  static func cellLength(_ type: UInt8, _ cell: UnsafePointer<UInt8>, room: Int, pageSize: Int) -> Int? {
    var at = 0
    guard let first = varint(cell, &at, room) else { return nil }
    if type == interiorTable { return at }
    if type == leafTable, varint(cell, &at, room) == nil { return nil }
    let least = type == interiorIndex ? 1 : 4
    let limit = type == leafTable ? pageSize - 35 : (pageSize - 12) * 64 / 255 - 23
    let length: Int
    if first <= UInt64(limit) {
      length = max(at + Int(first), least)
    } else {
      let minimum = (pageSize - 12) * 32 / 255 - 23
      let spill = minimum + Int((first - UInt64(minimum)) % UInt64(pageSize - 4))
      length = at + (spill <= limit ? spill : minimum) + 4
    }
    return length <= room ? length : nil
  }

  /// A SQLite varint: at most nine bytes, big-endian, the ninth with all eight bits.
  @inline(__always)
  private static func varint(_ bytes: UnsafePointer<UInt8>, _ at: inout Int, _ room: Int) -> UInt64? {
    guard at < room else { return nil }
    var value = UInt64(bytes[at])
    at += 1
    if value < 0x80 { return value }
    value &= 0x7F
    for _ in 1..<8 {
      guard at < room else { return nil }
      let byte = bytes[at]
      at += 1
      value = value << 7 | UInt64(byte & 0x7F)
      if byte < 0x80 { return value }
    }
    guard at < room else { return nil }
    value = value << 8 | UInt64(bytes[at])
    at += 1
    return value
  }
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
