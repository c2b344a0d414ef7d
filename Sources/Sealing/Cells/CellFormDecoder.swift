/// Puts pages together again (`Docs/Format.md` §4.5). Keeps its buffers. One thread at a time.
///
/// What it reads is authentic but may still be wrong, so every length is checked; what comes out is proved by the frame's
/// fingerprints.
struct CellFormDecoder: ~Copyable {
  private var lengths: [Int] = []
  private let coverage = PageCoverage()

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

  /// - Throws: `.malformed`.
  mutating func decode(_ form: UnsafeRawBufferPointer, pages: Int, pageSize: Int) throws(SealError) -> [UInt8] {
    guard let form = form.bindMemory(to: UInt8.self).baseAddress.map({ (bytes: $0, count: form.count) }) else {
      throw Self.malformed
    }
    var streams = try findStreams(form.bytes, form.count, pages: pages, pageSize: pageSize)
    var failure: SealError?
    let plain = [UInt8](unsafeUninitializedCapacity: pages * pageSize) { buffer, count in
      guard let output = buffer.baseAddress else { return }
      output.initialize(repeating: 0, count: pages * pageSize)
      count = pages * pageSize
      var firstCell = 0
      for page in 0..<pages {
        do throws(SealError) {
          try put(
            form.bytes[page], form.bytes, &streams, &firstCell, into: output + page * pageSize, pageSize: pageSize)
        } catch {
          failure = error
          return
        }
      }
    }
    if let failure { throw failure }
    guard streams.literal == streams.end else { throw Self.malformed }
    return plain
  }

  private static let malformed = SealError(.malformed, "pages that were taken apart do not fit together")

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
    var childCount = 0
    var irregularPages = 0
    for page in 0..<pages where form[page] != CellForm.literal {
      let count = Int(form[high + tree]) << 8 | Int(form[low + tree])
      let type = form[page] & CellForm.typeMask
      guard count > 0, BTreePage.headerLength(type) + 2 * count <= pageSize else { throw Self.malformed }
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
    guard at <= length else { throw Self.malformed }
    let literal = try measureCells(form, length, from: at, pages: pages, pageSize: pageSize, high: high, low: low)
    return Streams(
      countHigh: high, countLow: low, child: child, irregular: irregular, cell: at, literal: literal, end: length)
  }

  /// - Returns: where the cells end.
  private mutating func measureCells(
    _ form: UnsafePointer<UInt8>, _ length: Int, from start: Int, pages: Int, pageSize: Int, high: Int, low: Int
  ) throws(SealError) -> Int {
    lengths.removeAll(keepingCapacity: true)
    var at = start
    var tree = 0
    for page in 0..<pages where form[page] != CellForm.literal {
      let type = form[page] & CellForm.typeMask
      let skip = BTreePage.isInterior(type) ? 4 : 0
      let count = Int(form[high + tree]) << 8 | Int(form[low + tree])
      tree += 1
      var room = pageSize - BTreePage.headerLength(type) - 2 * count
      for _ in 0..<count {
        guard
          let cell = BTreePage.cellLength(type, form + at, room: min(room - skip, length - at), pageSize: pageSize)
        else { throw Self.malformed }
        at += cell
        room -= cell + skip
        lengths.append(cell + skip)
      }
    }
    return at
  }

  /// Writes one page into `page`, which is zeros.
  private func put(
    _ layout: UInt8, _ form: UnsafePointer<UInt8>, _ streams: inout Streams, _ firstCell: inout Int,
    into page: UnsafeMutablePointer<UInt8>, pageSize: Int
  ) throws(SealError) {
    guard layout != CellForm.literal else {
      guard streams.literal + pageSize <= streams.end else { throw Self.malformed }
      page.update(from: form + streams.literal, count: pageSize)
      streams.literal += pageSize
      return
    }
    let type = layout & CellForm.typeMask
    let arrangement = layout & CellForm.arrangementMask
    let count = Int(form[streams.countHigh]) << 8 | Int(form[streams.countLow])
    page[0] = type
    page[3] = form[streams.countHigh]
    page[4] = form[streams.countLow]
    streams.countHigh += 1
    streams.countLow += 1
    let cells = firstCell..<firstCell + count
    firstCell += count
    let gapStart = BTreePage.headerLength(type) + 2 * count
    let pointers = UnsafeMutableBufferPointer(start: page + BTreePage.headerLength(type), count: 2 * count)
    switch arrangement {
    case CellForm.straight: setContentStart(page, layOut(cells, from: pageSize, pointers, 0))
    case CellForm.lastFirst:
      guard count > 1 else { throw Self.malformed }
      let last = pageSize - lengths[cells.upperBound - 1]
      pointers.set(count - 1, last)
      setContentStart(page, layOut(cells.dropLast(), from: last, pointers, 0))
    default: try layOutIrregular(cells, form, &streams, page, pointers, from: gapStart, pageSize)
    }
    try fill(cells, type, form, &streams, page, pointers, pageSize)
    let contentStart = UnsafePointer(page).number16(at: 5)
    let gap = contentStart >= gapStart && contentStart <= pageSize ? gapStart..<contentStart : gapStart..<gapStart
    if arrangement == CellForm.irregular {
      let zeros = layout & CellForm.gapIsUsed == 0 ? gap : gapStart..<gapStart
      try putUncovered(cells, form, &streams, page, pointers, zeros: zeros, from: gapStart, pageSize)
    } else if layout & CellForm.gapIsUsed != 0 {
      guard streams.literal + gap.count <= streams.end else { throw Self.malformed }
      (page + gap.lowerBound).update(from: form + streams.literal, count: gap.count)
      streams.literal += gap.count
    }
  }

