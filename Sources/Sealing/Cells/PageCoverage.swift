/// Which bytes of a page are spoken for. Keeps its memory.
final class PageCoverage {
  private let covered = UnsafeMutablePointer<Bool>.allocate(capacity: Limits.unit)

  deinit { covered.deallocate() }

  func clear(_ pageSize: Int) { covered.update(repeating: false, count: pageSize) }

  /// - Returns: false when one of these bytes was covered before.
  @discardableResult
  func cover(_ range: Range<Int>) -> Bool {
    var isNew = true
    for byte in range where covered[byte] { isNew = false }
    (covered + range.lowerBound).update(repeating: true, count: range.count)
    return isNew
  }

  func eachUncovered(from start: Int, to end: Int, _ body: (Int) -> Void) {
    for byte in start..<end where !covered[byte] { body(byte) }
  }
}
