import TestKit
import Testing

@testable import Sealing

/// The quick ways of the cell form, against slow ones.
@Suite struct CellPartsTests {
  @Test(arguments: [2, 5, 10, 13] as [UInt8], [512, 4096, 65536])
  func `Cells are as long as the format says, wherever memory ends`(type: UInt8, pageSize: Int) {
    var random = SeededRandom(UInt64(type) + UInt64(pageSize))
    let measure = CellMeasure(type, pageSize: pageSize)
    var fits = 0
    for round in 0..<20_000 {
      // Varints of every length: the high bits say where they end.
      var cell = random.bytes(1 + Int(random.next() % 40))
      for byte in cell.indices where random.next() % 3 == 0 { cell[byte] |= 0x80 }
      for byte in cell.indices where round % 2 == 0 { cell[byte] &= byte % 3 == 2 ? 0x7F : 0x9F }
      let room = round % 5 == 0 ? pageSize : cell.count
      cell += [UInt8](repeating: 0x81, count: max(0, room - cell.count))
      let expected = Self.length(type, cell[..<room], pageSize: pageSize)
      #expect(cell.withUnsafeBufferPointer { measure.length($0.baseAddress!, room: room) } == expected)
      fits += expected > 0 ? 1 : 0
      #expect(cell.withUnsafeBufferPointer { measure.length($0.baseAddress!, room: -Int(random.next() % 5)) } == 0)
    }
    #expect(fits > 1000)
  }

  /// By the words of `Docs/Format.md` §4.5; 0 where no cell fits.
  private static func length(_ type: UInt8, _ bytes: ArraySlice<UInt8>, pageSize: Int) -> Int {
    var rest = bytes
    func varint() -> UInt64? {
      var value: UInt64 = 0
      for index in 0..<9 {
        guard let byte = rest.popFirst() else { return nil }
        if index == 8 { return value << 8 | UInt64(byte) }
        value = value << 7 | UInt64(byte & 0x7F)
        if byte < 0x80 { return value }
      }
      return nil
    }
    guard let payload = varint() else { return 0 }
    if type == 5 { return bytes.count - rest.count }
    if type == 13, varint() == nil { return 0 }
    let head = bytes.count - rest.count
    let longest = type == 13 ? pageSize - 35 : (pageSize - 12) * 64 / 255 - 23
    let least = (pageSize - 12) * 32 / 255 - 23
    let length: Int
    if payload <= UInt64(longest) {
      length = type == 2 ? head + Int(payload) : max(4, head + Int(payload))
    } else {
      let spill = least + Int((payload - UInt64(least)) % UInt64(pageSize - 4))
      length = head + (spill <= longest ? spill : least) + 4
    }
    return length <= bytes.count ? length : 0
  }

  /// One bit of a header tells a regular page from an irregular one.
  @Test func `Pages of every arrangement come back with every bit of their headers flipped`() throws {
    var tally = Tally()
    for page in try CellForms.samplePages() {
      for bit in 0..<20 * 8 {
        var flipped = page
        flipped[bit / 8] ^= 1 << (bit % 8)
        tally.check(flipped, pageSize: 512)
      }
    }
    #expect(tally.wrong.isEmpty)
    #expect(tally.longest <= 0)
  }

  @Test func `What is covered is found bit by bit`() {
    var random = SeededRandom(11)
    let coverage = PageCoverage()
    for _ in 0..<300 {
      coverage.clear(1024)
      var covered = [Bool](repeating: false, count: 1024)
      for _ in 0..<random.next() % 12 {
        let start = Int(random.next() % 1025)
        let range = start..<min(1024, start + Int(random.next() % (random.next() % 2 == 0 ? 4 : 300)))
        #expect(coverage.cover(range) == !covered[range].contains(true))
        for byte in range { covered[byte] = true }
      }
      let start = Int(random.next() % 1024)
      let end = start + Int(random.next() % UInt64(1025 - start))
      var found = [Bool](repeating: true, count: 1024)
      var at = start
      while let run = coverage.uncovered(from: at, to: end) {
        #expect(!run.isEmpty && run.lowerBound >= at && run.upperBound <= end)
        for byte in run { found[byte] = false }
        at = run.upperBound
      }
      #expect(found[start..<end] == covered[start..<end])
    }
  }

  @Test func `Cells that overlap are found, whatever their order`() {
    func lieApart(_ cells: [(Int, Int)]) -> Bool {
      var cover = CellCover()
      cover.begin(512)
      for cell in cells { cover.add(cell.0, cell.1) }
      return cover.cellsLieApart()
    }
    #expect(lieApart([(500, 12), (490, 10), (400, 20), (420, 70), (395, 5)]))
    #expect(!lieApart([(500, 12), (490, 10), (400, 20), (419, 70)]))
    #expect(!lieApart([(500, 12), (490, 10), (495, 5)]))
    #expect(!lieApart([(400, 20), (410, 90), (500, 12)]))
    #expect(!lieApart([(500, 12), (500, 12)]))
  }

  @Test func `A short copy touches no byte beside it`() {
    let source = (0..<400).map { UInt8(truncatingIfNeeded: $0 * 7 + 1) | 1 }
    for count in 0...300 {
      var target = [UInt8](repeating: 0, count: count + 40)
      target.withUnsafeMutableBufferPointer { target in
        source.withUnsafeBufferPointer {
          (target.baseAddress! + 20).copyShort(from: $0.baseAddress! + 3, count: count)
        }
      }
      let zeros = [UInt8](repeating: 0, count: 20)
      #expect(target == zeros + source[3..<3 + count] + zeros)
    }
  }
}
