/// Tells pages that were changed where they are from pages whose cells moved, by a few words of a few pages.
///
/// The first are more alike as they are than taken apart, and cheaper to compress so; a vacuum makes the others.
struct PagesInPlace {
  enum Answer {
    case most
    case some
    case none
  }

  private static let pagesLookedAt = 16
  private var ofPrefix: [SIMD8<UInt32>] = []

  /// - Parameters:
  ///   - pages: of `pageSize` bytes each, joined.
  ///   - prefix: the pages they may have been before, of the same size, joined.
  mutating func look(_ pages: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer, pageSize: Int) -> Answer {
    let count = pages.count / pageSize
    ofPrefix.removeAll(keepingCapacity: true)
    for page in 0..<prefix.count / pageSize { ofPrefix.append(Self.words(of: prefix, page, pageSize)) }
    var looked = 0
    var found = 0
    // Both are in the order of the database: what comes next is mostly behind what was found last.
    var next = 0
    for page in stride(from: 0, to: count, by: max(1, count / Self.pagesLookedAt)) {
      let words = Self.words(of: pages, page, pageSize)
      let isSaid = words .!= 0
      let said = Self.count(isSaid)
      if said < 2 { continue }
      looked += 1
      if let match = find(words, isSaid, least: said / 2 + 1, from: next) {
        found += 1
        next = match + 1
      }
    }
    return found * 8 >= looked * 7 ? .most : found * 8 > looked ? .some : .none
  }

  private func find(_ words: SIMD8<UInt32>, _ isSaid: SIMDMask<SIMD8<Int32>>, least: Int, from start: Int) -> Int? {
    func isLike(_ page: Int) -> Bool { Self.count((ofPrefix[page] .== words) .& isSaid) >= least }
    return (min(start, ofPrefix.count)..<ofPrefix.count).first(where: isLike)
      ?? (0..<min(start, ofPrefix.count)).first(where: isLike)
  }

  private static func count(_ mask: SIMDMask<SIMD8<Int32>>) -> Int {
    Int(SIMD8<UInt32>(repeating: 0).replacing(with: 1, where: mask).wrappedSum())
  }

  /// Eight words from all over the page.
  private static func words(of pages: UnsafeRawBufferPointer, _ page: Int, _ pageSize: Int) -> SIMD8<UInt32> {
    var words = SIMD8<UInt32>()
    for index in 0..<8 {
      words[index] = pages.loadUnaligned(
        fromByteOffset: page * pageSize + (2 * index + 1) * pageSize / 16, as: UInt32.self)
    }
    return words
  }
}
