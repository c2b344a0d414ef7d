/// Puts pages together again (`Docs/Format.md` §4.5). Keeps its buffers. One thread at a time.
///
/// What it reads is authentic but may still be wrong, so every length is checked; what comes out is proved by the frame's
/// fingerprints.
struct CellFormDecoder: ~Copyable {
  /// Of all cells of a frame, child pointers included.
  private var lengths = CellLengths()
  private var cover = CellCover()

  /// Positions in the streams of a form.
  private struct Streams {
    var countHigh: Int
    var countLow: Int
    var child: Int
    var irregular: Int
    var cell: Int
    var literal: Int
    let end: Int
  }

  private static let malformed = SealError(.malformed, "pages that were taken apart do not fit together")

  /// - Parameter output: room for just so many pages; holds anything when this throws.
  /// - Throws: `.malformed`.
  mutating func decode(
    _ form: UnsafeRawBufferPointer, pages: Int, pageSize: Int, into output: UnsafeMutableRawBufferPointer
  ) throws(SealError) {
    guard let base = form.bindMemory(to: UInt8.self).baseAddress, pages > 0, output.count == pages * pageSize,
      let output = output.bindMemory(to: UInt8.self).baseAddress
    else { throw Self.malformed }
    var streams = try findStreams(base, form.count, pages: pages, pageSize: pageSize)
    var firstCell = 0
    for page in 0..<pages {
      try put(base[page], base, &streams, &firstCell, into: output + page * pageSize, pageSize: pageSize)
    }
    guard streams.literal == streams.end else { throw Self.malformed }
  }

  /// Walks the form once: where each stream begins, and how long each cell is.
  private mutating func findStreams(
    _ form: UnsafePointer<UInt8>, _ length: Int, pages: Int, pageSize: Int
  ) throws(SealError) -> Streams {
    guard pages <= length else { throw Self.malformed }
    var trees = 0
    for page in 0..<pages where form[page] != CellForm.literal {
      guard BTreePage.isType(form[page] & CellForm.typeMask), form[page] & CellForm.arrangementMask != 0,
        form[page] & 0x40 == 0
      else { throw Self.malformed }
      trees += 1
    }
    let high = pages
    let low = high + trees
    let child = low + trees
    guard child <= length else { throw Self.malformed }
    var tree = 0
    var cellCount = 0
    var childCount = 0
    var irregularPages = 0
    for page in 0..<pages where form[page] != CellForm.literal {
      let count = Int(form[high + tree]) << 8 | Int(form[low + tree])
      let type = form[page] & CellForm.typeMask
      guard count > 0, BTreePage.headerLength(type) + 2 * count <= pageSize else { throw Self.malformed }
      cellCount += count
      if BTreePage.isInterior(type) { childCount += count + 1 }
      if form[page] & CellForm.arrangementMask == CellForm.irregular { irregularPages += 1 }
      tree += 1
    }
    let irregular = child + 4 * childCount
    var at = irregular
    for _ in 0..<irregularPages {
      guard at + 6 <= length else { throw Self.malformed }
      at += 6 + 4 * Int(form[at + 5])
    }
    guard at + cellCount <= length else { throw Self.malformed }
    lengths.makeRoom(for: cellCount)
    let literal = try measureCells(form, length, from: at, pages: pages, pageSize: pageSize, high: high, low: low)
    return Streams(
      countHigh: high, countLow: low, child: child, irregular: irregular, cell: at, literal: literal, end: length)
  }

