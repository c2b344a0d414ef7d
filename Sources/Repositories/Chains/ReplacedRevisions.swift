import Sealing

/// Which manifests that cannot be read matter no more, because their version was written anew since.
///
/// What stands above one may be of another version, of a machine that pushes as this one, and nothing in the name says
/// whose it was. But who writes to a place takes a number above all that he sees there, so that a version has one manifest
/// of each number: where it can be read in that number, what cannot be read there is another's. So each version with a
/// later revision answers for one manifest of each number at most, and where there are more, one of them is of a version
/// that nothing else tells of.
struct ReplacedRevisions {
  private struct Number: Hashable {
    let sequence: UInt64
    let revision: UInt32

    init(_ name: VersionName) {
      sequence = name.sequence
      revision = name.revision
    }
  }

  private let readable: [UInt64: [VersionFacts]]
  /// How many of a number cannot be read.
  private let unread: [Number: Int]

  /// - Parameters:
  ///   - readable: by sequence, partial ones included.
  ///   - unread: every manifest of whole length that cannot be read.
  init(_ readable: [UInt64: [VersionFacts]], unread: [VersionName]) {
    self.readable = readable
    self.unread = Dictionary(grouping: unread, by: Number.init).mapValues(\.count)
  }

  init(_ read: [ReadFacts]) {
    var facts: [VersionFacts] = []
    var unread: [VersionName] = []
    for (name, result) in read {
      switch result {
      case .success(let found): facts.append(found)
      case .failure: unread.append(name)
      }
    }
    self.init(Dictionary(grouping: facts, by: \.sequence), unread: unread)
  }

  /// Whether a later revision stands in for this one.
  func contains(_ name: VersionName) -> Bool {
    let here = readable[name.sequence] ?? []
    let sameNumber = here.filter { $0.revision == name.revision }
    let known = Set(sameNumber.filter(\.isComplete).map(\.id))
    let later = Set(here.filter { $0.isComplete && $0.revision > name.revision }.map(\.id)).subtracting(known)
    // A partial manifest does not say whose it is.
    let partials = sameNumber.filter { !$0.isComplete }.count
    return (unread[Number(name)] ?? 1) + partials <= later.count
  }
}
