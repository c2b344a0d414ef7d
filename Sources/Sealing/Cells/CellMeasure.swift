/// How long the cells of one kind of b-tree page are (https://www.sqlite.org/fileformat2.html#b_tree_pages).
///
/// Every cell of every page passes here several times on its way, so the usual ones (a payload length of one or two
/// bytes, not cut off by the end) are measured without a loop.
struct CellMeasure {
  /// Of the child pointer, which comes before what is measured: 4 in interior pages.
  let skip: Int
  private let type: UInt8
  /// The longest payload that lies in the cell whole.
  private let limit: Int
  private let minimum: Int
  private let spillModulus: Int
  private let least: Int

  init(_ type: UInt8, pageSize: Int) {
    self.type = type
    skip = BTreePage.isInterior(type) ? 4 : 0
    limit = type == BTreePage.leafTable ? pageSize - 35 : (pageSize - 12) * 64 / 255 - 23
    minimum = (pageSize - 12) * 32 / 255 - 23
    spillModulus = pageSize - 4
    least = type == BTreePage.interiorIndex ? 1 : 4
  }

  /// The length of the cell that begins at `cell`, without an interior cell's child pointer.
  /// - Parameter room: how many bytes there are from `cell` on; may be less than none.
  /// - Returns: 0 when no cell of this kind fits there.
  @inline(__always)
  func length(_ cell: UnsafePointer<UInt8>, room: Int) -> Int {
    // Two bytes of payload length and nine of rowid: all that the quick way reads.
    guard room >= 11, type != BTreePage.interiorTable else { return lengthOfAny(cell, room: room) }
    var at = 1
    var payload = Int(cell[0])
    if payload >= 0x80 {
      guard cell[1] < 0x80 else { return lengthOfAny(cell, room: room) }
      payload = (payload & 0x7F) << 7 | Int(cell[1])
      at = 2
    }
    if type == BTreePage.leafTable { at += Self.varintLength(cell + at) }
    guard payload <= limit else { return lengthOfAny(cell, room: room) }
    let length = max(at + payload, least)
    return length <= room ? length : 0
  }

  /// - Parameter bytes: nine of them can be read.
  @inline(__always)
  private static func varintLength(_ bytes: UnsafePointer<UInt8>) -> Int {
    let word = UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
    let ends = ~word & 0x8080_8080_8080_8080
    return ends == 0 ? 9 : ends.trailingZeroBitCount / 8 + 1
  }

  @inline(never)
  private func lengthOfAny(_ cell: UnsafePointer<UInt8>, room: Int) -> Int {
    var at = 0
    guard let payload = Self.varint(cell, &at, room) else { return 0 }
    if type == BTreePage.interiorTable { return at }
    if type == BTreePage.leafTable, Self.varint(cell, &at, room) == nil { return 0 }
    let length: Int
    if payload <= UInt64(limit) {
      length = max(at + Int(payload), least)
    } else {
      let spill = minimum + Int((payload - UInt64(minimum)) % UInt64(spillModulus))
      length = at + (spill <= limit ? spill : minimum) + 4
    }
    return length <= room ? length : 0
  }

  /// A SQLite varint: at most nine bytes, big-endian, the ninth with all eight bits.
  private static func varint(_ bytes: UnsafePointer<UInt8>, _ at: inout Int, _ room: Int) -> UInt64? {
    var value: UInt64 = 0
    for _ in 0..<8 {
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
