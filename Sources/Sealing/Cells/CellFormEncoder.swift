/// Takes pages apart (`Docs/Format.md` §4.5). Keeps its buffers. One thread at a time.
struct CellFormEncoder: ~Copyable {
  private var layouts = ByteStream()
  private var countsHigh = ByteStream()
  private var countsLow = ByteStream()
  private var children = ByteStream()
  private var irregular = ByteStream()
  private var cells = ByteStream()
  private var literals = ByteStream()
  /// Of the page at hand: each cell's offset and length.
  private var offsets: [Int] = []
  private var lengths: [Int] = []
  private var exceptions: [Exception] = []
  private let coverage = PageCoverage()

  private struct Exception {
    var cell: Int
    /// The cells behind it go on from where they were, not from it.
    var stands: Bool
    var value: Int
  }

  /// - Parameter pages: pages of `pageSize` bytes, one after the other.
  /// - Returns: how many of them were taken apart.
  @discardableResult
  mutating func encode(_ pages: UnsafeRawBufferPointer, pageSize: Int, into output: inout [UInt8]) -> Int {
    clear()
    let count = pages.count / pageSize
    var taken = 0
    if let base = pages.bindMemory(to: UInt8.self).baseAddress {
      for page in 0..<count where add(base + page * pageSize, pageSize) { taken += 1 }
    }
    output.removeAll(keepingCapacity: true)
    output.reserveCapacity(pages.count + count)
    output.append(contentsOf: layouts.bytes)
    output.append(contentsOf: countsHigh.bytes)
    output.append(contentsOf: countsLow.bytes)
    output.append(contentsOf: children.bytes)
    output.append(contentsOf: irregular.bytes)
    output.append(contentsOf: cells.bytes)
    output.append(contentsOf: literals.bytes)
    return taken
  }

  private mutating func clear() {
    layouts.removeAll()
    countsHigh.removeAll()
    countsLow.removeAll()
    children.removeAll()
    irregular.removeAll()
    cells.removeAll()
    literals.removeAll()
  }

  /// - Returns: whether the page was taken apart.
  private mutating func add(_ page: UnsafePointer<UInt8>, _ pageSize: Int) -> Bool {
    guard let arrangement = arrangement(of: page, pageSize) else {
      layouts.append(CellForm.literal)
      literals.append(page, count: pageSize)
      return false
    }
    let type = page[0]
    let count = lengths.count
    let gap = gap(of: page, pageSize, arrangement)
    let gapIsZero = (page + gap.lowerBound).isAllZeros(gap.count)
    layouts.append(type | arrangement | (gapIsZero ? 0 : CellForm.gapIsUsed))
    countsHigh.append(page[3])
    countsLow.append(page[4])
    if arrangement == CellForm.irregular {
      addIrregular(page, pageSize, gap: gapIsZero ? gap : gap.lowerBound..<gap.lowerBound)
    } else if !gapIsZero {
      literals.append(page + gap.lowerBound, count: gap.count)
    }
    let skip = BTreePage.isInterior(type) ? 4 : 0
    if skip > 0 { addChildren(page) }
    for cell in 0..<count { cells.append(page + offsets[cell] + skip, count: lengths[cell] - skip) }
    return true
  }

  /// Between the cell pointers and where the header says that cells begin; empty when that makes no sense.
  private func gap(of page: UnsafePointer<UInt8>, _ pageSize: Int, _ arrangement: UInt8) -> Range<Int> {
    let start = BTreePage.headerLength(page[0]) + 2 * lengths.count
    let end = page.number16(at: 5)
    return end >= start && end <= pageSize ? start..<end : start..<start
  }

  private mutating func addChildren(_ page: UnsafePointer<UInt8>) {
    var previous: UInt32 = 0
    for offset in offsets {
      let child = page.number32(at: offset)
      children.append(child &- previous)
      previous = child
    }
    children.append(page.number32(at: 8) &- previous)
  }

