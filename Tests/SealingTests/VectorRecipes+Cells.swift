import Testing

@testable import Sealing

/// Frames of codecs 3 and 4, and deltas in manifests: honest ones, odd ones, hostile ones.
extension VectorRecipes {
  static func cells() throws -> [Vector] { try goodCells() + manifestDeltas() + hostileCells() }

  private static func goodCells() throws -> [Vector] {
    let pages = try CellForms.samplePages()
    let joined = Array(pages.joined())
    let odd = try oddPages(pages)
    let changed = odd.map { page in
      var page = page
      page[page.count - 9] ^= 1
      return page
    }
    let large = largePages()
    var own = FormParts()
    own.add(0x30 | 13, count: 1, irregular: [0, 0, 0x01, 0xFA, 0, 0], cells: [FormParts.row(1, [2, 1, 0x61, 0x62])])
    let ownPage = try CellForms.pages(of: own.bytes, count: 1, pageSize: 512)
    let base = try pack([Frames.cells(pages), try Frames.encoded(.page, odd, level: 0)])
    return [
      good("cells", "pages in every arrangement", try pack([Frames.cells(pages)]), content: joined),
      good(
        "cells-literal", "literal pages only: an encoder's choice",
        try pack([Frames.cells(pages, form: [UInt8](repeating: 0, count: pages.count) + joined)]), content: joined),
      good(
        "cells-irregular", "a straight page as an irregular one: an encoder's choice",
        try pack([Frames.cells([ownPage], form: own.bytes)]), content: ownPage),
      good(
        "cells-delta", "a delta on pages in every arrangement, in another order, from two packs",
        try pack(
          [
            Frames.cells(Array(pages.prefix(3))),
            Frames.cellDelta(
              pages.reversed(), prefix: Array((pages[4...] + pages[..<3]).joined()),
              bases: [
                .init(pack: 0, frame: 0, firstUnit: 4, count: UInt16(pages.count - 4)),
                .init(pack: nil, frame: 0, firstUnit: 0, count: 3),
              ]),
          ], bases: [.sha256(of: base)]), content: Array(pages[..<3].joined()) + pages.reversed().joined(),
        bases: [base]),
      good(
        "cells-delta-odd", "a delta on pages that decide, by a hair, whether they are taken apart",
        try pack(
          [
            Frames.cellDelta(
              changed, prefix: Array(odd.joined()),
              bases: [.init(pack: 0, frame: 1, firstUnit: 0, count: UInt16(odd.count))])
          ], bases: [.sha256(of: base)]), content: Array(changed.joined()), bases: [base]),
      good(
        "cells-delta-65536", "the largest pages, one without a start of its content area",
        try pack([
          try Frames.encoded(.page, [large[0]]),
          Frames.cellDelta([large[1]], prefix: large[0], bases: [.init(pack: nil, frame: 0, firstUnit: 0, count: 1)]),
        ]), content: large[0] + large[1]),
    ]
  }

