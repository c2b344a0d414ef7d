import Glibc

/// Finds pages of a base that share content with given bytes, wherever it moved: which page holds each sample
/// (`PageSampler`). Samples are hints and nothing more: a wrong one costs bytes.
///
/// Open addressing, 8 bytes a slot: 32 bits of the sample's name, page number + 1.
final class SampleTable: @unchecked Sendable {
  /// So many samples are had for nothing: a table of 16 MiB.
  private static let most = 1 << 20

  private let sampler: PageSampler
  private let slots: FileTable<UInt64>
  private var used = 0
  private let pages: Int

  /// - Parameter pages: of the image that will be sampled.
  /// - Throws: `.stateFolder`; `.noSpace` when there is no room in `folder`.
  init(pages: Int, pageSize: Int, in folder: String) throws(RepositoryError) {
    self.pages = pages
    sampler = PageSampler(distance: Self.distance(pages: pages, pageSize: pageSize))
    let capacity = Self.capacity(pages: pages, pageSize: pageSize)
    slots = try FileTable(capacity: capacity, count: capacity, in: folder)
  }

  private static func capacity(pages: Int, pageSize: Int) -> Int {
    let expected = pages * pageSize / distance(pages: pages, pageSize: pageSize)
    var capacity = 1024
    while capacity < max(2 * min(most, pages * 8), expected * 4 / 3) { capacity *= 2 }
    return capacity
  }

  /// Eight samples a page while they fit a table of 16 MiB, and fewer of more pages, but never less than two: with one
  /// in two pages, deltas are three to six times as long. So the table of a large image is 0.5 to 1 % of it.
  private static func distance(pages: Int, pageSize: Int) -> Int {
    let longest = max(2048, pageSize / 2)
    var distance = max(64, pageSize / 8)
    while pages * pageSize / distance > most * 4 / 3, distance < longest { distance *= 2 }
    return distance
  }

  /// How many pages there are to a sample, at least 1.
  func pagesPerSample(pageSize: Int) -> Int { max(1, sampler.distance / pageSize) }

  /// How many samples half a page has, at least 2.
  func votesOfHalfAPage(pageSize: Int) -> Int { max(2, pageSize / 2 / sampler.distance) }

  /// The tags of one page.
  func samples(of page: UnsafeRawBufferPointer, _ each: (UInt32) -> Void) { sampler.samples(of: page, each) }

  /// A quarter stays free: searches end there.
  private var mostUsed: Int { slots.count * 3 / 4 }

  /// Notes a sample; the first page with it stays. A full table takes no more.
  func insert(_ tag: UInt32, page: Int) {
    guard used < mostUsed else { return }
    let index = place(of: tag)
    guard slots[index] == 0 else { return }
    slots[index] = UInt64(tag) << 32 | UInt64(page + 1)
    used += 1
  }

  subscript(_ tag: UInt32) -> Int? {
    // A kept table may have rotted: a tag without a page.
    let page = slots[place(of: tag)] & 0xFFFF_FFFF
    return page == 0 ? nil : Int(page) - 1
  }

  private func place(of tag: UInt32) -> Int {
    var index = Int(truncatingIfNeeded: (UInt64(tag) &* 0x9E37_79B9_7F4A_7C15) >> 32) & (slots.count - 1)
    while slots[index] != 0, slots[index] >> 32 != UInt64(tag) { index = (index + 1) & (slots.count - 1) }
    return index
  }

  // MARK: Kept beside the base

  /// In bytes, of a kept table.
  private static let headLength = 16
  /// SQLite's own limit (sqlite.org/limits.html, 12).
  private static let mostPages: UInt64 = 4_294_967_294

  /// Written as it lies in memory, for this machine, behind the version of the samples and for how many pages it was
  /// made: of an image that grew while it was sampled that was a guess.
  func write(to path: String) throws(RepositoryError) {
    try StateFiles.replace(path, durably: false) { descriptor in
      let problem = withUnsafeBytes(of: (PageSampler.version, UInt64(pages))) { StateFiles.put($0, to: descriptor) }
      guard problem == 0 else { return problem }
      return slots.withUnsafeMutableBufferPointer { StateFiles.put(UnsafeRawBufferPointer($0), to: descriptor) }
    }
  }

  /// - Returns: `nil` when there is no table, or one of another size or of other samples.
  static func read(from path: String, pages: Int, pageSize: Int, in folder: String) -> SampleTable? {
    StateFiles.reading(path) { descriptor, length in
      var head = (version: UInt64(0), pages: UInt64(0))
      guard withUnsafeMutableBytes(of: &head, { StateFiles.fill($0, from: descriptor, at: 0) }) == 0,
        head.version == PageSampler.version, head.pages >= pages / 4, head.pages <= mostPages,
        length == headLength + 8 * capacity(pages: Int(head.pages), pageSize: pageSize),
        let table = try? SampleTable(pages: Int(head.pages), pageSize: pageSize, in: folder),
        table.slots.withUnsafeMutableBufferPointer({
          StateFiles.fill(UnsafeMutableRawBufferPointer($0), from: descriptor, at: headLength)
        }) == 0
      else { return nil }
      table.used = table.slots.withUnsafeMutableBufferPointer { slots in slots.count { $0 != 0 } }
      // A search ends at a free slot; a disk may give back a table without one.
      return table.used <= table.mostUsed ? table : nil
    }
  }
}