  /// - Returns: where the cells end.
  private func measureCells(
    _ form: UnsafePointer<UInt8>, _ length: Int, from start: Int, pages: Int, pageSize: Int, high: Int, low: Int
  ) throws(SealError) -> Int {
    var at = start
    var tree = 0
    var first = 0
    for page in 0..<pages where form[page] != CellForm.literal {
      let type = form[page] & CellForm.typeMask
      let measure = CellMeasure(type, pageSize: pageSize)
      let count = Int(form[high + tree]) << 8 | Int(form[low + tree])
      tree += 1
      var room = pageSize - BTreePage.headerLength(type) - 2 * count
      for cell in first..<first + count {
        let bytes = measure.length(form + at, room: min(room - measure.skip, length - at))
        guard bytes > 0 else { throw Self.malformed }
        at += bytes
        room -= bytes + measure.skip
        lengths.set(cell, bytes + measure.skip)
      }
      first += count
    }
    return at
  }

  /// Writes one page into `page`, every byte of it.
  private mutating func put(
    _ layout: UInt8, _ form: UnsafePointer<UInt8>, _ streams: inout Streams, _ firstCell: inout Int,
    into page: UnsafeMutablePointer<UInt8>, pageSize: Int
  ) throws(SealError) {
    guard layout != CellForm.literal else {
      try putLiterals(form, &streams, into: page, 0..<pageSize)
      return
    }
    let type = layout & CellForm.typeMask
    let count = Int(form[streams.countHigh]) << 8 | Int(form[streams.countLow])
    page[0] = type
    page[3] = form[streams.countHigh]
    page[4] = form[streams.countLow]
    streams.countHigh += 1
    streams.countLow += 1
    let cells = firstCell..<firstCell + count
    firstCell += count
    let start = BTreePage.headerLength(type) + 2 * count
    if layout & CellForm.arrangementMask == CellForm.irregular {
      try layOutIrregular(cells, form, &streams, page, from: start, pageSize)
      fill(cells, form, &streams, page)
      try putUncovered(cells, form, &streams, page, from: start, pageSize, gapIsUsed: layout & CellForm.gapIsUsed != 0)
      return
    }
    let lowest: Int
    if layout & CellForm.arrangementMask == CellForm.straight {
      lowest = layOut(cells, from: pageSize, page)
    } else {
      guard count > 1 else { throw Self.malformed }
      let last = pageSize - lengths[cells.upperBound - 1]
      (page + (start - 2)).set16(last)
      lowest = layOut(cells.dropLast(), from: last, page)
    }
    page[1] = 0
    page[2] = 0
    (page + 5).set16(lowest)
    page[7] = 0
    fill(cells, form, &streams, page)
    if layout & CellForm.gapIsUsed != 0 {
      try putLiterals(form, &streams, into: page, start..<lowest)
    } else {
      (page + start).update(repeating: 0, count: lowest - start)
    }
  }

  private func putLiterals(
    _ form: UnsafePointer<UInt8>, _ streams: inout Streams, into page: UnsafeMutablePointer<UInt8>, _ range: Range<Int>
  ) throws(SealError) {
    guard streams.literal + range.count <= streams.end else { throw Self.malformed }
    (page + range.lowerBound).copyShort(from: form + streams.literal, count: range.count)
    streams.literal += range.count
  }

  /// Sets the cell pointers, from the first on, of cells one before the other, from `end` of the page backwards.
  /// - Returns: where the lowest begins. Cells fit: their lengths were measured against the page.
  private func layOut(_ cells: Range<Int>, from end: Int, _ page: UnsafeMutablePointer<UInt8>) -> Int {
    var at = end
    var pointer = page + BTreePage.headerLength(page[0])
    for cell in cells {
      at -= lengths[cell]
      pointer.set16(at)
      pointer += 2
    }
    return at
  }

