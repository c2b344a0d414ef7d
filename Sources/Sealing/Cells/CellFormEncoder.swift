/// Takes pages apart (`Docs/Format.md` §4.5). Keeps its buffers. One thread at a time.
struct CellFormEncoder: ~Copyable {
  private var layouts = ByteStream()
  private var countsHigh = ByteStream()
  private var countsLow = ByteStream()
  private var children = ByteStream()
  private var irregular = ByteStream()
  private var literals = ByteStream()
  private var output = FormBuffer()
  /// Of the page at hand.
  private var cells = CellPlaces()
  private var cover = CellCover()

  /// What `encode` made last; until it is called again.
  var form: UnsafeRawBufferPointer { output.form }

  /// Makes the `form` of pages.
  /// - Parameter pages: of `pageSize` bytes each, one after the other.
  /// - Returns: how many of them were taken apart.
  @discardableResult
  mutating func encode(_ pages: UnsafeRawBufferPointer, pageSize: Int) -> Int {
    layouts.removeAll()
    countsHigh.removeAll()
    countsLow.removeAll()
    children.removeAll()
    irregular.removeAll()
    literals.removeAll()
    let count = pages.count / pageSize
    output.begin(pages: count, pageSize: pageSize)
    var taken = 0
    if let base = pages.bindMemory(to: UInt8.self).baseAddress {
      for page in 0..<count where add(base + page * pageSize, pageSize) { taken += 1 }
    }
    output.append(literals.bytes)
    // The last of them stands first in the form.
    output.prepend(irregular.bytes)
    output.prepend(children.bytes)
    output.prepend(countsLow.bytes)
    output.prepend(countsHigh.bytes)
    output.prepend(layouts.bytes)
    return taken
  }

  /// - Returns: whether the page was taken apart.
  private mutating func add(_ page: UnsafePointer<UInt8>, _ pageSize: Int) -> Bool {
    guard cells.find(in: page, pageSize: pageSize, copyingTo: output.end), let arrangement = arrange(page, pageSize)
    else {
      layouts.append(CellForm.literal)
      literals.append(page, count: pageSize)
      return false
    }
    output.grow(by: cells.copied)
    let gap = gap(of: page, pageSize)
    let gapIsZero = (page + gap.lowerBound).isAllZeros(gap.count)
    layouts.append(page[0] | arrangement | (gapIsZero ? 0 : CellForm.gapIsUsed))
    countsHigh.append(page[3])
    countsLow.append(page[4])
    if arrangement == CellForm.irregular {
      addIrregular(page, pageSize, gap: gapIsZero ? gap : gap.lowerBound..<gap.lowerBound)
    } else if !gapIsZero {
      literals.append(page + gap.lowerBound, count: gap.count)
    }
    if BTreePage.isInterior(page[0]) { addChildren(page) }
    return true
  }

  /// How the cells of the page lie. `nil` for a page that is kept as it is.
  private mutating func arrange(_ page: UnsafePointer<UInt8>, _ pageSize: Int) -> UInt8? {
    if page[1] | page[2] | page[7] == 0, let regular = cells.regularArrangement(downTo: page.number16(at: 5)) {
      return regular
    }
    guard cells.findExceptions() else { return nil }
    cover.begin(pageSize)
    cells.add(to: &cover)
    return cover.cellsLieApart() ? CellForm.irregular : nil
  }

  /// Between the cell pointers and where the header says that cells begin; empty when that makes no sense.
  private func gap(of page: UnsafePointer<UInt8>, _ pageSize: Int) -> Range<Int> {
    let start = BTreePage.headerLength(page[0]) + 2 * cells.count
    let end = page.number16(at: 5)
    return end >= start && end <= pageSize ? start..<end : start..<start
  }

  private mutating func addChildren(_ page: UnsafePointer<UInt8>) {
    var previous: UInt32 = 0
    for cell in 0..<cells.count {
      let child = page.number32(at: cells.offset(cell))
      children.append(child &- previous)
      previous = child
    }
    children.append(page.number32(at: 8) &- previous)
  }

  /// What a regular page does not need to say, and the bytes that neither cells nor the zeros of the gap cover.
  private mutating func addIrregular(_ page: UnsafePointer<UInt8>, _ pageSize: Int, gap: Range<Int>) {
    irregular.append(page + 1, count: 2)
    irregular.append(page + 5, count: 3)
    irregular.append(UInt8(cells.exceptions.count))
    var previous = 0
    for exception in cells.exceptions {
      irregular.append(UInt16((exception.stands ? 0x8000 : 0) | exception.cell - previous))
      irregular.append(UInt16(exception.value))
      previous = exception.cell
    }
    cover.cover(gap)
    var at = BTreePage.headerLength(page[0]) + 2 * cells.count
    while let run = cover.uncovered(from: at, to: pageSize) {
      literals.append(page + run.lowerBound, count: run.count)
      at = run.upperBound
    }
  }
}

extension UnsafePointer<UInt8> {
  func isAllZeros(_ count: Int) -> Bool {
    let bytes = UnsafeRawBufferPointer(start: self, count: count)
    var index = 0
    while index + 8 <= count {
      if bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) != 0 { return false }
      index += 8
    }
    while index < count {
      if bytes[index] != 0 { return false }
      index += 1
    }
    return true
  }
}
