import Sealing

/// Names of objects, 32 bytes each and nothing around them: of a chain that was pushed every minute for a year, a
/// million were condemned.
struct NameSet: Sendable {
  /// Ascending.
  private let names: [Digest]

  init(_ digests: [Digest]) { names = digests.sorted() }

  /// All that is in any of these.
  init(joining sets: [NameSet]) { names = sets.flatMap { $0.names }.sorted() }

  func contains(_ digest: Digest) -> Bool {
    var low = 0
    var high = names.count
    while low < high {
      let middle = (low + high) / 2
      if names[middle] < digest { low = middle + 1 } else { high = middle }
    }
    return low < names.count && names[low] == digest
  }
}
