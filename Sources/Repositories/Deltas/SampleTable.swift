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
  convenience init(pages: Int, pageSize: Int, in folder: String) throws(RepositoryError) {
    try self.init(
      pages: pages, pageSize: pageSize, capacity: Self.capacity(pages: pages, pageSize: pageSize), in: folder)
  }

  private init(pages: Int, pageSize: Int, capacity: Int, in folder: String) throws(RepositoryError) {
    self.pages = pages
    sampler = PageSampler(distance: Self.distance(pages: pages, pageSize: pageSize))
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

  /// Of a kept table: the version of its form and samples, for how many pages it was made (of an image that grew while
  /// it was sampled that was a guess), and how many samples follow. In bytes.
  private static let headLength = 24
  /// Only the samples are kept, without the free slots between them, which are most of a table. Programs that know
  /// nothing of this take such a table for one of other samples, and make a new base.
  private static let packedVersion: UInt64 = 1 << 32 | PageSampler.version
  /// Tables of older programs lie there as in memory, free slots and all, behind a head without their number.
  private static let wholeHeadLength = 16
  /// SQLite's own limit (sqlite.org/limits.html, 12).
  private static let mostPages: UInt64 = 4_294_967_294
  /// So many samples are read or written at once.
  private static let batch = 8192

  /// Written for this machine, whatever the order of its bytes.
  func write(to path: String) throws(RepositoryError) {
    try StateFiles.replace(path, durably: false) { descriptor in
      let head = (Self.packedVersion, UInt64(pages), UInt64(used))
      let problem = withUnsafeBytes(of: head) { StateFiles.put($0, to: descriptor) }
      return problem == 0 ? putSamples(to: descriptor) : problem
    }
  }

  /// - Returns: 0, or the number of an error.
  private func putSamples(to descriptor: Int32) -> Int32 {
    var batch: [UInt64] = []
    batch.reserveCapacity(Self.batch)
    for index in 0..<slots.count where slots[index] != 0 {
      batch.append(slots[index])
      guard batch.count == Self.batch else { continue }
      let problem = batch.withUnsafeBytes { StateFiles.put($0, to: descriptor) }
      guard problem == 0 else { return problem }
      batch.removeAll(keepingCapacity: true)
    }
    return batch.withUnsafeBytes { StateFiles.put($0, to: descriptor) }
  }

  /// - Returns: `nil` when there is no table, or one of another size or of other samples.
  static func read(from path: String, pages: Int, pageSize: Int, in folder: String) -> SampleTable? {
    StateFiles.reading(path) { descriptor, length in
      var head = (version: UInt64(0), pages: UInt64(0), count: UInt64(0))
      guard withUnsafeMutableBytes(of: &head, { StateFiles.fill($0, from: descriptor, at: 0) }) == 0,
        head.pages >= pages / 4, head.pages <= mostPages, let sampled = Int(exactly: head.pages)
      else { return nil }
      switch head.version {
      case packedVersion:
        let count = (length - headLength) / 8
        guard head.count == count, length == headLength + 8 * count else { return nil }
        return packed(count, pages: sampled, pageSize: pageSize, from: descriptor, in: folder)
      case PageSampler.version:
        return whole(pages: sampled, pageSize: pageSize, from: descriptor, length, in: folder)
      default: return nil
      }
    }
  }

  /// - Parameter count: of its samples, by the length of the file: what a rotten head says makes no table longer.
  private static func packed(
    _ count: Int, pages: Int, pageSize: Int, from descriptor: Int32, in folder: String
  ) -> SampleTable? {
    var capacity = 1024
    while capacity < count * 3 / 2 { capacity *= 2 }
    guard let table = try? SampleTable(pages: pages, pageSize: pageSize, capacity: capacity, in: folder) else {
      return nil
    }
    var batch = [UInt64](repeating: 0, count: min(count, Self.batch))
    for start in stride(from: 0, to: count, by: Self.batch) {
      let some = min(Self.batch, count - start)
      let problem = batch.withUnsafeMutableBytes { bytes in
        StateFiles.fill(
          UnsafeMutableRawBufferPointer(rebasing: bytes[..<(8 * some)]), from: descriptor, at: headLength + 8 * start)
      }
      guard problem == 0 else { return nil }
      for sample in batch[..<some] {
        let page = Int(sample & 0xFFFF_FFFF)
        if page > 0 { table.insert(UInt32(sample >> 32), page: page - 1) }
      }
    }
    return table
  }

  private static func whole(
    pages: Int, pageSize: Int, from descriptor: Int32, _ length: Int, in folder: String
  ) -> SampleTable? {
    guard length == wholeHeadLength + 8 * capacity(pages: pages, pageSize: pageSize),
      let table = try? SampleTable(pages: pages, pageSize: pageSize, in: folder),
      table.slots.withUnsafeMutableBufferPointer({
        StateFiles.fill(UnsafeMutableRawBufferPointer($0), from: descriptor, at: wholeHeadLength)
      }) == 0
    else { return nil }
    table.used = table.slots.withUnsafeMutableBufferPointer { slots in slots.count { $0 != 0 } }
    // A search ends at a free slot; a disk may give back a table without one.
    return table.used <= table.mostUsed ? table : nil
  }
}