  /// What a regular page does not need to say, and the bytes that neither cells nor the zeros of the gap cover.
  private mutating func addIrregular(_ page: UnsafePointer<UInt8>, _ pageSize: Int, gap: Range<Int>) {
    irregular.append(page + 1, count: 2)
    irregular.append(page + 5, count: 3)
    irregular.append(UInt8(exceptions.count))
    var previous = 0
    for exception in exceptions {
      irregular.append(UInt16((exception.stands ? 0x8000 : 0) | exception.cell - previous))
      irregular.append(UInt16(exception.value))
      previous = exception.cell
    }
    coverage.cover(gap)
    coverage.eachUncovered(from: BTreePage.headerLength(page[0]) + 2 * lengths.count, to: pageSize) { byte in
      literals.append(page[byte])
    }
  }

  /// Finds the cells of a page and how they lie. `nil` for a page that is kept as it is.
  private mutating func arrangement(of page: UnsafePointer<UInt8>, _ pageSize: Int) -> UInt8? {
    guard findCells(of: page, pageSize) else { return nil }
    let last = lengths.count - 1
    let isPlain = page[1] | page[2] | page[7] == 0
    let start = page.number16(at: 5)
    if isPlain, lie(0...last, from: pageSize, to: start) { return CellForm.straight }
    if isPlain, last > 0, offsets[last] == pageSize - lengths[last],
      lie(0...last - 1, from: offsets[last], to: start)
    {
      return CellForm.lastFirst
    }
    return findExceptions(pageSize) && cellsLieApart(pageSize) ? CellForm.irregular : nil
  }

  private mutating func findCells(of page: UnsafePointer<UInt8>, _ pageSize: Int) -> Bool {
    let type = page[0]
    guard BTreePage.isType(type) else { return false }
    let count = page.number16(at: 3)
    let pointers = BTreePage.headerLength(type)
    let start = pointers + 2 * count
    guard count > 0, start <= pageSize else { return false }
    let skip = BTreePage.isInterior(type) ? 4 : 0
    offsets.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    var total = 0
    for cell in 0..<count {
      let offset = page.number16(at: pointers + 2 * cell)
      guard offset >= start, offset + skip < pageSize,
        let length = BTreePage.cellLength(
          type, page + offset + skip, room: pageSize - offset - skip, pageSize: pageSize)
      else { return false }
      offsets.append(offset)
      lengths.append(length + skip)
      total += length + skip
      guard start + total <= pageSize else { return false }
    }
    return true
  }

  private func lie(_ range: ClosedRange<Int>, from end: Int, to start: Int) -> Bool {
    var at = end
    for cell in range {
      at -= lengths[cell]
      if offsets[cell] != at { return false }
    }
    return at == start
  }

  private mutating func findExceptions(_ pageSize: Int) -> Bool {
    exceptions.removeAll(keepingCapacity: true)
    var at = pageSize
    for cell in lengths.indices {
      let expected = at - lengths[cell]
      if offsets[cell] == expected {
        at = expected
        continue
      }
      guard exceptions.count < CellForm.exceptionLimit, cell < 0x8000 else { return false }
      let next = cell + 1
      let stands = next == lengths.count || offsets[next] == at - lengths[next]
      let value = stands ? pageSize - lengths[cell] - offsets[cell] : (expected - offsets[cell]) & 0xFFFF
      exceptions.append(Exception(cell: cell, stands: stands, value: value))
      if !stands { at = offsets[cell] }
    }
    // Beyond that the page is shorter as it is.
    return 4 * exceptions.count <= 2 * lengths.count
  }

  private func cellsLieApart(_ pageSize: Int) -> Bool {
    coverage.clear(pageSize)
    for (offset, length) in zip(offsets, lengths) where !coverage.cover(offset..<offset + length) { return false }
    return true
  }
}

extension UnsafePointer<UInt8> {
  func isAllZeros(_ count: Int) -> Bool {
    UnsafeRawBufferPointer(start: self, count: count).allSatisfy { $0 == 0 }
  }
}
