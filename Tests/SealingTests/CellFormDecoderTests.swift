import TestKit
import Testing

@testable import Sealing

/// Forms that no honest writer makes. Whoever holds the key can seal them; a reader must refuse them and live.
@Suite struct CellFormDecoderTests {
  /// Written down by hand from the text of the format, so that encoder and decoder cannot be wrong together.
  @Test func `The form is what the text says`() throws {
    var page = [UInt8](repeating: 0, count: 512)
    // A leaf of a table: two cells of six bytes, one before the other from the end.
    page.replaceSubrange(0..<12, with: [13, 0, 0, 0, 2, 0x01, 0xF4, 0, 0x01, 0xFA, 0x01, 0xF4])
    page.replaceSubrange(500..<512, with: [4, 2, 2, 1, 0x63, 0x64, 4, 1, 2, 1, 0x61, 0x62])
    let straight: [UInt8] = [0x1D, 0, 2, 4, 1, 2, 1, 0x61, 0x62, 4, 2, 2, 1, 0x63, 0x64]
    #expect(CellForms.form(of: page, pageSize: 512) == straight)
    #expect(try CellForms.pages(of: straight, count: 1, pageSize: 512) == page)

    // An interior page of a table: its children are 9 and 8, its right-most 300; one byte of its gap is used.
    page = [UInt8](repeating: 0, count: 512)
    page.replaceSubrange(0..<16, with: [5, 0, 0, 0, 2, 0x01, 0xF6, 0, 0, 0, 0x01, 0x2C, 0x01, 0xFB, 0x01, 0xF6])
    page.replaceSubrange(502..<512, with: [0, 0, 0, 8, 7, 0, 0, 0, 9, 5])
    page[16] = 0xAB
    let gap = [0xAB] + [UInt8](repeating: 0, count: 502 - 17)
    let interior = [0x95, 0, 2, 0, 0, 0, 9, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0x01, 0x24, 5, 7] + gap
    #expect(CellForms.form(of: page, pageSize: 512) == interior)
    #expect(try CellForms.pages(of: interior, count: 1, pageSize: 512) == page)

    // An index: the first of three cells left six bytes of a free block behind it, the content area begins at 480.
    page = [UInt8](repeating: 0, count: 512)
    page.replaceSubrange(
      0..<14, with: [10, 0x01, 0xFA, 0, 3, 0x01, 0xE0, 1, 0x01, 0xF5, 0x01, 0xF0, 0x01, 0xEB])
    page.replaceSubrange(491..<512, with: [4, 3, 3, 3, 3, 4, 2, 2, 2, 2, 4, 1, 1, 1, 1, 0, 0, 0, 6, 0xCC, 0xCC])
    let head: [UInt8] = [0x3A, 0, 3, 0x01, 0xFA, 0x01, 0xE0, 1, 1, 0, 0, 0, 6]
    let rest = [UInt8](repeating: 0, count: 491 - 480) + [0, 0, 0, 6, 0xCC, 0xCC]
    let irregular = head + [4, 1, 1, 1, 1, 4, 2, 2, 2, 2, 4, 3, 3, 3, 3] + rest
    #expect(CellForms.form(of: page, pageSize: 512) == irregular)
    #expect(try CellForms.pages(of: irregular, count: 1, pageSize: 512) == page)
  }

  @Test(arguments: VectorRecipes.brokenForms())
  func `A form that breaks a rule is malformed`(broken: VectorRecipes.BrokenForm) throws {
    #expect(failure { _ = try CellForms.pages(of: broken.parts, count: broken.pages, pageSize: 512) } == .malformed)
  }

  /// Random, cut and flipped forms: refused, or so many pages; and never a byte beyond them, which the address sanitizer
  /// watches when this runs under it.
  @Test(arguments: [512, 4096, 65536])
  func `No form makes the decoder crash`(pageSize: Int) throws {
    var random = SeededRandom(UInt64(pageSize) + 1)
    let pages = LivePages.pages(of: try LivePages.file(pageSize: pageSize, seed: 3), pageSize: pageSize)
    var decoder = CellFormDecoder()
    var refused = 0
    var taken = 0
    let cases = Campaign.isFull ? (pageSize > 4096 ? 10_000 : 60_000) : pageSize > 4096 ? 100 : 1500
    for _ in 0..<cases {
      let count = 1 + Int(random.next() % (pageSize > 4096 ? 1 : 3))
      let chosen = (0..<count).flatMap { _ in pages[Int(random.next() % UInt64(pages.count))] }
      var form = CellForms.form(of: chosen, pageSize: pageSize)
      Self.spoil(&form, pages: count, &random)
      do {
        let plain = try decoder.pages(of: form, count: count, pageSize: pageSize)
        #expect(plain.count == count * pageSize)
        taken += 1
      } catch {
        #expect((error as? SealError)?.code == .malformed)
        refused += 1
      }
    }
    #expect(refused > cases / 4 && taken > cases / 100)
    print("campaign: forms of pages of \(pageSize): \(refused) refused, \(taken) taken for some pages, no crash")
  }

  private static func spoil(_ form: inout [UInt8], pages: Int, _ random: inout SeededRandom) {
    func number(_ limit: Int) -> Int { Int(random.next() % UInt64(max(1, limit))) }
    switch number(7) {
    case 0: form = random.bytes(number(2 * form.count))
    case 1: form.removeLast(number(form.count))
    case 2: form += random.bytes(1 + number(9))
    case 3: form[number(pages)] = [0x1D, 0x3D, 0xBD, 0x2A, 0x3A, 0x35, 0x12, 0x32, 0][number(9)]
    case 4: for _ in 0...number(3) { form[number(form.count)] ^= 1 << number(8) }
    // The beginning holds what the rest depends on: layouts, counts, children, exceptions.
    case 5: for _ in 0...number(3) { form[number(min(form.count, 40))] = UInt8(truncatingIfNeeded: random.next()) }
    default:
      let start = number(form.count)
      let end = min(form.count, start + number(40))
      form.replaceSubrange(start..<end, with: random.bytes(number(40)))
    }
  }
}
