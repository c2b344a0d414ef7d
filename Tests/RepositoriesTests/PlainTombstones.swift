@testable import Repositories
@testable import Sealing

/// What tombstones say of a chain, with every range of each of them looked at for every question.
struct PlainForgotten {
  let chain: ChainID
  let tombstones: [(name: Digest, ranges: [Tombstone.Range])]
  let takenBack: [Annotations.Subject: Set<Digest>]
  let ranges: [Tombstone.Range]
  private(set) var standing: [UInt64: Digest] = [:]

  init(
    chain: ChainID, _ tombstones: [(name: Digest, ranges: [Tombstone.Range])],
    takenBack: [Annotations.Subject: Set<Digest>],
    places: [(sequence: UInt64, id: Digest)]
  ) {
    self.chain = chain
    self.tombstones = tombstones
    self.takenBack = takenBack
    ranges = tombstones.flatMap(\.ranges).sorted { ($0.first, $0.last) < ($1.first, $1.last) }
    for (sequence, id) in places where covering(sequence, id).isEmpty { standing[sequence] = id }
  }

  var explained: [ClosedRange<UInt64>] {
    ranges.flatMap { range in
      var parts: [ClosedRange<UInt64>] = []
      var first = range.first
      for sequence in standing.keys.filter({ range.first <= $0 && $0 <= range.last }).sorted() {
        if first < sequence { parts.append(first...(sequence - 1)) }
        first = sequence + 1
      }
      return first <= range.last ? parts + [first...range.last] : parts
    }
  }

  func explains(_ sequence: UInt64) -> Bool { ranges.cover(sequence) && standing[sequence] == nil }

  func isGivenUp(_ sequence: UInt64) -> Bool {
    tombstones.contains { tombstone in
      tombstone.ranges.cover(sequence) && !takenBack.values.contains { $0.contains(tombstone.name) }
    }
  }

  func covering(_ sequence: UInt64, _ id: Digest) -> [Digest] {
    tombstones.filter { tombstone in
      let isCovered = tombstone.ranges.contains { range in
        range.first <= sequence && sequence <= range.last
          && (sequence < range.last || [id, chain.unknown(at: range.last)].contains(range.coreHashOfLast))
      }
      let subject = Annotations.Subject(sequence: sequence, id: id)
      return isCovered && takenBack[subject]?.contains(tombstone.name) != true
    }.map(\.name)
  }
}

/// The links of a chain that has one version at each place, with every range looked at for every step.
struct PlainLinks {
  let chain: ChainID
  /// Ascending.
  let versions: [VersionFacts]
  let unreadable: Set<UInt64>
  let ranges: [Tombstone.Range]

  /// What does not fit, in words.
  /// - Parameter after: a version that is known; the first one must continue it, or be it.
  func problems(after: (sequence: UInt64, hash: Digest)?) -> [String] {
    var problems: [String] = []
    var told: Set<UInt64> = []
    var expected = after.map { $0.sequence + 1 } ?? 1
    for version in versions {
      let sequence = version.sequence
      guard let core = version.version, sequence >= after?.sequence ?? 0 else { continue }
      if let after, sequence == after.sequence {
        if version.id != after.hash {
          problems.append(
            "version \(sequence) of 'app' is not the one this machine has seen: two machines push as one")
        }
        continue
      }
      while expected < sequence, isExplained(expected) { expected += 1 }
      if expected != sequence {
        problems.append("versions \(expected) to \(sequence - 1) of 'app' are missing and were not forgotten")
      } else if isBroken(core.previous, at: sequence, after) {
        problems.append(broken(at: sequence))
        told.insert(sequence)
      }
      expected = sequence + 1
    }
    let last = versions.last { $0.sequence >= after?.sequence ?? 0 }
    for range in ranges where range.first > after?.sequence ?? 0 && !told.contains(range.first) {
      guard isBroken(range.previousOfFirst, at: range.first, after) else { continue }
      problems.append(broken(at: range.first, of: last == nil ? "" : "app"))
      told.insert(range.first)
    }
    return problems + (after == nil ? holeBehindNewest : [])
  }

  private var holeBehindNewest: [String] {
    guard let newest = versions.last?.sequence else { return [] }
    let places = ranges.map { $0.first - 1 }.filter { $0 > newest && !isExplained($0) }
    return places.prefix(1).map {
      "version \($0) of 'app' is missing and was not forgotten, though what came behind it was"
    }
  }

  private func isExplained(_ place: UInt64) -> Bool { ranges.cover(place) || unreadable.contains(place) }

  private func isBroken(
    _ previous: Digest, at sequence: UInt64, _ after: (sequence: UInt64, hash: Digest)?
  ) -> Bool {
    let place = sequence - 1
    guard place > 0 else { return previous != .zero }
    let standing = place == after?.sequence ? after?.hash : versions.first { $0.sequence == place }?.id
    let covering = ranges.filter { $0.first <= place && place <= $0.last }
    if standing == nil, covering.isEmpty { return false }
    if previous == standing || previous == chain.unknown(at: place) { return false }
    return !covering.contains { $0.last > place || [previous, chain.unknown(at: place)].contains($0.coreHashOfLast) }
  }

  private func broken(at sequence: UInt64, of database: String = "app") -> String {
    "version \(sequence) of '\(database)' does not continue version \(sequence - 1)"
  }
}

/// What a prune asks of a chain, with every range looked at for every link.
struct PlainProof {
  let chain: ChainID
  let versions: [VersionFacts]
  let ranges: [Tombstone.Range]

  /// - Parameter mark: what this machine has seen.
  func refusal(_ mark: HighWaterMark?) -> RepositoryError.Code? {
    let ids = Dictionary(grouping: versions, by: \.sequence).mapValues { Set($0.map(\.id)) }
    if let mark {
      let newest = versions.map(\.sequence).max() ?? 0
      guard newest >= mark.sequence else { return .rolledBack }
      let isThere = ids[mark.sequence]?.contains(mark.id) == true
      guard isThere || ranges.cover(mark.sequence) else { return .forked }
    }
    for version in versions {
      guard let previous = version.version?.previous else { continue }
      if let refusal = refusal(before: version.sequence, previous, ids) { return refusal }
    }
    for range in ranges {
      if let refusal = refusal(before: range.first, range.previousOfFirst, ids) { return refusal }
    }
    return nil
  }

  private func refusal(
    before sequence: UInt64, _ previous: Digest, _ ids: [UInt64: Set<Digest>]
  ) -> RepositoryError.Code? {
    let place = sequence - 1
    guard place > 0 else { return previous == .zero ? nil : .forked }
    let isUnknown = previous == chain.unknown(at: place)
    if ids[place]?.contains(previous) == true || (isUnknown && ids[place] != nil) { return nil }
    let isExplained = ranges.contains { range in
      range.first <= place && place <= range.last
        && (range.last > place || [previous, chain.unknown(at: place)].contains(range.coreHashOfLast) || isUnknown)
    }
    if isExplained { return nil }
    return ids[place] == nil ? .hole : .forked
  }
}