  /// Pages on both sides of each rule that makes a page of a prefix literal.
  private static func oddPages(_ pages: [[UInt8]]) throws -> [[UInt8]] {
    func changed(_ page: Int, _ bytes: [Int: UInt8]) -> [UInt8] {
      var page = pages[page]
      for (offset, value) in bytes { page[offset] = value }
      return page
    }
    /// Nine rows whose cell pointers are exchanged in pairs: each pair is two exceptions.
    func swapped(_ pairs: [(Int, Int)]) -> [UInt8] {
      var page = pages[0]
      for (one, other) in pairs {
        for byte in 0..<2 { page.swapAt(8 + 2 * one + byte, 8 + 2 * other + byte) }
      }
      return page
    }
    return [
      swapped([(0, 1)]), swapped([(0, 8)]), swapped([(1, 3)]), swapped([(0, 1), (2, 3), (4, 5)]),
      swapped([(0, 4), (1, 5), (2, 6), (3, 7)]),
      // Cells that cover a byte twice; that begin before their pointers end; that end beyond the page.
      changed(0, [11: pages[0][9], 10: pages[0][8]]), changed(0, [8: 0, 9: 25]), changed(0, [8: 0, 9: 26]),
      changed(0, [8: 1, 9: 0xFF]), changed(0, [8: 0xFF, 9: 0xFF]),
      // Another type, no cells, too many cells; a content area that begins elsewhere, or nowhere.
      changed(0, [0: 12]), changed(0, [3: 0, 4: 0]), changed(0, [3: 0, 4: 252]), changed(0, [3: 0, 4: 8]),
      changed(0, [5: 0, 6: 0]), changed(0, [5: 1, 6: 0xFF]), changed(0, [5: 2, 6: 0]), changed(0, [5: 2, 6: 1]),
      changed(0, [6: pages[0][6] &- 1]), changed(0, [7: 1]), changed(0, [1: 1]), changed(0, [30: 1]),
      changed(2, [6: pages[2][6] &+ 1]), changed(3, [0: 2]), changed(4, [0: 5]), changed(5, [0: 10]),
      changed(6, [300: 9]), changed(6, [100: 9]), changed(6, [338: 200]),
    ]
  }

  /// Two pages of 65,536 bytes of 40 rows; bytes 5 and 6 are 0, as SQLite writes 65,536, in the first.
  private static func largePages() -> [[UInt8]] {
    var page = [UInt8](repeating: 0, count: 65_536)
    page[0] = 13
    page[4] = 40
    for row in 0..<40 {
      let at = 65_536 - 30 * (row + 1)
      page[8 + 2 * row] = UInt8(at >> 8)
      page[9 + 2 * row] = UInt8(at & 0xFF)
      page.replaceSubrange(at..<at + 30, with: FormParts.row(UInt8(row), [UInt8](repeating: UInt8(row), count: 28)))
    }
    var next = page
    next[5] = UInt8((65_536 - 1200) >> 8)
    next[6] = UInt8((65_536 - 1200) & 0xFF)
    next[65_530] = 77
    return [page, next]
  }

  private static func manifestDeltas() throws -> [Vector] {
    let pages = try CellForms.samplePages()
    let base = try pack([Frames.cells(pages)])
    var changed = pages[0]
    changed[500] ^= 1
    let own = BaseRun(pack: nil, frame: 1, firstUnit: 0, count: 1)
    func manifest(_ frames: [EncodedFrame], _ bases: [Digest]) throws -> [UInt8] {
      var builder = ObjectBuilder(kind: .manifest, keys: Fixed.keys, basePacks: bases, random: Fixed.stuckRandom)
      builder.add(try Samples.nodeFrame)
      for frame in frames { builder.add(frame) }
      return try builder.finish(meta: Samples.body.encode()).bytes
    }
    let frames = [
      Frames.cellDelta([changed], prefix: pages[0], bases: [.init(pack: 0, frame: 0, firstUnit: 0, count: 1)]),
      Frames.delta(.page, [pages[0]], prefix: changed, bases: [own]),
    ]
    let nodes = [Samples.leaf.encode(), Samples.branch.encode(), Samples.table.encode()].flatMap { $0 }
    return [
      good(
        "manifest-delta", "riders that are deltas, on a pack and on each other", kind: .manifest,
        try manifest(frames, [.sha256(of: base)]), content: nodes + changed + pages[0] + Samples.body.encode(),
        bases: [base]),
      vector(
        "manifest-delta-unlisted", "a rider on a base pack that is not listed", kind: .manifest, expect: "malformed",
        try Forge(kind: .manifest, frames: [frames[0]], meta: Samples.body.encode()).sealed()),
    ]
  }

