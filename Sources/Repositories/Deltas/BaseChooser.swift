import Sealing

/// Finds, for the pages of a new frame, the pages of the base that held the same rows, and makes the prefix of them.
struct BaseChooser: Sendable {
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

  struct Choice {
    var prefix: [UInt8] = []
    var bases: [MadeFrame.Base] = []
  }

  /// - Parameters:
  ///   - units: pages of the base's size, joined.
  ///   - positions: the number of each in its image.
  func choose(for units: UnsafeRawBufferPointer, positions: [Int]) -> Choice {
    var choice = Choice()
    choice.prefix.reserveCapacity(Limits.prefix / 4)
    var frames: Set<UInt32> = []
    for run in runs(of: candidates(for: units, positions: positions)) {
      read(run) { page in
        guard let place = ordinal(of: page) else { return }
        guard frames.contains(place.frame) || frames.count < Limits.prefixFrames else { return }
        frames.insert(place.frame)
        choice.prefix.append(contentsOf: page)
        choice.add(place, of: known)
      }
    }
    return choice
  }

  /// Base pages in order, no more than a prefix may have: those that share most with the new pages, what lies between
  /// such pages, and their neighbours.
  private func candidates(for units: UnsafeRawBufferPointer, positions: [Int]) -> [Int] {
    let between = 4 + 2 * base.samples.pagesPerSample(pageSize: base.pageSize)
    let votes = withoutStrays(votes(for: units, positions: positions), between: between)
    let limit = Limits.prefix / base.pageSize
    for least in [1, 2, 3, 5, 8, 16] {
      let pages = widened(votes.filter { $0.count >= least }.map(\.page), between: least == 1 ? between : 2)
      if pages.count <= limit { return pages }
    }
    let best = votes.sorted { $0.count > $1.count }.prefix(limit / 3).map(\.page).sorted()
    return Array(widened(best, between: 0).prefix(limit))
  }

  /// A page of the base, and how many samples of the new pages lie in it.
  private struct Vote {
    let page: Int
    var count: Int
    /// For some new page nothing better is known.
    var isBest = false
  }

  /// Leaves out pages that share little and lie far from all others, unless a new page has nothing else: whoever
  /// restores pays for the whole frame of each.
  private func withoutStrays(_ votes: [Vote], between: Int) -> [Vote] {
    let least = base.samples.votesOfHalfAPage(pageSize: base.pageSize)
    var kept: [Vote] = []
    var cluster: [Vote] = []
    for vote in votes + [Vote(page: Int.max, count: 0)] {
      if let last = cluster.last, vote.page - last.page > between {
        if cluster.contains(where: \.isBest) || cluster.reduce(0, { $0 + $1.count }) >= least { kept += cluster }
        cluster = []
      }
      cluster.append(vote)
    }
    return kept
  }

  /// How many samples of the new pages lie in each page of the base, by page.
  private func votes(for units: UnsafeRawBufferPointer, positions: [Int]) -> [Vote] {
    var all: [Vote] = []
    var previous: (base: Int, position: Int)?
    for (index, position) in positions.enumerated() {
      let start = index * base.pageSize
      let own = votes(for: UnsafeRawBufferPointer(rebasing: units[start..<start + base.pageSize]), at: position)
      all += own
      // Rows keep their order: a page that shares no sample lies where it would after the page before it.
      let expected = previous.map { $0.base + position - $0.position }
      let best = own.max { $0.count < $1.count }?.page ?? expected
      guard let best, best >= 0, best < base.pageCount else { continue }
      all.append(Vote(page: best, count: 0, isBest: true))
      previous = (best, position)
    }
    all.sort { $0.page < $1.page }
    return all.reduce(into: []) { votes, vote in
      guard let last = votes.indices.last, votes[last].page == vote.page else { return votes.append(vote) }
      votes[last].count += vote.count
      votes[last].isBest = votes[last].isBest || vote.isBest
    }
  }

  /// The votes of one new page.
  private func votes(for unit: UnsafeRawBufferPointer, at position: Int) -> [Vote] {
    var votes: [Vote] = []
    func vote(_ page: Int, _ count: Int) {
      guard page < base.pageCount else { return }
      if let known = votes.firstIndex(where: { $0.page == page }) {
        votes[known].count += count
      } else {
        votes.append(Vote(page: page, count: count))
      }
    }
    base.samples.samples(of: unit) { tag in
      if let page = base.samples[tag] { vote(page, 1) }
    }
    if keepsPositions { vote(position, 3) }
    return votes
  }

  /// The pages with their neighbours, and what lies between two that are close.
  private func widened(_ pages: [Int], between: Int) -> [Int] {
    var all: [Int] = []
    for page in pages {
      let first = max(0, page - 1)
      let next = all.last.map { $0 + 1 } ?? first
      let start = first <= next + between && !all.isEmpty ? next : max(first, next)
      if start <= min(page + 1, base.pageCount - 1) { all += start...min(page + 1, base.pageCount - 1) }
    }
    return all
  }

  private func runs(of pages: [Int]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    for page in pages {
      if let last = runs.indices.last, runs[last].upperBound == page, runs[last].count < 64 {
        runs[last] = runs[last].lowerBound..<page + 1
      } else {
        runs.append(page..<page + 1)
      }
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

extension BaseChooser.Choice {
  fileprivate mutating func add(_ place: UnitIndex.Place, of known: KnownPacks) {
    if let last = bases.indices.last, bases[last].ordinal == place.frame,
      bases[last].firstUnit + bases[last].count == place.unit
    {
      bases[last].count += 1
      return
    }
    let frame = known.frames[Int(place.frame)]
    guard let entry = known.entries[frame.pack] else { return }
    bases.append(
      MadeFrame.Base(pack: entry.name, ordinal: place.frame, frame: frame.index, firstUnit: place.unit, count: 1))
  }
}
