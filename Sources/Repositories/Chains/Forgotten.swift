package import Sealing
package import Storage

/// Which versions of a chain were forgotten: those that a tombstone covers which nobody took back for them
/// (`Docs/Format.md` §8.2, §8.3).
package struct Forgotten: Sendable {
  package static let nothing = Forgotten()

  /// Every range of every tombstone, ascending: what explains that a version is not there, taken back or not.
  package let ranges: [Tombstone.Range]
  /// Versions that were taken back and not forgotten again, by their places: that one of them is not there is explained by
  /// nothing.
  package private(set) var standing: [UInt64: Digest] = [:]
  /// Authentic tombstones of a later format: any gap may be of their making.
  package fileprivate(set) var unread: [ObjectName] = []
  private let chain: ChainID?
  private let tombstones: [(name: Digest, ranges: [Tombstone.Range])]
  private let takenBack: [Annotations.Subject: Set<Digest>]
  /// Of all tombstones.
  let all: TombstoneIndex
  /// Of those that were taken back for no version.
  private let firm: TombstoneIndex
  /// The others: few.
  private let disputed: [(name: Digest, index: TombstoneIndex)]

  private init() {
    (chain, ranges, tombstones, takenBack, all, firm, disputed) = (nil, [], [], [:], .empty, .empty, [])
  }

  /// - Parameters:
  ///   - tombstones: of the chain, by the names of their objects.
  ///   - takenBack: by version, the names of the tombstones that do not count for it any more.
  ///   - places: of those versions.
  init(
    of chain: ChainID, _ tombstones: [(name: Digest, ranges: [Tombstone.Range])],
    takenBack: [Annotations.Subject: Set<Digest>],
    places: [(sequence: UInt64, id: Digest)] = []
  ) {
    self.chain = chain
    self.tombstones = tombstones
    self.takenBack = takenBack
    ranges = tombstones.flatMap(\.ranges).sorted { ($0.first, $0.last) < ($1.first, $1.last) }
    all = TombstoneIndex(ranges, of: chain)
    let names = takenBack.values.reduce(into: Set<Digest>()) { $0.formUnion($1) }
    disputed = tombstones.filter { names.contains($0.name) }.map { ($0.name, TombstoneIndex($0.ranges, of: chain)) }
    let undisputed = tombstones.filter { !names.contains($0.name) }
    firm = disputed.isEmpty ? all : TombstoneIndex(undisputed.flatMap(\.ranges), of: chain)
    for (sequence, id) in places where !covers(sequence, id) { standing[sequence] = id }
  }

  /// What was forgotten by some of the tombstones alone.
  func by(_ isMeant: (Digest) -> Bool) -> Forgotten {
    guard let chain else { return .nothing }
    return Forgotten(of: chain, tombstones.filter { isMeant($0.name) }, takenBack: takenBack)
  }

  /// Places whose emptiness a tombstone explains.
  var explained: [ClosedRange<UInt64>] {
    var places = standing.keys.sorted()[...]
    var parts: [ClosedRange<UInt64>] = []
    for range in all.covered {
      places = places.drop { $0 < range.lowerBound }
      var first: UInt64? = range.lowerBound
      while let place = places.first, place <= range.upperBound {
        if let first, first < place { parts.append(first...(place - 1)) }
        first = place < range.upperBound ? place + 1 : nil
        places = places.dropFirst()
      }
      if let first { parts.append(first...range.upperBound) }
    }
    return parts
  }

  /// The first place in a part of the chain, which may have a million million, of which nothing explains that no version
  /// is there.
  /// - Parameter present: places where one is, or was.
  package func firstUnexplained(in part: Range<UInt64>, besides present: Set<UInt64>) -> UInt64? {
    guard !part.isEmpty else { return nil }
    let before = part.lowerBound > 1 ? [1...part.lowerBound - 1] : []
    let known = before + explained + present.map { $0...$0 }
    return MissingVersions.gaps(upTo: part.upperBound - 1, between: known).first?.lowerBound
  }

  /// A newer program may have forgotten more than this one knows of.
  package var isPartly: Bool { !unread.isEmpty }

  /// What is said of a gap: where it may be of a tombstone that nobody here can read, it is no loss.
  func judged(_ problem: RepositoryError) -> RepositoryError {
    guard isPartly, problem.code == .hole else { return problem }
    return RepositoryError(
      .unsupported,
      "\(problem.message); but a tombstone of the chain is of a later format: a newer sealift may have forgotten it",
      hint: "Install a newer sealift.")
  }

  package func explains(_ sequence: UInt64) -> Bool { all.covers(sequence) && standing[sequence] == nil }

  package func contains(_ version: VersionFacts) -> Bool { covers(version.sequence, version.id) }

  /// The same of a version that need not be there.
  package func contains(_ id: Digest, at sequence: UInt64) -> Bool { covers(sequence, id) }

  /// Whatever version stood at this place was forgotten, also one whose manifest cannot be read: none that the tombstone
  /// covers was taken back.
  func isGivenUp(_ sequence: UInt64) -> Bool { firm.covers(sequence) }

  /// Of a place that is given up, the ids of the versions that stood there; `nil` where it was whichever did.
  func ids(givenUpAt sequence: UInt64) -> Set<Digest>? { firm.ids(coveredAt: sequence) }

  /// Whether some tombstone covers a version, and was not taken back for it.
  private func covers(_ sequence: UInt64, _ id: Digest) -> Bool {
    if firm.covers(sequence, id) { return true }
    let names = takenBack[Annotations.Subject(sequence: sequence, id: id)] ?? []
    return disputed.contains { $0.index.covers(sequence, id) && !names.contains($0.name) }
  }

  /// The names of the tombstones by which a version is forgotten.
  package func tombstones(covering version: VersionFacts) -> [Digest] {
    tombstones(covering: version.sequence, version.id)
  }

  /// The same of a version that need not be there.
  func tombstones(covering sequence: UInt64, _ id: Digest) -> [Digest] {
    guard let chain else { return [] }
    let names = takenBack[Annotations.Subject(sequence: sequence, id: id)] ?? []
    return tombstones.filter { tombstone in
      tombstone.ranges.contains { chain.isCovered(id, at: sequence, by: $0) } && !names.contains(tombstone.name)
    }.map(\.name)
  }
}

