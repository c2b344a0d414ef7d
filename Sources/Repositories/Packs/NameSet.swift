import Sealing

/// Names of objects, 32 bytes each and nothing around them: of a chain that was pushed every minute for a year, a
/// million were condemned.
struct NameSet: Sendable {
  private struct Name: Comparable {
    let first: UInt64
    let second: UInt64
    let third: UInt64
    let fourth: UInt64

    init(_ digest: Digest) {
      let bytes = digest.bytes
      func word(at offset: Int) -> UInt64 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
      }
      first = word(at: 0)
      second = word(at: 8)
      third = word(at: 16)
      fourth = word(at: 24)
    }

    /// Any order will do, as long as it is one.
    static func < (left: Self, right: Self) -> Bool {
      (left.first, left.second, left.third, left.fourth) < (right.first, right.second, right.third, right.fourth)
    }
  }

  /// Ascending.
  private let names: [Name]

  init(_ digests: [Digest]) { names = digests.map { Name($0) }.sorted() }

  /// All that is in any of these.
  init(joining sets: [NameSet]) { names = sets.flatMap { $0.names }.sorted() }

  func contains(_ digest: Digest) -> Bool {
    let name = Name(digest)
    var low = 0
    var high = names.count
    while low < high {
      let middle = (low + high) / 2
      if names[middle] < name { low = middle + 1 } else { high = middle }
    }
    return low < names.count && names[low] == name
  }
}
