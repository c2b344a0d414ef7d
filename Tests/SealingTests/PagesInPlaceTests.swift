import TestKit
import Testing

@testable import Sealing

/// Pages that stayed where they were go to zstd as they are, pages whose cells moved are taken apart.
@Suite struct PagesInPlaceTests {
  /// Leaves of rows with random payloads, each moved by `shift` bytes in its page, as a vacuum moves them.
  private static func pages(_ count: Int, first: Int = 0, shift: Int = 0) -> [UInt8] {
    (first..<first + count).flatMap { number in
      var random = SeededRandom(UInt64(number) + 100)
      var parts = FormParts()
      var cells = (0..<60).map { FormParts.row(UInt8($0), random.bytes(60)) }
      if shift > 0 { cells.insert(FormParts.row(99, [UInt8](repeating: 7, count: shift)), at: 0) }
      parts.add(0x10 | 13, count: cells.count, cells: cells)
      return try! CellForms.pages(of: parts.bytes, count: 1, pageSize: 4096)
    }
  }

  private func look(_ pages: [UInt8], _ prefix: [UInt8]) -> PagesInPlace.Answer {
    var inPlace = PagesInPlace()
    return pages.withUnsafeBytes { pages in prefix.withUnsafeBytes { inPlace.look(pages, $0, pageSize: 4096) } }
  }

  @Test func `Pages are found where they were, in any order`() {
    let before = Self.pages(40)
    var changed = before
    for page in 0..<40 { for byte in 0..<50 { changed[page * 4096 + 2000 + byte] ^= 0x5A } }
    #expect(look(changed, before) == .most)
    #expect(look(changed, Array(before[81_920...] + before[..<81_920])) == .most)
    #expect(look(Array(before[..<8192] + Self.pages(38, shift: 13)), before) == .none)
    #expect(look(Array(before[..<81_920] + Self.pages(20, first: 20, shift: 13)), before) == .some)
    #expect(look(Self.pages(40, shift: 13), before) == .none)
    #expect(look([UInt8](repeating: 0, count: 8192), before) == .most)
    #expect(look(before, []) == .none)
  }

  @Test(arguments: [0, 13])
  func `A delta is of the codec that suits its pages, and a reader expands it`(shift: Int) throws {
    let before = Self.pages(40)
    var units = Self.pages(40, shift: shift)
    for page in stride(from: 0, to: 40, by: 3) { units[page * 4096 + 2100] ^= 0x5A }
    let lengths = [Int](repeating: 4096, count: 40)
    let fingerprints = Frames.fingerprints(.page, (0..<40).map { Array(units[$0 * 4096..<($0 + 1) * 4096]) })
    let encoder = FrameEncoder(level: 1)
    // Twice: nothing is left over from the frame before.
    for _ in 0..<2 {
      let frame = try units.withUnsafeBytes { units in
        try before.withUnsafeBytes { before in
          try encoder.encode(
            type: .page, units: units, unitLengths: lengths, fingerprints: fingerprints, prefix: before, overhead: 0)
        }
      }
      #expect(frame.codec == (shift == 0 ? .zstdWithPrefix : .cellsWithPrefix))
      #expect(frame.payload.count * 30 < units.count)
      let again = try before.withUnsafeBytes {
        try FrameExpander().expand(frame.payload, codec: frame.codec, frame.unitLengths, prefix: $0)
      }
      #expect(again == units)
      let whole = try units.withUnsafeBytes {
        try encoder.encode(type: .page, units: $0, unitLengths: lengths, fingerprints: fingerprints)
      }
      #expect(try FrameExpander().expand(whole.payload, codec: whole.codec, whole.unitLengths, prefix: nil) == units)
    }
  }
}
