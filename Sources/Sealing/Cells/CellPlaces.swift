/// Where the cells of one page lie, in the order of its cell pointers. Keeps its memory.
struct CellPlaces: ~Copyable {
  struct Exception {
    var cell: Int
    /// The cells behind it go on from where they were, not from it.
    var stands: Bool
    var value: Int
  }

  private(set) var count = 0
  /// Bytes of all cells, without child pointers: what `find` copied.
  private(set) var copied = 0
  private(set) var exceptions: [Exception] = []
  private var pageSize = 0
  /// How many cells do not end where the one before begins, or the first one at the end of the page.
  private var jumps = 0
  // A page of 64 KiB has less than 32,768 cell pointers, and cells within it.
  private let offsets = UnsafeMutablePointer<UInt16>.allocate(capacity: Limits.unit / 2)
  private let lengths = UnsafeMutablePointer<UInt16>.allocate(capacity: Limits.unit / 2)

  deinit {
    offsets.deallocate()
    lengths.deallocate()
  }

  @inline(__always)
  func offset(_ cell: Int) -> Int { Int(offsets[cell]) }

  /// Finds the cells and copies them, without child pointers, one behind the other.
  /// - Parameter output: has room for a page.
  /// - Returns: false when this is no b-tree page all of whose cells lie in it; then `output` holds anything.
  mutating func find(in page: UnsafePointer<UInt8>, pageSize: Int, copyingTo output: UnsafeMutablePointer<UInt8>)
    -> Bool
  {
    guard BTreePage.isType(page[0]) else { return false }
    let measure = CellMeasure(page[0], pageSize: pageSize)
    let count = page.number16(at: 3)
    let pointers = page + BTreePage.headerLength(page[0])
    let start = BTreePage.headerLength(page[0]) + 2 * count
    guard count > 0, start <= pageSize else { return false }
    let skip = measure.skip
    var room = pageSize - start
    var to = output
    var end = pageSize
    var jumps = 0
    for cell in 0..<count {
      let offset = pointers.number16(at: 2 * cell)
      guard offset >= start, offset + skip < pageSize else { return false }
      let from = page + (offset + skip)
      let length = measure.length(from, room: pageSize - offset - skip)
      room -= length + skip
      guard length > 0, room >= 0 else { return false }
      to.copyShort(from: from, count: length)
      to += length
      offsets[cell] = UInt16(truncatingIfNeeded: offset)
      lengths[cell] = UInt16(truncatingIfNeeded: length + skip)
      if offset + length + skip != end { jumps += 1 }
      end = offset
    }
    self.count = count
    self.pageSize = pageSize
    self.jumps = jumps
    copied = to - output
    return true
  }

  /// The arrangement of cells that leave no byte between them.
  /// - Parameter start: of the lowest, as the page's header has it.
  func regularArrangement(downTo start: Int) -> UInt8? {
    let last = count - 1
    if jumps == 0 { return offset(last) == start ? CellForm.straight : nil }
    // The first cell ends where the last one begins: the page's end is the last one's.
    guard last > 0, jumps == 2, end(of: last) == pageSize, end(of: 0) == offset(last), offset(last - 1) == start
    else { return nil }
    return CellForm.lastFirst
  }

  /// Finds the cells that do not lie as the one before says.
  /// - Returns: false when there are so many that the page is shorter as it is.
  mutating func findExceptions() -> Bool {
    exceptions.removeAll(keepingCapacity: true)
    guard jumps > 0 else { return true }
    var at = pageSize
    for cell in 0..<count {
      let offset = offset(cell)
      let expected = at - Int(lengths[cell])
      if offset == expected {
        at = expected
        continue
      }
      guard exceptions.count < CellForm.exceptionLimit, cell < 0x8000 else { return false }
      let next = cell + 1
      let stands = next == count || self.offset(next) == at - Int(lengths[next])
      let value = stands ? pageSize - Int(lengths[cell]) - offset : (expected - offset) & 0xFFFF
      exceptions.append(Exception(cell: cell, stands: stands, value: value))
      if !stands { at = offset }
    }
    return 4 * exceptions.count <= 2 * count
  }

  func add(to cover: inout CellCover) {
    for cell in 0..<count { cover.add(offset(cell), Int(lengths[cell])) }
  }

  private func end(of cell: Int) -> Int { offset(cell) + Int(lengths[cell]) }
}
