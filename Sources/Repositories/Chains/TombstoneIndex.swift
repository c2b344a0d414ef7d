import Sealing

/// What ranges of tombstones cover, found by halving: of a database that is pushed every minute and thinned every night
/// there are tens of thousands after a year.
struct TombstoneIndex: Sendable {
  /// Places that some range covers, ascending; no two of these touch.
  let covered: [ClosedRange<UInt64>]
  /// The same without the last place of each range that says what stands there: whatever version stands at one of these
  /// is covered.
  private let within: [ClosedRange<UInt64>]
  /// The core hashes that ranges end with, by their last places: there, another version is not covered.
  private let ends: [UInt64: [Digest]]

  static let empty = TombstoneIndex(covered: [], within: [], ends: [:])

  private init(covered: [ClosedRange<UInt64>], within: [ClosedRange<UInt64>], ends: [UInt64: [Digest]]) {
    (self.covered, self.within, self.ends) = (covered, within, ends)
  }

  init(_ ranges: [Tombstone.Range], of chain: ChainID) {
    let sorted = ranges.filter { $0.first <= $0.last }.sorted { $0.first < $1.first }
    covered = Self.joined(sorted.map { $0.first...$0.last })
    within = Self.joined(
      sorted.compactMap { range in
        if chain.isUnknown(lastOf: range) { return range.first...range.last }
        return range.first < range.last ? range.first...(range.last - 1) : nil
      })
    ends = Dictionary(grouping: sorted) { $0.last }.mapValues { $0.map(\.coreHashOfLast) }
  }

  /// Whether some range covers a place.
  func covers(_ sequence: UInt64) -> Bool { Self.holds(covered, sequence) }

  /// Whether some range covers the version of this id at a place.
  func covers(_ sequence: UInt64, _ id: Digest) -> Bool {
    Self.holds(within, sequence) || ends[sequence]?.contains(id) == true
  }

  /// The ids of the versions that ranges cover at a place; `nil` where they cover every version there.
  func ids(coveredAt sequence: UInt64) -> Set<Digest>? {
    Self.holds(within, sequence) ? nil : Set(ends[sequence] ?? [])
  }

  /// - Parameter ranges: ascending by where they begin; they may touch, overlap and lie in one another.
  private static func joined(_ ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
    var joined: [ClosedRange<UInt64>] = []
    for range in ranges {
      guard let last = joined.last, range.lowerBound <= last.upperBound || range.lowerBound - 1 == last.upperBound
      else {
        joined.append(range)
        continue
      }
      if range.upperBound > last.upperBound { joined[joined.count - 1] = last.lowerBound...range.upperBound }
    }
    return joined
  }

  private static func holds(_ ranges: [ClosedRange<UInt64>], _ place: UInt64) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < place { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].lowerBound <= place
  }
}
