extension FileTable {
  /// Sorts in place, in bounded memory: the sort of the library takes up to half the table more.
  /// - Parameter key: of each element, distinct from all others.
  func sort<Key: Comparable>(by key: (Element) -> Key) {
    withUnsafeMutableBufferPointer { sortPart(of: $0, by: key) }
  }

  /// Quicksort by the median of three, the smaller part first: no deeper than the logarithm of the length.
  private func sortPart<Key: Comparable>(of whole: UnsafeMutableBufferPointer<Element>, by key: (Element) -> Key) {
    var part = whole[...]
    while part.count > 24 {
      let pivot = median(
        key(part[part.startIndex]), key(part[part.startIndex + part.count / 2]), key(part[part.endIndex - 1]))
      let middle = part.partition { key($0) >= pivot }
      let (left, right) = (part[..<middle], part[middle...])
      sortPart(of: UnsafeMutableBufferPointer(rebasing: left.count < right.count ? left : right), by: key)
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
}
