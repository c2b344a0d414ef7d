import Glibc

/// Finds pages of a base that share content with given bytes, wherever it moved: of every place where a rolling hash over
/// the last 32 bytes has some bits zero, the page is kept. Samples are hints and nothing more: a wrong one costs bytes.
///
/// Open addressing, 8 bytes a slot: 32 bits of tag, page number + 1.
final class SampleTable: @unchecked Sendable {
  private static let most = 1 << 20
  private static let perPage = 16

  private let slots: FileTable<UInt64>
  private let mask: UInt32
  private var used = 0
  private let pages: Int

  /// - Parameter pages: of the image that will be sampled.
  /// - Throws: `.stateFolder` when there is no room in `folder`.
  init(pages: Int, pageSize: Int, in folder: String) throws(RepositoryError) {
    self.pages = pages
    mask = Self.mask(pages: pages, pageSize: pageSize)
    var capacity = 1024
    while capacity < 2 * min(Self.most, pages * 8) { capacity *= 2 }
    slots = try FileTable(capacity: capacity, count: capacity, in: folder)
  }

  /// Eight samples a page, fewer when there are many pages: they must fit a table of 16 MiB.
  private static func mask(pages: Int, pageSize: Int) -> UInt32 {
    var distance: UInt32 = UInt32(max(64, pageSize / 8))
    while pages * pageSize / Int(distance) > most * 4 / 3, distance < 1 << 18 { distance *= 2 }
    return distance - 1
  }

  /// How many pages there are to a sample, at least 1.
  func pagesPerSample(pageSize: Int) -> Int { max(1, (Int(mask) + 1) / pageSize) }

  /// How many samples half a page has, at least 2.
  func votesOfHalfAPage(pageSize: Int) -> Int { max(2, pageSize / 2 / (Int(mask) + 1)) }

  /// The tags of one page.
  func samples(of page: UnsafeRawBufferPointer, _ each: (UInt32) -> Void) {
    guard page.count >= 32, let bytes = page.bindMemory(to: UInt8.self).baseAddress else { return }
    let gear = Gear.values
    let shifted = mask << 13
    var hash: UInt32 = 0
    var found = 0
    for index in 0..<31 { hash = hash << 1 &+ gear[Int(bytes[index])] }
    for index in 31..<page.count {
      hash = hash << 1 &+ gear[Int(bytes[index])]
      guard hash & shifted == 0 else { continue }
      each(hash)
      found += 1
      if found == Self.perPage { return }
    }
  }

  /// Notes a sample; the first page with it stays. A full table takes no more.
  func insert(_ tag: UInt32, page: Int) {
    guard used < slots.count * 3 / 4 else { return }
    let index = place(of: tag)
    guard slots[index] == 0 else { return }
    slots[index] = UInt64(tag) << 32 | UInt64(page + 1)
    used += 1
  }

  subscript(_ tag: UInt32) -> Int? {
    let slot = slots[place(of: tag)]
    return slot == 0 ? nil : Int(slot & 0xFFFF_FFFF) - 1
  }

  private func place(of tag: UInt32) -> Int {
    var index = Int(truncatingIfNeeded: (UInt64(tag) &* 0x9E37_79B9_7F4A_7C15) >> 32) & (slots.count - 1)
    while slots[index] != 0, slots[index] >> 32 != UInt64(tag) { index = (index + 1) & (slots.count - 1) }
    return index
  }

  // MARK: Kept beside the base

  /// Written as it lies in memory: for this machine, this program. At the end stands for how many pages it was made: of
  /// an image that grew while it was sampled that was a guess.
  func write(to path: String) throws(RepositoryError) {
    var bytes: [UInt8] = []
    slots.withUnsafeMutableBufferPointer { bytes = Array(UnsafeRawBufferPointer($0)) }
    withUnsafeBytes(of: UInt64(pages)) { bytes.append(contentsOf: $0) }
    try StateFiles.write(bytes, to: path, durably: false)
  }

  /// - Returns: `nil` when there is no table, or one of another size.
  static func read(from path: String, pages: Int, pageSize: Int, in folder: String) -> SampleTable? {
    guard let bytes = try? StateFiles.read(path), bytes.count >= 8 else { return nil }
    let madeFor = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self) }
    guard madeFor >= pages / 4, madeFor / 4 <= pages,
      let table = try? SampleTable(pages: Int(madeFor), pageSize: pageSize, in: folder),
      bytes.count == table.slots.count * 8 + 8
    else { return nil }
    table.slots.withUnsafeMutableBufferPointer { slots in
      bytes.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(slots).copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.dropLast(8)))
      }
    }
    return table
  }
}

/// Random numbers for the rolling hash, always the same.
private enum Gear {
  nonisolated(unsafe) static let values: UnsafePointer<UInt32> = {
    let values = UnsafeMutablePointer<UInt32>.allocate(capacity: 256)
    var state: UInt64 = 0x5EA1_1F7
    for index in 0..<256 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      values[index] = UInt32(truncatingIfNeeded: mixed ^ (mixed >> 31))
    }
    return UnsafePointer(values)
  }()
}
