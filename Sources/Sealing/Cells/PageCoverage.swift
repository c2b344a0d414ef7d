/// Which bytes of a page are spoken for: a bit for each. Keeps its memory.
struct PageCoverage: ~Copyable {
  private let words = UnsafeMutablePointer<UInt64>.allocate(capacity: Limits.unit / 64)

  deinit { words.deallocate() }

  func clear(_ pageSize: Int) { words.update(repeating: 0, count: pageSize / 64) }

  /// - Parameter range: within the page.
  /// - Returns: false when one of these bytes was covered before.
  @discardableResult
  func cover(_ range: Range<Int>) -> Bool {
    guard !range.isEmpty else { return true }
    let first = range.lowerBound / 64
    let last = (range.upperBound - 1) / 64
    var before: UInt64 = 0
    for word in first...last {
      var mask = UInt64.max
      if word == first { mask &= .max << UInt64(range.lowerBound % 64) }
      if word == last { mask &= .max >> UInt64(63 - (range.upperBound - 1) % 64) }
      before |= words[word] & mask
      words[word] |= mask
    }
    return before == 0
  }

  /// The first bytes from `start` on, before `end`, that are not covered.
  func uncovered(from start: Int, to end: Int) -> Range<Int>? {
    let first = next(from: start, to: end, flipped: .max)
    return first < end ? first..<next(from: first, to: end, flipped: 0) : nil
  }

  /// Where the next bit is that is 1 in a word XOR `flipped`.
  private func next(from start: Int, to end: Int, flipped: UInt64) -> Int {
    guard start < end else { return end }
    var word = start / 64
    var bits = (words[word] ^ flipped) & (.max << UInt64(start % 64))
    while bits == 0 {
      word += 1
      guard word * 64 < end else { return end }
      bits = words[word] ^ flipped
    }
    return min(word * 64 + bits.trailingZeroBitCount, end)
  }
}

/// Where cells lie that were added one after the other: most stand right before the one before.
struct CellCover: ~Copyable {
  private let coverage = PageCoverage()
  private var run = 0..<0
  private var isApart = true

  mutating func begin(_ pageSize: Int) {
    coverage.clear(pageSize)
    run = pageSize..<pageSize
    isApart = true
  }

  @inline(__always)
  mutating func add(_ offset: Int, _ length: Int) {
    if offset + length == run.lowerBound {
      run = offset..<run.upperBound
    } else {
      end()
      run = offset..<offset + length
    }
  }

  /// - Returns: whether no two cells share a byte.
  mutating func cellsLieApart() -> Bool {
    end()
    return isApart
  }

  func cover(_ range: Range<Int>) { coverage.cover(range) }

  func uncovered(from start: Int, to end: Int) -> Range<Int>? { coverage.uncovered(from: start, to: end) }

  private mutating func end() {
    if !coverage.cover(run) { isApart = false }
    run = run.lowerBound..<run.lowerBound
  }
}
