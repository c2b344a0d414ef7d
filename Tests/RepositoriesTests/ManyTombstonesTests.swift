import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Chains that were thinned for years: tens of thousands of ranges, in hundreds of tombstones.
@Suite struct ManyTombstonesTests {
  /// The places that samples have.
  private static let places: ClosedRange<UInt64> = 1...16

  private let chain: ChainID
  /// Two versions that might stand at each place.
  private let probes: [[VersionFacts]]

  init() throws {
    let chain = try #require(ChainID(hex: String(repeating: "ab", count: 16)))
    self.chain = chain
    probes = (0...24).map { (sequence: UInt64) in
      [UInt8(0), 1].map { variant in
        Self.facts(chain, sequence, .sha256(of: [UInt8(sequence), variant]), after: .zero)
      }
    }
  }

  private static func facts(
    _ chain: ChainID, _ sequence: UInt64, _ id: Digest, after previous: Digest
  ) -> VersionFacts {
    let content = Core.FileContent(
      unitType: .page, unitSize: 4096, unitCount: 1, length: 4096, imageDigest: .zero, sha256: .zero)
    let core = Core(
      chain: chain, sequence: sequence, previous: previous, time: 0, host: "host", database: "app", method: .pages,
      flags: [], members: [Core.Member(path: "app.db", mode: 0o600, modified: 0, content: .database(content))])
    let body = ManifestBody(
      state: .complete, chain: chain, sequence: sequence, revision: 0, core: [], bytesDecoded: 0, bytesFetched: 0,
      newBytes: 0, nextPackNumber: 1, tags: [], note: "", packTable: [], maps: [])
    return VersionFacts(digest: id, length: 1, epoch: 0, formatVersion: 1, body: body, core: core, id: id)
  }

  private func id(_ sequence: UInt64, _ variant: Int = 0) -> Digest { probes[Int(sequence)][variant].id }

  /// A small chain, and what may be said of it: ranges that touch, overlap, lie in one another, contradict one another.
  private struct Sample {
    var versions: [VersionFacts] = []
    var unreadable: [VersionName] = []
    var tombstones: [(name: Digest, ranges: [Tombstone.Range])] = []
    var takenBack: [Annotations.Subject: Set<Digest>] = [:]
    var places: [(sequence: UInt64, id: Digest)] = []
  }

