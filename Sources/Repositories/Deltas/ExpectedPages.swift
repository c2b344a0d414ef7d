/// Base pages that were looked at first, where a new page is expected to come from, and found to be it but for a little.
/// They are read once and kept until the prefix is made. For the pages of one frame; one thread at a time.
final class ExpectedPages {
  /// Bytes that are compared as one.
  private static let line = 64

  struct Page {
    let bytes: UnsafeRawBufferPointer
    /// The new page that is just the same, by its place in the frame.
    let equal: Int?
  }

  private let base: BaseImage
  private let memory: UnsafeMutableRawBufferPointer
  private var pages: [Int: Page] = [:]

  /// - Parameter count: of the new pages.
  init(_ base: BaseImage, count: Int) {
    self.base = base
    memory = .allocate(byteCount: count * base.pageSize, alignment: 16)
  }

  deinit { memory.deallocate() }

  var count: Int { pages.count }

  /// What is kept of this page of the base; valid as long as this object is.
  subscript(_ page: Int) -> Page? { pages[page] }

  /// Whether `page` of the base holds at least half of what the new page does, in the same places.
  /// - Parameter index: of the new page in the frame.
  func holds(_ unit: UnsafeRawBufferPointer, _ index: Int, at page: Int) -> Bool {
    guard page >= 0, page < base.pageCount else { return false }
    let room = UnsafeMutableRawBufferPointer(rebasing: memory[index * base.pageSize..<(index + 1) * base.pageSize])
    guard base.read(page..<page + 1, into: room) else { return false }
    let lines = base.pageSize / Self.line
    let same = Self.equalLines(unit, UnsafeRawBufferPointer(room))
    guard same * 2 >= lines else { return false }
    pages[page] = Page(bytes: UnsafeRawBufferPointer(room), equal: same == lines ? index : nil)
    return true
  }

  private static func equalLines(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    var equal = 0
    for start in stride(from: 0, to: right.count, by: line) {
      var difference: UInt64 = 0
      for offset in stride(from: start, to: start + line, by: 8) {
        difference |=
          left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
          ^ right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      }
      if difference == 0 { equal += 1 }
    }
    return equal
  }
}