  /// Cells one before the other, from `end` of the page backwards.
  /// - Returns: where the lowest begins. Cells fit: their lengths were measured against the page.
  private func layOut(
    _ cells: Range<Int>, from end: Int, _ pointers: UnsafeMutableBufferPointer<UInt8>, _ first: Int
  ) -> Int {
    var at = end
    for (index, cell) in cells.enumerated() {
      at -= lengths[cell]
      pointers.set(first + index, at)
    }
    return at
  }

  private func setContentStart(_ page: UnsafeMutablePointer<UInt8>, _ offset: Int) {
    page[5] = UInt8(truncatingIfNeeded: offset >> 8)
    page[6] = UInt8(truncatingIfNeeded: offset)
  }

  private func layOutIrregular(
    _ cells: Range<Int>, _ form: UnsafePointer<UInt8>, _ streams: inout Streams, _ page: UnsafeMutablePointer<UInt8>,
    _ pointers: UnsafeMutableBufferPointer<UInt8>, from start: Int, _ pageSize: Int
  ) throws(SealError) {
    (page + 1).update(from: form + streams.irregular, count: 2)
    (page + 5).update(from: form + streams.irregular + 2, count: 3)
    var left = Int(form[streams.irregular + 5])
    streams.irregular += 6
    var at = pageSize
    var next = left > 0 ? form.number16(at: streams.irregular) & 0x7FFF : -1
    for (index, cell) in cells.enumerated() {
      let length = lengths[cell]
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
      pointers.set(index, offset)
    }
    guard left == 0 else { throw Self.malformed }
  }

  private func fill(
    _ cells: Range<Int>, _ type: UInt8, _ form: UnsafePointer<UInt8>, _ streams: inout Streams,
    _ page: UnsafeMutablePointer<UInt8>, _ pointers: UnsafeMutableBufferPointer<UInt8>, _ pageSize: Int
  ) throws(SealError) {
    let skip = BTreePage.isInterior(type) ? 4 : 0
    var child: UInt32 = 0
    for (index, cell) in cells.enumerated() {
      let offset = pointers.offset(index)
      if skip > 0 {
        child &+= form.number32(at: streams.child)
        streams.child += 4
        (page + offset).set32(child)
      }
      let length = lengths[cell] - skip
      (page + offset + skip).update(from: form + streams.cell, count: length)
      streams.cell += length
    }
    if skip > 0 {
      child &+= form.number32(at: streams.child)
      streams.child += 4
      (page + 8).set32(child)
    }
  }

  private func putUncovered(
    _ cells: Range<Int>, _ form: UnsafePointer<UInt8>, _ streams: inout Streams, _ page: UnsafeMutablePointer<UInt8>,
    _ pointers: UnsafeMutableBufferPointer<UInt8>, zeros: Range<Int>, from start: Int, _ pageSize: Int
  ) throws(SealError) {
    coverage.clear(pageSize)
    for (index, cell) in cells.enumerated() {
      let offset = pointers.offset(index)
      guard coverage.cover(offset..<offset + lengths[cell]) else { throw Self.malformed }
    }
    coverage.cover(zeros)
    coverage.eachUncovered(from: start, to: pageSize) { byte in
      if streams.literal < streams.end { page[byte] = form[streams.literal] }
      streams.literal += 1
    }
    guard streams.literal <= streams.end else { throw Self.malformed }
  }
}

extension UnsafeMutableBufferPointer<UInt8> {
  /// Cell pointers: two bytes each.
  @inline(__always)
  fileprivate func set(_ index: Int, _ offset: Int) {
    self[2 * index] = UInt8(truncatingIfNeeded: offset >> 8)
    self[2 * index + 1] = UInt8(truncatingIfNeeded: offset)
  }

  @inline(__always)
  fileprivate func offset(_ index: Int) -> Int { Int(self[2 * index]) << 8 | Int(self[2 * index + 1]) }
}

extension UnsafeMutablePointer<UInt8> {
  fileprivate func set32(_ number: UInt32) {
    self[0] = UInt8(truncatingIfNeeded: number >> 24)
    self[1] = UInt8(truncatingIfNeeded: number >> 16)
    self[2] = UInt8(truncatingIfNeeded: number >> 8)
    self[3] = UInt8(truncatingIfNeeded: number)
  }
}