  private func sample(_ random: inout SeededRandom) -> Sample {
    var sample = Sample()
    for sequence in 1...UInt64.random(in: 1...12, using: &random) {
      let kind = Int.random(in: 0..<10, using: &random)
      if kind < 6 {
        let previous = hash(before: sequence, &random)
        sample.versions.append(Self.facts(chain, sequence, id(sequence), after: previous))
      } else if kind == 6 {
        sample.unreadable.append(
          VersionName(chain: chain, sequence: sequence, revision: 0, length: 1, digest: id(sequence, 1)))
      }
    }
    for number in 0..<UInt8.random(in: 0...5, using: &random) {
      var ranges: [Tombstone.Range] = []
      for _ in 0..<Int.random(in: 1...3, using: &random) { ranges.append(range(&random)) }
      sample.tombstones.append((.sha256(of: [number, 0xFF, 0xFF]), ranges))
    }
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let sequence = UInt64.random(in: Self.places, using: &random)
      let version = id(sequence, Int.random(in: 0...3, using: &random) == 0 ? 1 : 0)
      for tombstone in sample.tombstones where Bool.random(using: &random) {
        sample.takenBack[.init(sequence: sequence, id: version), default: []].insert(tombstone.name)
      }
      sample.places.append((sequence, version))
    }
    return sample
  }

  private func range(_ random: inout SeededRandom) -> Tombstone.Range {
    let first = UInt64.random(in: 1...14, using: &random)
    let last = first + [0, 0, 0, 1, 2, 6][Int.random(in: 0..<6, using: &random)]
    let other = Int.random(in: 0...4, using: &random) == 0
    return Tombstone.Range(
      first: first, last: last, previousOfFirst: hash(before: first, &random),
      coreHashOfLast: other ? [id(last, 1), chain.unknown(at: last)][Int.random(in: 0...1, using: &random)] : id(last))
  }

  /// Mostly what stands there.
  private func hash(before sequence: UInt64, _ random: inout SeededRandom) -> Digest {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: id(sequence - 1, 1)
    case 1: chain.unknown(at: sequence - 1)
    default: sequence == 1 ? .zero : id(sequence - 1)
    }
  }

  @Test func `what tombstones cover is found by halving as by looking at each`() {
    var random = SeededRandom(20_261_123)
    var found: [String] = []
    for number in 0..<2000 {
      let sample = sample(&random)
      found += differences(sample).map { "sample \(number): \($0)" }
    }
    #expect(found.isEmpty, "\(found.prefix(20))")
  }

  private func differences(_ sample: Sample) -> [String] {
    var found: [String] = []
    func compare<Value: Equatable>(_ ours: Value, _ plain: Value, _ what: @autoclosure () -> String) {
      if ours != plain { found.append("\(what()): \(ours), not \(plain)") }
    }
    let plain = PlainForgotten(chain: chain, sample.tombstones, takenBack: sample.takenBack, places: sample.places)
    let forgotten = Forgotten(of: chain, sample.tombstones, takenBack: sample.takenBack, places: sample.places)
    compare(forgotten.ranges, plain.ranges, "ranges")
    compare(forgotten.standing, plain.standing, "standing")
    compare(
      MissingVersions.gaps(upTo: 24, between: forgotten.explained),
      MissingVersions.gaps(upTo: 24, between: plain.explained), "gaps")
    for pair in probes.dropFirst() {
      let sequence = pair[0].sequence
      compare(forgotten.explains(sequence), plain.explains(sequence), "explains \(sequence)")
      compare(forgotten.isGivenUp(sequence), plain.isGivenUp(sequence), "gives \(sequence) up")
      for probe in pair {
        let names = plain.covering(sequence, probe.id)
        compare(forgotten.tombstones(covering: probe), names, "covering \(sequence)")
        compare(forgotten.contains(probe), !names.isEmpty, "contains \(sequence)")
      }
    }
    return found + linkDifferences(sample, forgotten, plain)
  }

  private func linkDifferences(_ sample: Sample, _ forgotten: Forgotten, _ plain: PlainForgotten) -> [String] {
    var found: [String] = []
    var read: [ReadFacts] = []
    for version in sample.versions { read.append((version.name, .success(version))) }
    for name in sample.unreadable { read.append((name, .failure(RepositoryError(.damaged, "\(name.sequence)")))) }
    let reader = HistoryReader(chain: chain, read)
    let history = reader.finish(isWhole: true, forgotten: forgotten)
    let places = Set(sample.unreadable.map(\.sequence))
    let links = PlainLinks(chain: chain, versions: sample.versions, unreadable: places, ranges: plain.ranges)
    let problems = history.problems.filter { $0.code != .damaged }.map(\.message)
    if problems != links.problems(after: nil) { found.append("links: \(problems)") }

    let newest = sample.versions.last?.sequence ?? 0
    let damaged = history.problems.filter { $0.code == .damaged }.map(\.message)
    let expected = sample.unreadable.map(\.sequence).filter { $0 >= newest || !plain.isGivenUp($0) }.map { "\($0)" }
    if damaged != expected { found.append("damaged: \(damaged)") }

    let proof = ChainProof(chain, sample.versions, plain.ranges)
    let plainProof = PlainProof(chain: chain, versions: sample.versions, ranges: plain.ranges)
    if refusal(of: proof, nil) != plainProof.refusal(nil) { found.append("proof") }
    for seen: UInt64 in 1...6 {
      let after = (sequence: seen, hash: id(seen))
      let later = reader.problems(after: seen, after.hash, plain.ranges).filter { $0.code != .damaged }.map(\.message)
      if later != links.problems(after: after) { found.append("links after \(seen): \(later)") }
      let mark = HighWaterMark(sequence: seen, id: after.hash)
      if refusal(of: proof, mark) != plainProof.refusal(mark) { found.append("proof against \(seen)") }
    }
    return found
  }

  private func refusal(of proof: ChainProof, _ mark: HighWaterMark?) -> RepositoryError.Code? {
    do throws(RepositoryError) {
      try proof.check(against: mark)
      return nil
    } catch {
      return error.code
    }
  }

  /// As they come from a push a minute that is thinned every night. By looking at each range this takes minutes.
  @Test func `twenty thousand ranges of single versions are no burden`() {
    let ids: [Digest] = (0...25_000).map { number in
      let bytes: [UInt8] = [UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
      return Digest.sha256(of: bytes)
    }
    var versions: [VersionFacts] = []
    var ranges: [Tombstone.Range] = []
    for place in 1...25_000 {
      let before = place == 1 ? Digest.zero : ids[place - 1]
      if place.isMultiple(of: 5) {
        versions.append(Self.facts(chain, UInt64(place), ids[place], after: before))
      } else {
        ranges.append(
          Tombstone.Range(
            first: UInt64(place), last: UInt64(place), previousOfFirst: before, coreHashOfLast: ids[place]))
      }
    }
    var tombstones: [(name: Digest, ranges: [Tombstone.Range])] = []
    for start in stride(from: 0, to: ranges.count, by: 50) {
      tombstones.append((ids[start], Array(ranges[start..<start + 50])))
    }
    // The first version was taken back, and is gone all the same.
    let forgotten = Forgotten(
      of: chain, tombstones, takenBack: [.init(sequence: 1, id: ids[1]): [tombstones[0].name]],
      places: [(sequence: 1, id: ids[1])])
    let read: [ReadFacts] = versions.map { ($0.name, .success($0)) }
    let history = HistoryReader(chain: chain, read).finish(isWhole: true, forgotten: forgotten)
    #expect(history.problems.isEmpty && history.versions.count == 5000)
    #expect(!history.versions.contains(where: history.isForgotten))
    #expect(history.goneThoughTakenBack.count == 1 && history.lost.map(\.first) == [1])
    let places = (1...25_000).map { UInt64($0) }
    #expect(places.count { forgotten.explains($0) } == 19_999)
    #expect(places.count { forgotten.isGivenUp($0) } == 20_000 - 50)
    #expect(!forgotten.contains(Self.facts(chain, 1, ids[1], after: .zero)))
    for place in [2, 49, 24_999] {
      #expect(forgotten.contains(Self.facts(chain, UInt64(place), ids[place], after: .zero)))
      #expect(!forgotten.contains(Self.facts(chain, UInt64(place), ids[place + 1], after: .zero)))
    }
  }
}
