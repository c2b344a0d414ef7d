package import Sealing

/// Which versions of a chain were forgotten: those that a tombstone covers which nobody took back for them
/// (`Docs/Format.md` §8.2, §8.3).
package struct Forgotten: Sendable {
  package static let nothing = Forgotten([], takenBack: [:])

  /// Every range of every tombstone, ascending: what explains that a version is not there, taken back or not.
  package let ranges: [Tombstone.Range]
  private let tombstones: [(name: Digest, ranges: [Tombstone.Range])]
  private let takenBack: [Digest: Set<Digest>]

  /// - Parameters:
  ///   - tombstones: by the names of their objects.
  ///   - takenBack: by version id, the names of the tombstones that do not count for it any more.
  init(_ tombstones: [(name: Digest, ranges: [Tombstone.Range])], takenBack: [Digest: Set<Digest>]) {
    self.tombstones = tombstones
    self.takenBack = takenBack
    ranges = tombstones.flatMap(\.ranges).sorted { ($0.first, $0.last) < ($1.first, $1.last) }
  }

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
    return Forgotten(named, takenBack: annotations.takenBack)
  }
}
