import Sealing
import TestKit
import Testing

@testable import Repositories

/// Which pages of a base a frame is made to rest on, and the samples by which they are found.
@Suite struct BaseChoosingTests {
  @Test func `pages that changed in place rest on themselves alone`() async throws {
    let pair = try await Pair(pages: 400)
    var image = pair.first
    for page in stride(from: 0, to: 400, by: 10) { image[page * 4096 + 100] ^= 1 }
    let delta = try await pair.push(image, keepsPositions: true)
    #expect(delta.units == 40)
    #expect(delta.baseUnits == 40, "neither neighbours nor what lies between")
  }

  @Test func `b-tree pages that changed in place are not taken apart`() async throws {
    let rows = (0..<2000).map { leafCell(row: $0) }
    let pages = stride(from: 0, to: 2000, by: 25).flatMap { leafPage(Array(rows[$0..<$0 + 25])) }
    let pair = try await Pair(first: pages)
    var image = pages
    for page in 0..<80 { image[page * 4096 + 4000] ^= 1 }
    #expect(try await pair.push(image, keepsPositions: true).codecs == [.zstdWithPrefix])
    // Without its first rows every row lies elsewhere in its page, as after a vacuum.
    let kept = rows[12...].map { $0 }
    image = stride(from: 0, to: 1975, by: 25).flatMap { leafPage(Array(kept[$0..<$0 + 25])) }
    #expect(try await pair.push(image, keepsPositions: false).codecs == [.cellsWithPrefix])
  }

  @Test func `pages that moved by as many pages rest on themselves alone, but for the first`() async throws {
    let pair = try await Pair(pages: 200)
    var image = pair.home.noise(3 * 4096, seed: 99) + pair.first
    for page in stride(from: 3, to: 203, by: 2) { image[page * 4096 + 100] ^= 1 }
    let delta = try await pair.push(image, keepsPositions: false)
    #expect(delta.units >= 200)
    #expect((200...204).contains(delta.baseUnits))
  }

  @Test func `positions that no longer hold cost bytes only`() async throws {
    let pair = try await Pair(pages: 200)
    var image = Array(pair.first[(37 * 4096)...])
    for page in 0..<163 { image[page * 4096 + 100] ^= 1 }
    let delta = try await pair.push(image, keepsPositions: true)
    #expect(delta.baseUnits >= 160)
  }

  @Test func `rows are met again on a page that holds only some of them`() {
    let rows = (0..<28).map { row in leafCell(row: row) }
    let all = samples(of: leafPage(rows))
    let moved = samples(of: leafPage(Array(rows[20...])))
    #expect((4...12).contains(all.count))
    #expect(!moved.isEmpty)
    #expect(moved.isSubset(of: all))
  }

  @Test(arguments: [1, 7, 100]) func `bytes are met again wherever they moved`(shift: Int) {
    var random = SeededRandom(5)
    let bytes = random.bytes(4096)
    let all = samples(of: bytes)
    let moved = samples(of: random.bytes(shift) + bytes.dropLast(shift))
    #expect(all.count >= 3)
    #expect(moved.intersection(all).count + 2 >= all.count)
  }

  @Test func `any page whatever can be sampled`() {
    var random = SeededRandom(6)
    for type: UInt8 in [2, 5, 10, 13, 0] {
      for _ in 0..<2000 {
        var page = random.bytes(512)
        page[0] = type
        if random.next() % 2 == 0 { (page[3], page[5]) = (0, 1) }
        #expect(samples(of: page).count <= 16)
      }
    }
  }

