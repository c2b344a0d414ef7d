@testable import Sealing

/// A cell form put together by hand, stream by stream (`Docs/Format.md` §4.5).
struct FormParts {
  var layouts: [UInt8] = []
  var high: [UInt8] = []
  var low: [UInt8] = []
  var children: [UInt8] = []
  var irregular: [UInt8] = []
  var cells: [UInt8] = []
  var literals: [UInt8] = []

  var bytes: [UInt8] { layouts + high + low + children + irregular + cells + literals }

  /// Adds a page that is not literal.
  mutating func add(
    _ layout: UInt8, count: Int, children steps: [UInt32] = [], irregular more: [UInt8] = [],
    cells pageCells: [[UInt8]],
    literals rest: [UInt8] = []
  ) {
    layouts.append(layout)
    high.append(UInt8(count >> 8))
    low.append(UInt8(count & 0xFF))
    var writer = ByteWriter()
    for step in steps { writer.write(step) }
    children += writer.bytes
    irregular += more
    cells += pageCells.flatMap { $0 }
    literals += rest
  }

  /// A leaf cell of a table: payload length, rowid, payload.
  static func row(_ id: UInt8, _ payload: [UInt8]) -> [UInt8] { [UInt8(payload.count), id] + payload }

  /// A cell of an index, or what follows the child pointer of one.
  static func key(_ payload: [UInt8]) -> [UInt8] { [UInt8(payload.count)] + payload }
}

/// Single pages and their forms, with a coder of their own.
enum CellForms {
  static func form(of pages: [UInt8], pageSize: Int) -> [UInt8] {
    var encoder = CellFormEncoder()
    return encoder.form(of: pages, pageSize: pageSize)
  }

  static func pages(of form: [UInt8], count: Int, pageSize: Int) throws -> [UInt8] {
    var decoder = CellFormDecoder()
    return try decoder.pages(of: form, count: count, pageSize: pageSize)
  }

  /// Pages of 512 bytes in every arrangement: those of SQLite, and those that only damage or other programs make.
  static func samplePages() throws -> [[UInt8]] {
    var parts = FormParts()
    let rows = (1...9).map { FormParts.row($0, [UInt8](repeating: $0, count: 20 + Int($0))) }
    let keys = (1...9).map { FormParts.key([$0, 0xA5, $0 &* 17, 9, 9]) }
    parts.add(0x10 | 13, count: 9, cells: rows)
    parts.add(
      0x90 | 13, count: 1, cells: [rows[3]], literals: [UInt8](repeating: 0xEE, count: 512 - 10 - rows[3].count))
    parts.add(0x20 | 10, count: 9, cells: keys)
    parts.add(0x10 | 5, count: 3, children: [7, 1, UInt32.max, 500], cells: [[9], [0x81, 0x01], [0xFF, 0xFF, 0x7F]])
    parts.add(0x10 | 2, count: 2, children: [70_000, 1, 1], cells: [keys[0], keys[8]])
    // Payloads that go on in overflow pages: the smallest that does (478 bytes), and one of 2^64 - 129 bytes.
    let long: [[UInt8]] = [
      [0x83, 0x5E, 1] + [UInt8](repeating: 1, count: 39 + 4),
      [UInt8](repeating: 0xFF, count: 8) + [0x7F, 2] + [UInt8](repeating: 2, count: 127 + 4),
    ]
    parts.add(0x10 | 13, count: 2, cells: long)
    // A free block at 300, two bytes of fragments, the second cell where a smaller one was, the last one far away.
    parts.add(
      0x30 | 13, count: 4, irregular: [0x01, 0x2C, 0x00, 200, 2, 2, 0x80, 1, 0, 150, 0, 2, 0, 40],
      cells: Array(rows[0..<4]), literals: [UInt8](repeating: 0x77, count: 512 - 200 - rows[..<4].joined().count))
    parts.layouts.append(0)
    parts.literals += Fixed.page(3)
    let count = parts.layouts.count
    let joined = try pages(of: parts.bytes, count: count, pageSize: 512)
    return (0..<count).map { Array(joined[$0 * 512..<$0 * 512 + 512]) }
  }
}

extension CellFormEncoder {
  /// In memory of just their length, for the address sanitizer.
  mutating func form(of pages: [UInt8], pageSize: Int) -> [UInt8] {
    pages.withUnsafeBytes { _ = encode($0, pageSize: pageSize) }
    return Array(form)
  }
}

extension CellFormDecoder {
  mutating func pages(of form: [UInt8], count: Int, pageSize: Int) throws -> [UInt8] {
    var pages = [UInt8](repeating: 0xDB, count: count * pageSize)
    try form.withUnsafeBytes { form in
      try pages.withUnsafeMutableBytes { try decode(form, pages: count, pageSize: pageSize, into: $0) }
    }
    return pages
  }
}
