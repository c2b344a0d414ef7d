package import Sealing

/// Which versions of a chain were forgotten: those that a tombstone covers which nobody took back for them
/// (`Docs/Format.md` §8.2, §8.3).
package struct Forgotten: Sendable {
  package static let nothing = Forgotten([], takenBack: [:])

  /// Every range of every tombstone, ascending: what explains that a version is not there, taken back or not.
  package let ranges: [Tombstone.Range]
  /// Versions that were taken back and not forgotten again, by their places: that one of them is not there is explained by
  /// nothing.
  package private(set) var standing: [UInt64: Digest] = [:]
  private let tombstones: [(name: Digest, ranges: [Tombstone.Range])]
  private let takenBack: [Digest: Set<Digest>]

  /// - Parameters:
  ///   - tombstones: by the names of their objects.
  ///   - takenBack: by version id, the names of the tombstones that do not count for it any more.
  ///   - places: of those versions.
  init(
    _ tombstones: [(name: Digest, ranges: [Tombstone.Range])], takenBack: [Digest: Set<Digest>],
    places: [(sequence: UInt64, id: Digest)] = []
  ) {
    self.tombstones = tombstones
    self.takenBack = takenBack
    ranges = tombstones.flatMap(\.ranges).sorted { ($0.first, $0.last) < ($1.first, $1.last) }
    for (sequence, id) in places where self.tombstones(covering: sequence, id).isEmpty { standing[sequence] = id }
  }

  /// Places whose emptiness a tombstone explains.
  var explained: [ClosedRange<UInt64>] {
    ranges.flatMap { range in
      var parts: [ClosedRange<UInt64>] = []
      var first = range.first
      for sequence in standing.keys.filter({ range.first <= $0 && $0 <= range.last }).sorted() {
        if first < sequence { parts.append(first...sequence - 1) }
        first = sequence + 1
      }
      return first <= range.last ? parts + [first...range.last] : parts
    }
  }

  package func explains(_ sequence: UInt64) -> Bool { ranges.cover(sequence) && standing[sequence] == nil }

  package func contains(_ version: VersionFacts) -> Bool { !tombstones(covering: version).isEmpty }

  /// Whatever version stood at this place was forgotten, also one whose manifest cannot be read: none that the tombstone
  /// covers was taken back.
  func isGivenUp(_ sequence: UInt64) -> Bool {
    tombstones.contains { tombstone in
      tombstone.ranges.cover(sequence) && !takenBack.values.contains { $0.contains(tombstone.name) }
    }
  }

  /// The names of the tombstones by which a version is forgotten.
  package func tombstones(covering version: VersionFacts) -> [Digest] {
    tombstones(covering: version.sequence, version.id)
  }

  /// The same of a version that need not be there.
  func tombstones(covering sequence: UInt64, _ id: Digest) -> [Digest] {
    tombstones.filter { tombstone in
      tombstone.ranges.contains { $0.covers(sequence, id) } && takenBack[id]?.contains(tombstone.name) != true
    }.map(\.name)
  }
}

extension Tombstone.Range {
  /// Another version in the place of the last one is not what was forgotten.
  fileprivate func covers(_ sequence: UInt64, _ id: Digest) -> Bool {
    first <= sequence && sequence <= last && (sequence < last || id == coreHashOfLast)
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
    let named = try await namedTombstones(of: chain, listed: tombstones, state: state)
    guard !named.isEmpty else { return .nothing }
    let annotations = try await annotations(of: chain, listed: notes, state: state)
    let places = annotations.unforgetting.map { ($0.annotation.sequence, $0.annotation.coreHash) }
    return Forgotten(named, takenBack: annotations.takenBack, places: places)
  }
}