  /// Sets the cell pointers and the header's bytes as the form lists them.
  private func layOutIrregular(
    _ cells: Range<Int>, _ form: UnsafePointer<UInt8>, _ streams: inout Streams, _ page: UnsafeMutablePointer<UInt8>,
    from start: Int, _ pageSize: Int
  ) throws(SealError) {
    (page + 1).update(from: form + streams.irregular, count: 2)
    (page + 5).update(from: form + streams.irregular + 2, count: 3)
    var left = Int(form[streams.irregular + 5])
    streams.irregular += 6
    var at = pageSize
    var next = left > 0 ? form.number16(at: streams.irregular) & 0x7FFF : -1
    var pointer = page + BTreePage.headerLength(page[0])
    for index in 0..<cells.count {
      let length = lengths[cells.lowerBound + index]
      var offset = at - length
      if index == next {
        let stands = form[streams.irregular] & 0x80 != 0
        let value = form.number16(at: streams.irregular + 2)
        offset = stands ? pageSize - length - value : (offset - value) & 0xFFFF
        if !stands { at = offset }
        streams.irregular += 4
        left -= 1
        next = left > 0 ? index + (form.number16(at: streams.irregular) & 0x7FFF) : -1
        guard next != index else { throw Self.malformed }
      } else {
        at = offset
      }
      guard offset >= start, offset + length <= pageSize else { throw Self.malformed }
      pointer.set16(offset)
      pointer += 2
    }
    guard left == 0 else { throw Self.malformed }
  }

  /// Puts the cells where the page's pointers say, which lie within it.
  private func fill(
    _ cells: Range<Int>, _ form: UnsafePointer<UInt8>, _ streams: inout Streams, _ page: UnsafeMutablePointer<UInt8>
  ) {
    var pointer = UnsafePointer(page) + BTreePage.headerLength(page[0])
    var from = form + streams.cell
    if BTreePage.isInterior(page[0]) {
      var child: UInt32 = 0
      for cell in cells {
        child &+= form.number32(at: streams.child)
        streams.child += 4
        let at = page + pointer.number16(at: 0)
        at.set32(child)
        (at + 4).copyShort(from: from, count: lengths[cell] - 4)
        from += lengths[cell] - 4
        pointer += 2
      }
      child &+= form.number32(at: streams.child)
      streams.child += 4
      (page + 8).set32(child)
    } else {
      for cell in cells {
        let length = lengths[cell]
        (page + pointer.number16(at: 0)).copyShort(from: from, count: length)
        from += length
        pointer += 2
      }
    }
    streams.cell = from - form
  }

  /// What neither cells nor, unless it is used, the gap before them covers.
  private mutating func putUncovered(
    _ cells: Range<Int>, _ form: UnsafePointer<UInt8>, _ streams: inout Streams, _ page: UnsafeMutablePointer<UInt8>,
    from start: Int, _ pageSize: Int, gapIsUsed: Bool
  ) throws(SealError) {
    let pointers = UnsafePointer(page) + BTreePage.headerLength(page[0])
    cover.begin(pageSize)
    for index in 0..<cells.count {
      cover.add(pointers.number16(at: 2 * index), lengths[cells.lowerBound + index])
    }
    guard cover.cellsLieApart() else { throw Self.malformed }
    let end = UnsafePointer(page).number16(at: 5)
    if !gapIsUsed, end > start, end <= pageSize {
      var at = start
      while let run = cover.uncovered(from: at, to: end) {
        (page + run.lowerBound).update(repeating: 0, count: run.count)
        at = run.upperBound
      }
      cover.cover(start..<end)
    }
    var at = start
    while let run = cover.uncovered(from: at, to: pageSize) {
      try putLiterals(form, &streams, into: page, run)
      at = run.upperBound
    }
  }
}

extension UnsafeMutablePointer<UInt8> {
  /// Two bytes, big-endian.
  @inline(__always)
  fileprivate func set16(_ number: Int) {
    self[0] = UInt8(truncatingIfNeeded: number >> 8)
    self[1] = UInt8(truncatingIfNeeded: number)
  }

  /// Four bytes, big-endian.
  @inline(__always)
  fileprivate func set32(_ number: UInt32) {
    self[0] = UInt8(truncatingIfNeeded: number >> 24)
    self[1] = UInt8(truncatingIfNeeded: number >> 16)
    self[2] = UInt8(truncatingIfNeeded: number >> 8)
    self[3] = UInt8(truncatingIfNeeded: number)
  }
}