  private static func hostileCells() throws -> [Vector] {
    let page = Fixed.page(1)
    let raw = try Frames.encoded(.page, [page], level: 0)
    let block = try Frames.encoded(.block, [page], level: 0)
    let node = try Frames.encoded(.node, [Samples.leaf.encode()], level: 0)
    let own = BaseRun(pack: nil, frame: 0, firstUnit: 0, count: 1)
    let literal = [0] + page
    let longForm = longForm()
    let long = [try CellForms.pages(of: longForm, count: 1, pageSize: 512)]
    let other = EncodedFrame(
      codec: .cellsWithPrefix, type: .page, unitLengths: UnitLengths(uniform: 512, count: 1),
      fingerprints: [Fingerprint(of: Fixed.digest("another page"))], bases: [own],
      payload: Frames.compress(literal, prefix: literal))
    func of(_ codec: Codec, _ type: UnitType, _ units: [[UInt8]], bases: [BaseRun] = []) -> EncodedFrame {
      Frames.made(codec, type, units, payload: Frames.compress(literal), bases: bases)
    }
    let small = try pack([try Frames.encoded(.page, [page], level: 0)])
    let frames: [(String, String, String, [EncodedFrame])] = [
      ("cells-on-blocks", "blocks in the form of cells", "malformed", [of(.cells, .block, [page])]),
      ("cells-on-nodes", "nodes in the form of cells", "malformed", [of(.cells, .node, [Samples.leaf.encode()])]),
      (
        "cells-delta-on-blocks", "blocks in the form of cells, as a delta", "malformed",
        [block, of(.cellsWithPrefix, .block, [page], bases: [own])]
      ),
      (
        "delta-on-nodes", "nodes as a delta", "malformed",
        [node, Frames.delta(.node, [Samples.leaf.encode()], prefix: Samples.leaf.encode(), bases: [own])]
      ),
      (
        "cells-size-above", "a form above the limit, sound otherwise", "malformed", [Frames.cells(long, form: longForm)]
      ),
      (
        "cells-delta-size-above", "a delta whose form is above the limit, sound otherwise", "malformed",
        [
          raw,
          Frames.made(
            .cellsWithPrefix, .page, long, payload: Frames.compress(longForm, prefix: literal), bases: [own]),
        ]
      ),
      ("cells-size-zero", "a form of no bytes", "malformed", [Frames.cells([page], form: [])]),
      ("cells-frame-id", "a delta on the right base, to another page than it says", "damaged", [raw, other]),
      (
        "cells-without-prefix", "a delta whose prefix was not used is right; its page is another", "damaged",
        [raw, Frames.made(.cellsWithPrefix, .page, [Fixed.page(2)], payload: Frames.compress(literal), bases: [own])]
      ),
    ]
    let prefixed = try Forge(
      frames: [
        Frames.made(
          .cellsWithPrefix, .page, [Fixed.page(1, size: 1024)], payload: Frames.compress(literal, prefix: page),
          bases: [.init(pack: 0, frame: 0, firstUnit: 0, count: 1)])
      ], basePacks: [.sha256(of: small)]
    ).sealed()
    return try frames.map { vector($0.0, $0.1, expect: $0.2, try Forge(frames: $0.3).sealed()) } + [
      vector(
        "cells-prefix-part", "a prefix that is no whole page: bases of half the page size in another pack",
        expect: "malformed", prefixed, bases: [small])
    ]
      + brokenForms().filter { !$0.parts.isEmpty }.map { broken in
        let units = (0..<broken.pages).map { Fixed.page($0) }
        return vector(
          "cells-\(broken.name)", broken.about, expect: "malformed",
          try Forge(frames: [Frames.cells(units, form: broken.parts)]).sealed())
      }
  }

  /// The form of one page that says of every cell that it is an exception: eight bytes above the limit.
  private static func longForm() -> [UInt8] {
    let exceptions: [UInt8] = [4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0]
    let rows = (1...4).map { FormParts.row($0, [2, 1, 0x61, 0x62]) }
    var parts = FormParts()
    parts.add(
      0xBD, count: 4, irregular: [0, 0, 0x01, 0xE8, 0] + exceptions, cells: rows,
      literals: [UInt8](repeating: 0xEE, count: 512 - 16 - 24))
    return parts.bytes
  }