extension [Tombstone.Range] {
  package func cover(_ sequence: UInt64) -> Bool { contains { $0.first <= sequence && sequence <= $0.last } }
}

extension Repository {
  /// What was forgotten in a chain.
  /// - Parameters:
  ///   - tombstones: of this chain, as a listing showed them; `nil` to list them now.
  ///   - notes: the same of its annotations, taken after the tombstones or with them.
  package func forgotten(
    of chain: ChainID, tombstones: RecordListing? = nil, notes: RecordListing? = nil, state: StateFolder?
  ) async throws -> Forgotten {
    let prefix = Layout.tombstones(of: chain)
    var listing = RecordListing.empty
    if let tombstones { listing = tombstones } else { listing = .init(objects: try await store.list(prefix: prefix)) }
    let named = try await namedTombstones(of: chain, listed: listing, state: state)
    let read = Set(named.map(\.name))
    let unread = try await laterTombstones(among: listing.names(below: prefix).filter { !read.contains($0.digest) })
    guard !named.isEmpty || !unread.isEmpty else { return .nothing }
    let annotations = try await annotations(of: chain, listed: notes, state: state)
    let places = annotations.unforgetting.map { ($0.annotation.sequence, $0.annotation.coreHash) }
    var forgotten = Forgotten(of: chain, named, takenBack: annotations.takenBack, places: places)
    forgotten.unread = unread
    return forgotten
  }
}
