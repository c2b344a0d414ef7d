/// Makes a page copy what digests and tests speak of, the *normalised image*: no remains of deleted rows on free pages, no
/// content on the page that only holds locks, and the counters of page 1 as the source has them.
/// See: sqlite.org/fileformat2.html#the_freelist, #the_lock_byte_page
struct ImageNormalisation {
  private let image: ImageFile
  private let pageSize: Int
  private let pageCount: Int

  init(_ image: ImageFile, pageSize: Int) {
    self.image = image
    self.pageSize = pageSize
    pageCount = image.length / pageSize
  }

  /// SQLite's locks live in the byte range from here on; the page around it never holds content.
  static let lockByte = 1 << 30

  /// - Returns: how many free pages were zeroed.
  func zeroFreePages() throws(SnapshotError) -> Int {
    let zeros = [UInt8](repeating: 0, count: pageSize)
    let lockPage = Self.lockByte / pageSize + 1
    if lockPage <= pageCount { try image.write(zeros, at: (lockPage - 1) * pageSize) }
    var zeroed = 0
    for leaf in try freeLeaves() where leaf != lockPage {
      try image.write(zeros, at: (leaf - 1) * pageSize)
      zeroed += 1
    }
    return zeroed
  }

  /// The leaves of the freelist. Its trunks stay: they are what makes it a list. A damaged list ends where it breaks.
  private func freeLeaves() throws(SnapshotError) -> [Int] {
    var leaves: [Int] = []
    var trunk = Self.integer(try image.read(4, at: 32))
    var seen: Set<Int> = []
    while trunk > 1, trunk <= pageCount, seen.insert(trunk).inserted {
      let page = try image.read(pageSize, at: (trunk - 1) * pageSize)
      let count = Self.integer(page[4..<8])
      guard count <= pageSize / 4 - 2 else { return leaves }
      for index in 0..<count {
        let leaf = Self.integer(page[8 + 4 * index..<12 + 4 * index])
        guard leaf > 1, leaf <= pageCount, !seen.contains(leaf) else { return leaves }
        leaves.append(leaf)
      }
      trunk = Self.integer(page[0..<4])
    }
    return leaves
  }

  private static func integer(_ bytes: some Collection<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

  /// Change counter, schema cookie, and the version that wrote last: SQLite's copy sets its own.
  func restoreCounters(of source: DatabaseHeader) throws(SnapshotError) {
    for range in [24..<28, 40..<44, 92..<100] { try image.write(Array(source.bytes[range]), at: range.lowerBound) }
  }

  /// Puts the journal mode back that a vacuumed copy loses: a restored application finds the mode that it had.
  func restoreJournalMode(of source: DatabaseHeader) throws(SnapshotError) {
    try image.write(source.journalBytes, at: 18)
  }
}