  /// A form of pages of 512 bytes that breaks one rule of §4.5.
  struct BrokenForm: Sendable, CustomTestStringConvertible {
    let name: String
    let about: String
    let pages: Int
    let parts: [UInt8]
    var testDescription: String { name }
  }

  static func brokenForms() -> [BrokenForm] {
    let row = FormParts.row(1, [2, 1, 0x61, 0x62])
    let half = FormParts.row(1, [UInt8](repeating: 1, count: 126))
    func one(
      _ layout: UInt8, count: Int = 1, irregular: [UInt8] = [], cells: [[UInt8]]? = nil, literals: [UInt8] = []
    ) -> [UInt8] {
      var parts = FormParts()
      parts.add(layout, count: count, irregular: irregular, cells: cells ?? [row], literals: literals)
      return parts.bytes
    }
    /// Two rows of six bytes, irregular; 0x1F4 is 500.
    func two(_ exceptions: [UInt8], rest: Int = 6) -> [UInt8] {
      let irregular = [0, 0, 0x01, 0xF4, 0, UInt8(exceptions.count / 4)] + exceptions
      return one(0x3D, count: 2, irregular: irregular, cells: [row, row], literals: [UInt8](repeating: 0, count: rest))
    }
    let broken: [(String, String, Int, [UInt8])] = [
      ("form-empty", "no bytes", 1, []),
      ("form-cut", "one byte short", 1, one(0x1D).dropLast()),
      ("form-late", "one byte too many", 1, one(0x1D) + [0]),
      ("form-layouts-cut", "fewer layouts than pages", 3, [0, 0]),
      ("form-counts-cut", "a count of one byte", 1, [0x1D, 0]),
      ("form-children-cut", "children that end early", 1, [0x15, 0, 1, 0, 0, 0, 1, 0, 0, 0]),
      ("form-irregular-cut", "exceptions that end early", 1, [0x3D, 0, 1, 0, 0, 1, 250, 0, 9, 0, 0]),
      ("form-varint-cut", "a payload length that ends early", 1, [0x1D, 0, 1, 0x81]),
      ("form-literal-cut", "a literal page of 511 bytes", 1, [0] + Fixed.page(1).dropLast()),
      ("form-gap-cut", "a gap that ends early", 1, one(0x9D, literals: [1])),
      ("layout-type", "page type 3", 1, one(0x13)),
      ("layout-arrangement", "a page type without an arrangement", 1, one(0x0D)),
      ("layout-bit-6", "bit 6", 1, one(0x5D)),
      ("no-cells", "a page of no cells", 1, one(0x1D, count: 0, cells: [])),
      (
        "many-cells", "cell pointers beyond the page", 1,
        one(0x1D, count: 253, cells: [[UInt8]](repeating: row, count: 253))
      ),
      ("last-first-alone", "the last cell first, of one", 1, one(0x2D)),
      ("full", "cells longer than their page together", 1, one(0x1D, count: 4, cells: [half, half, half, half])),
      ("exceptions-equal", "the same exception twice", 1, two([0, 0, 0, 3, 0, 0, 0, 3])),
      ("exception-beyond", "an exception beyond the cells", 1, two([0, 2, 0, 3])),
      ("exception-overlap", "two cells in one place", 1, two([0x80, 1, 0, 0])),
      ("exception-overlap-part", "two cells that share one byte", 1, two([0x80, 1, 0, 5], rest: 1)),
      ("exception-low", "a cell on the cell pointers", 1, two([0x80, 1, 0x01, 0xEF])),
      ("exception-high", "a cell that ends beyond the page", 1, two([0, 1, 0xFF, 0xF9])),
      ("exception-far", "a cell that begins beyond the page", 1, two([0, 0, 0x80, 0])),
    ]
    return broken.map { BrokenForm(name: $0.0, about: $0.1, pages: $0.2, parts: $0.3) }
  }
}