  @Test func `samples of another version, size or kind are no samples`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/samples"
    let table = try SampleTable(pages: 1000, pageSize: 4096, in: scratch.path)
    table.insert(77, page: 5)
    try table.write(to: path)
    func read(pages: Int = 1000) -> SampleTable? {
      SampleTable.read(from: path, pages: pages, pageSize: 4096, in: scratch.path)
    }
    #expect(read()?[77] == 5)
    #expect(read(pages: 5000) == nil)
    // A database that is hardly filled was taken for larger than its vacuumed copy came to be.
    #expect(read(pages: 10)?[77] == 5)
    let bytes = try #require(try StateFiles.read(path))
    try StateFiles.write([1] + bytes[1...], to: path)
    #expect(read() == nil)
    try StateFiles.write(Array(bytes[8...]), to: path)
    #expect(read() == nil)
  }

  /// With one in two pages, as 10 GiB had when their table was no larger than any, deltas were three to six times as long.
  @Test(arguments: [1 << 10, 1 << 18, 3 << 20] as [Int])
  func `a page has two samples, however many there are`(pages: Int) throws {
    let scratch = try Scratch()
    let table = try SampleTable(pages: pages, pageSize: 4096, in: scratch.path)
    var found = 0
    for page in 0..<64 {
      let page = leafPage((0..<28).map { leafCell(row: page * 28 + $0) })
      page.withUnsafeBytes { table.samples(of: $0) { _ in found += 1 } }
    }
    #expect(found >= 64 * 3 / 2)
    #expect(table.pagesPerSample(pageSize: 4096) == 1)
  }

  /// Most of a table are free slots: beside an image lies what is in it.
  @Test func `a kept table is as long as its samples, and the same`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/samples"
    // Right above a power of two: of its 524 288 slots a quarter are used.
    let pages = 16_500
    let table = try SampleTable(pages: pages, pageSize: 4096, in: scratch.path)
    func tag(_ page: Int, _ place: Int) -> UInt32 { UInt32(page * 8 + place) &* 2_654_435_761 }
    for page in 0..<pages { for place in 0..<8 { table.insert(tag(page, place), page: page) } }
    try table.write(to: path)
    #expect(try StateFiles.read(path)?.count == 24 + 8 * 8 * pages)
    let read = try #require(SampleTable.read(from: path, pages: pages, pageSize: 4096, in: scratch.path))
    #expect((0..<pages).allSatisfy { page in (0..<8).allSatisfy { read[tag(page, $0)] == page } })
    #expect(read[tag(pages, 0)] == nil)
    #expect(read.votesOfHalfAPage(pageSize: 4096) == table.votesOfHalfAPage(pageSize: 4096))
    // One that was cut, or says that it holds more.
    var bytes = try #require(try StateFiles.read(path))
    try StateFiles.write(Array(bytes.dropLast(8)), to: path)
    #expect(SampleTable.read(from: path, pages: pages, pageSize: 4096, in: scratch.path) == nil)
    bytes[23] = 0xFF
    try StateFiles.write(bytes, to: path)
    #expect(SampleTable.read(from: path, pages: pages, pageSize: 4096, in: scratch.path) == nil)
  }

  @Test func `samples kept by an older program are read`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/samples"
    let (tags, count) = ([77, 0xFFFF_FFFF, 0x1234_5678] as [UInt32], 16_384)
    var slots = [UInt64](repeating: 0, count: count)
    for (page, tag) in tags.enumerated() {
      var index = Int(truncatingIfNeeded: (UInt64(tag) &* 0x9E37_79B9_7F4A_7C15) >> 32) & (count - 1)
      while slots[index] != 0 { index = (index + 1) & (count - 1) }
      slots[index] = UInt64(tag) << 32 | UInt64(page + 1)
    }
    try StateFiles.write(wholeTable(slots), to: path)
    let read = try #require(SampleTable.read(from: path, pages: 1000, pageSize: 4096, in: scratch.path))
    for (page, tag) in tags.enumerated() { #expect(read[tag] == page) }
    #expect(read[78] == nil)
    #expect(SampleTable.read(from: path, pages: 5000, pageSize: 4096, in: scratch.path) == nil)
    try StateFiles.write(wholeTable(Array(slots.dropLast())), to: path)
    #expect(SampleTable.read(from: path, pages: 1000, pageSize: 4096, in: scratch.path) == nil)
  }

  /// Whoever looks for a sample goes on until a free place: a table without one was never written by us.
  @Test(arguments: [0xFF, 1] as [UInt8]) func `a table without free places is no table`(byte: UInt8) throws {
    let scratch = try Scratch()
    let path = scratch.path + "/samples"
    let slots = [UInt64](repeating: UInt64(byte) &* 0x0101_0101_0101_0101, count: 16_384)
    try StateFiles.write(wholeTable(slots), to: path)
    #expect(SampleTable.read(from: path, pages: 1000, pageSize: 4096, in: scratch.path) == nil)
  }

  /// As older programs kept the samples of 1000 pages: all slots, behind a head of two numbers.
  private func wholeTable(_ slots: [UInt64]) -> [UInt8] {
    ([2, 1000] + slots).withUnsafeBytes { Array($0) }
  }

  /// One flipped bit costs bytes, and no more.
  @Test func `a kept sample without its page is no sample`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/samples"
    let table = try SampleTable(pages: 1000, pageSize: 4096, in: scratch.path)
    table.insert(77, page: 3)
    table.insert(78, page: 4)
    try table.write(to: path)
    var bytes = try #require(try StateFiles.read(path))
    let slot = try #require(stride(from: 16, to: bytes.count, by: 8).first { bytes[$0] == 4 && bytes[$0 + 4] == 77 })
    bytes[slot] = 0
    try StateFiles.write(bytes, to: path)
    let read = try #require(SampleTable.read(from: path, pages: 1000, pageSize: 4096, in: scratch.path))
    #expect(read[77] == nil && read[78] == 4)
  }

  /// The samples of what becomes a base are those of the first target, which has decided that.
  @Test func `for a target behind the first one nothing is sampled`() async throws {
    let home = try await Home()
    let scratch = try Scratch()
    let samples = BaseSamples(pages: 64, pageSize: 4096, in: scratch.path)
    var plan = DeltaPlan(level: .leaf, samples: samples)
    _ = try await home.push(home.noise(64 * 4096, seed: 1), deltas: plan)
    #expect(!samples.haveBegun)
    plan.level = .middle
    _ = try await home.push(home.noise(64 * 4096, seed: 2), deltas: plan.behindFirst)
    #expect(!samples.haveBegun)
    _ = try await home.push(home.noise(64 * 4096, seed: 3), deltas: plan)
    #expect(samples.haveBegun)
  }

  private func samples(of page: [UInt8]) -> Set<UInt32> {
    var found: Set<UInt32> = []
    page.withUnsafeBytes { PageSampler(distance: 512).samples(of: $0) { found.insert($0) } }
    return found
  }

  /// Of a table's leaf: 133 bytes of payload.
  private func leafCell(row: Int) -> [UInt8] {
    var random = SeededRandom(UInt64(1000 + row))
    return [0x81, 0x05, 0x81 + UInt8(row >> 7), UInt8(row & 127)] + random.bytes(133)
  }

  private func leafPage(_ cells: [[UInt8]]) -> [UInt8] {
    var page = [UInt8](repeating: 0, count: 4096)
    var start = 4096
    for (index, cell) in cells.enumerated() {
      start -= cell.count
      page.replaceSubrange(start..<start + cell.count, with: cell)
      (page[8 + 2 * index], page[9 + 2 * index]) = (UInt8(start >> 8), UInt8(start & 255))
    }
    (page[0], page[4], page[5], page[6]) = (13, UInt8(cells.count), UInt8(start >> 8), UInt8(start & 255))
    return page
  }
}

