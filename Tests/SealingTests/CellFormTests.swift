import FoundationEssentials
import TestKit
import Testing

@testable import Sealing

/// Pages taken apart and put together again: byte for byte, whatever they hold.
@Suite struct CellFormTests {
  static let pageSizes = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]

  @Test(arguments: SampleDatabase.allCases)
  func `Every page of every sample database comes back`(sample: SampleDatabase) throws {
    let scratch = try Scratch()
    let path = scratch.file("sample.db")
    try sample.make(at: path)
    let file = try fileBytes(path)
    var tally = Tally()
    tally.check(file, pageSize: pageSize(of: file))
    #expect(tally.wrong.isEmpty)
    #expect(tally.longest <= 0)
  }

  @Test func `Every page of a database as it is shipped comes back, most of them taken apart`() throws {
    let file = try fileBytes("/usr/share/proj/proj.db")
    let size = pageSize(of: file)
    var tally = Tally()
    tally.check(file, pageSize: size)
    #expect(tally.wrong.isEmpty)
    #expect(tally.longest <= 0)
    #expect(tally.literal * 50 < file.count / size)
  }

  @Test(arguments: pageSizes)
  func `Every page of a database that lives comes back`(pageSize: Int) throws {
    var tally = Tally()
    for seed in 0..<(Campaign.isFull ? 20 : 2) as Range<UInt64> {
      tally.check(try LivePages.file(pageSize: pageSize, seed: seed), pageSize: pageSize)
    }
    #expect(tally.wrong.isEmpty)
    #expect(tally.longest <= 0)
    // Leaves of tables and indexes, interior pages of both.
    for kind in [13, 10, 5, 2] as [UInt8] where pageSize == 512 || kind > 5 {
      #expect(tally.layouts.contains { $0 & CellForm.typeMask == kind }, "no page of type \(kind) was taken apart")
    }
    #expect(tally.layouts.contains { $0 & CellForm.arrangementMask == CellForm.irregular })
  }

  /// Damaged and hostile pages are pages too: each is kept or taken apart, never lost.
  @Test(arguments: pageSizes)
  func `Pages with bytes of chance come back`(pageSize: Int) throws {
    var random = SeededRandom(UInt64(pageSize))
    let pages = LivePages.pages(of: try LivePages.file(pageSize: pageSize, seed: 7), pageSize: pageSize)
    var tally = Tally()
    let mutants = Campaign.isFull ? 20_000_000 / (pageSize + 500) : 300_000 / (pageSize + 500) + 20
    for _ in 0..<mutants {
      var page = pages[Int(random.next() % UInt64(pages.count))]
      for _ in 0...random.next() % 4 { Self.spoil(&page, &random) }
      let before = pages[Int(random.next() % UInt64(pages.count))]
      tally.check(random.next() % 2 == 0 ? page : before + page + before, pageSize: pageSize)
    }
    #expect(tally.wrong.isEmpty)
    #expect(tally.longest <= 0)
    #expect(tally.literal > 0)
    #expect(tally.layouts.contains { $0 & CellForm.arrangementMask == CellForm.irregular })
    print("campaign: cell form, pages of \(pageSize): \(mutants) mutants came back")
  }

  /// Changes a page where it matters: its header, its cell pointers, the beginning of a cell; or anywhere.
  private static func spoil(_ page: inout [UInt8], _ random: inout SeededRandom) {
    let pointers = Int(page[0] == 2 || page[0] == 5 ? 12 : 8)
    let count = max(1, min((page.count - pointers) / 2, Int(page[3]) << 8 | Int(page[4])))
    let pointer = pointers + 2 * Int(random.next() % UInt64(count))
    let cell = Int(page[pointer]) << 8 | Int(page[pointer + 1])
    switch random.next() % 6 {
    case 0: page[Int(random.next() % 12)] = UInt8(truncatingIfNeeded: random.next())
    case 1: page[0] = [2, 5, 10, 13][Int(random.next() % 4)]
    case 2: page[pointer + Int(random.next() % 2)] = UInt8(truncatingIfNeeded: random.next())
    case 3:
      let other = pointers + 2 * Int(random.next() % UInt64(count))
      page.swapAt(pointer, other)
      page.swapAt(pointer + 1, other + 1)
    case 4: page[min(page.count - 1, cell + Int(random.next() % 8))] = UInt8(truncatingIfNeeded: random.next())
    default: page[Int(random.next() % UInt64(page.count))] = UInt8(truncatingIfNeeded: random.next())
    }
  }

  /// Bytes 16 and 17 of the file; 1 stands for 65,536.
  private func pageSize(of file: [UInt8]) -> Int {
    let size = Int(file[16]) << 8 | Int(file[17])
    return size == 1 ? 65_536 : size
  }
}

/// What became of pages that were taken apart.
struct Tally: ~Copyable {
  var wrong: [Int] = []
  var literal = 0
  var layouts: Set<UInt8> = []
  /// By how many bytes a form was longer than any may be.
  var longest = Int.min
  private var encoder = CellFormEncoder()
  private var decoder = CellFormDecoder()

  /// Takes the pages apart frame by frame, with coders that have seen other pages before.
  mutating func check(_ pages: [UInt8], pageSize: Int) {
    let inFrame = max(1, min(64, 262_144 / pageSize)) * pageSize
    for start in stride(from: 0, to: pages.count, by: inFrame) {
      let end = min(start + inFrame, pages.count)
      let count = (end - start) / pageSize
      let form = encoder.form(of: Array(pages[start..<end]), pageSize: pageSize)
      let again = try? decoder.pages(of: form, count: count, pageSize: pageSize)
      if again != Array(pages[start..<end]) { wrong.append(start / pageSize) }
      literal += form.prefix(count).count { $0 == CellForm.literal }
      layouts.formUnion(form.prefix(count))
      longest = max(longest, form.count - CellForm.limit(pages: count, pageSize: pageSize))
    }
  }
}
