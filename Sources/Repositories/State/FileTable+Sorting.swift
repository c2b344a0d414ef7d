extension FileTable {
  /// Sorts in place, in bounded memory: the sort of the library takes up to half the table more.
  /// - Parameter key: of each element, distinct from all others.
  func sort<Key: Comparable>(by key: (Element) -> Key) {
    var places = Places(state: UInt64(count))
    withUnsafeMutableBufferPointer { sortPart(of: $0, &places, by: key) }
  }

  /// Quicksort by the median of three, the smaller part first: no deeper than the logarithm of the length.
  private func sortPart<Key: Comparable>(
    of whole: UnsafeMutableBufferPointer<Element>, _ places: inout Places, by key: (Element) -> Key
  ) {
    var part = whole[...]
    while part.count > 24 {
      let pivot = median(
        key(part[places.next(in: part)]), key(part[places.next(in: part)]), key(part[places.next(in: part)]))
      let middle = part.partition { key($0) >= pivot }
      let (left, right) = (part[..<middle], part[middle...])
      sortPart(of: UnsafeMutableBufferPointer(rebasing: left.count < right.count ? left : right), &places, by: key)
      part = left.count < right.count ? right : left
    }
    for end in part.indices {
      let element = part[end]
      var place = end
      while place > part.startIndex, key(part[place - 1]) > key(element) {
        part[place] = part[place - 1]
        place -= 1
      }
      part[place] = element
    }
  }

  private func median<Key: Comparable>(_ first: Key, _ second: Key, _ third: Key) -> Key {
    max(min(first, second), min(max(first, second), third))
  }

  /// Where the three are taken from. Fixed places are a trap: of a version whose first page changed the first, the middle
  /// and the last run are such that each step took one element away from a sorted table.
  private struct Places {
    /// SplitMix64.
    var state: UInt64

    mutating func next(in part: Slice<UnsafeMutableBufferPointer<Element>>) -> Int {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return part.startIndex + Int((mixed ^ (mixed >> 31)) % UInt64(part.count))
    }
  }
}