/// An anchor of noise that is a base, and a version that rests on it.
private struct Pair {
  let home: Home
  let first: [UInt8]
  private let scratch: Scratch

  init(pages: Int) async throws {
    var random = SeededRandom(1)
    try await self.init(first: random.bytes(pages * 4096))
  }

  init(first: [UInt8]) async throws {
    home = try await Home()
    scratch = try Scratch()
    self.first = first
    let pages = first.count / 4096
    let samples = BaseSamples(pages: pages, pageSize: 4096, in: scratch.path)
    _ = try await home.push(first, deltas: DeltaPlan(level: .anchor, samples: samples))
    try StateFiles.write(first, to: scratch.path + "/base")
    try samples.write(besides: scratch.path + "/base")
  }

  /// Of all delta frames of a version.
  struct Deltas {
    var units: Int
    var baseUnits: Int
    var codecs: Set<Codec>
  }

  func push(_ image: [UInt8], keepsPositions: Bool) async throws -> Deltas {
    let anchor = try #require(BaseImage(at: scratch.path + "/base", pageSize: 4096, in: scratch.path))
    let result = try await home.push(
      image, deltas: DeltaPlan(level: .middle, anchor: anchor, keepsPositions: keepsPositions))
    #expect(try await home.read(result.manifest) == image)
    var frames = result.manifest.object.directory.frames
    let table = try await PackTable(of: result.manifest, repository: home.repository, state: nil)
    for entry in table.all {
      frames += try await home.repository.directory(of: entry, chain: home.chain, state: nil).frames
    }
    let deltas = frames.filter(\.codec.hasPrefix)
    return Deltas(
      units: deltas.reduce(0) { $0 + $1.unitLengths.count },
      baseUnits: deltas.reduce(0) { $0 + $1.bases.reduce(0) { $0 + Int($1.count) } },
      codecs: Set(deltas.map(\.codec)))
  }
}
