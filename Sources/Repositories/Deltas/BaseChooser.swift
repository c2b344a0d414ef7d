import Sealing

/// Finds, for the pages of a new frame, the pages of the base that held the same rows, and makes the prefix of them.
struct BaseChooser: FrameBases {
  private let base: BaseImage
  private let known: KnownPacks
  /// Frames deeper than that are no bases.
  private let depth: Int
  private let keepsPositions: Bool
  private let fingerprinters: WorkerPool<Fingerprinter>

  init(
    _ base: BaseImage, known: KnownPacks, depth: Int, keepsPositions: Bool,
    fingerprinters: WorkerPool<Fingerprinter>
  ) {
    self.base = base
    self.known = known
    self.depth = depth
    self.keepsPositions = keepsPositions
    self.fingerprinters = fingerprinters
  }

  /// So many known pages between new ones go into their frame. In a page copy every second page may be such a one, and a
  /// longer gap would mean to compress most of the database again.
  var gapLimit: Int { keepsPositions ? 1 : 4 }

  /// Whether enough of the base is known at the target: looked at in 64 places.
  func baseIsKnown() -> Bool {
    let step = max(1, base.pageCount / 64)
    var looked = 0
    var found = 0
    withUnsafeTemporaryAllocation(byteCount: base.pageSize, alignment: 16) { page in
      for index in stride(from: 0, to: base.pageCount, by: step) where base.read(index..<index + 1, into: page) {
        let page = UnsafeRawBufferPointer(page)
        if page.isAllZeros { continue }
        looked += 1
        if ordinal(of: page) != nil { found += 1 }
      }
    }
    return found * 2 > looked
  }

  /// - Parameter units: pages of the base's size.
  func choose(for units: UnsafeRawBufferPointer, positions: [Int], fingerprints: [Fingerprint]) -> BaseChoice {
    let inPlace = ExpectedPages(base, count: positions.count)
    defer { withExtendedLifetime(inPlace) {} }
    let pages = votes(for: units, positions: positions, inPlace).pages
    var choice = BaseChoice()
    choice.prefix.reserveCapacity(pages.count * base.pageSize)
    choice.isInPlace = inPlace.count * 8 >= positions.count * 7
    func add(_ page: UnsafeRawBufferPointer, _ place: UnitIndex.Place?) {
      if let place { choice.add(page, at: place, of: known) }
    }
    for run in runs(of: pages, inPlace) {
      if let page = inPlace[run.lowerBound] {
        // What equals a new page has its fingerprint, which was computed a moment ago.
        let equal = page.equal.map { known.ordinal(of: fingerprints[$0], depth: depth) }
        add(page.bytes, equal ?? ordinal(of: page.bytes))
      } else {
        read(run) { add($0, ordinal(of: $0)) }
      }
    }
    return choice
  }

  private func votes(
    for units: UnsafeRawBufferPointer, positions: [Int], _ inPlace: ExpectedPages
  ) -> BaseVotes {
    var all: [BaseVotes.Vote] = []
    var previous: (base: Int, position: Int)?
    for (index, position) in positions.enumerated() {
      let unit = UnsafeRawBufferPointer(rebasing: units[index * base.pageSize..<(index + 1) * base.pageSize])
      // Rows keep their order: a page is looked for first where it would lie after the page before it.
      let expected = previous.map { $0.base + position - $0.position }
      var places = keepsPositions ? [position] : []
      if let expected, expected != places.first { places.append(expected) }
      if let page = places.first(where: { inPlace.holds(unit, index, at: $0) }) {
        all.append(.init(page: page, count: Self.votesOfWhole, isBest: true, isAlone: true))
        previous = (page, position)
        continue
      }
      let own = votes(for: unit, at: position)
      all += own
      let best = own.max { $0.count < $1.count }?.page ?? expected
      guard let best, best >= 0, best < base.pageCount else { continue }
      all.append(.init(page: best, count: 0, isBest: true))
      previous = (best, position)
    }
    return BaseVotes(all, of: base)
  }

  /// More than samples ever give.
  private static let votesOfWhole = 64

  /// The votes of one new page.
  private func votes(for unit: UnsafeRawBufferPointer, at position: Int) -> [BaseVotes.Vote] {
    var votes: [BaseVotes.Vote] = []
    func vote(_ page: Int, _ count: Int) {
      guard page < base.pageCount else { return }
      if let known = votes.firstIndex(where: { $0.page == page }) {
        votes[known].count += count
      } else {
        votes.append(.init(page: page, count: count))
      }
    }
    base.samples.samples(of: unit) { tag in
      if let page = base.samples[tag] { vote(page, 1) }
    }
    if keepsPositions { vote(position, 3) }
    return votes
  }

  /// Pages that lie one after the other, to be read at once; those in place stand for themselves.
  private func runs(of pages: [Int], _ inPlace: ExpectedPages) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var canGrow = false
    for page in pages {
      let isHeld = inPlace[page] != nil
      if canGrow, !isHeld, let last = runs.indices.last, runs[last].upperBound == page, runs[last].count < 64 {
        runs[last] = runs[last].lowerBound..<page + 1
      } else {
        runs.append(page..<page + 1)
      }
      canGrow = !isHeld
    }
    return runs
  }

  private func read(_ pages: Range<Int>, _ each: (UnsafeRawBufferPointer) -> Void) {
    withUnsafeTemporaryAllocation(byteCount: pages.count * base.pageSize, alignment: 16) { buffer in
      guard base.read(pages, into: buffer) else { return }
      for start in stride(from: 0, to: buffer.count, by: base.pageSize) {
        each(UnsafeRawBufferPointer(rebasing: buffer[start..<start + base.pageSize]))
      }
    }
  }

  /// What makes it safe to rest on this page: the target holds just this content, in a frame that is not too deep.
  private func ordinal(of page: UnsafeRawBufferPointer) -> UnitIndex.Place? {
    known.ordinal(of: fingerprinters.with { $0.fingerprint(.page, page) }, depth: depth)
  }
}
