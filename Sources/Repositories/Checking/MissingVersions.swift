import Sealing
import Storage

/// Versions of a chain of which no manifest can be read, though nobody forgot them.
struct MissingVersions {
  /// A gap longer than this is told as one.
  private static let most = 1000

  private(set) var versions: [CheckedVersion] = []
  private(set) var findings: [CheckFinding] = []

  /// - Parameters:
  ///   - versions: those that can be read, ascending.
  ///   - broken: manifests that are there and cannot be read.
  ///   - forgotten: where only a newer program can read all of it, nobody knows of a gap that it is one.
  ///   - later: manifests that a later program wrote: they are there, whatever they say.
  ///   - mark: the newest version that this machine has seen.
  init(
    of chain: ChainID, between versions: [VersionFacts], _ forgotten: Forgotten, broken: [VersionName],
    later: [VersionName], mark: HighWaterMark?
  ) {
    let readable = Set(versions.map(\.sequence))
    var ids: [UInt64: Digest] = [:]
    for version in versions {
      guard let core = version.version, version.sequence > 1 else { continue }
      let place = version.sequence - 1
      if !readable.contains(place), core.previous != chain.unknown(at: place) { ids[place] = core.previous }
    }
    ids.merge(forgotten.standing) { _, standing in standing }
    if let mark { ids[mark.sequence] = mark.id }

    let unread = later.filter { !readable.contains($0.sequence) && !forgotten.explains($0.sequence) }
    var unjudged = Dictionary(grouping: unread, by: \.sequence).mapValues { $0.map(\.objectName.text) }
    let known = readable.union(unjudged.keys)
    var objects: [UInt64: [String]] = [:]
    for name in broken where !known.contains(name.sequence) && !forgotten.explains(name.sequence) {
      objects[name.sequence, default: []].append(name.objectName.text)
    }
    let highest = max(versions.last?.sequence ?? 0, mark?.sequence ?? 0)
    let explained =
      known.map { $0...$0 } + objects.keys.map { $0...$0 } + forgotten.explained
    for gap in Self.gaps(upTo: highest, between: explained) {
      let first = Layout.versions(of: chain) + Layout.padded(gap.lowerBound, to: 12)
      let what =
        gap.count == 1
        ? "the manifest of version \(gap.lowerBound) is missing"
        : "the manifests of versions \(gap.lowerBound) to \(gap.upperBound) are missing"
      guard !forgotten.isPartly else {
        findings.append(
          CheckFinding(
            first, .later, "\(what), and may have been forgotten by a newer sealift", hint: "Install a newer sealift."))
        for sequence in gap.prefix(Self.most) { unjudged[sequence] = [first] }
        continue
      }
      findings.append(
        CheckFinding(
          first, .missing, what, hint: "Somebody without the key deleted it, or the target lost it."))
      for sequence in gap.prefix(Self.most) { objects[sequence] = [first] }
    }
    self.versions = (Array(objects.keys) + Array(unjudged.keys)).sorted().map { sequence in
      CheckedVersion(
        chain: chain, sequence: sequence, id: ids[sequence], facts: nil, objects: objects[sequence] ?? [],
        later: unjudged[sequence] ?? [])
    }
  }

  /// What none of these ranges covers, from 1 on.
  static func gaps(upTo highest: UInt64, between ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
    var gaps: [ClosedRange<UInt64>] = []
    var next: UInt64 = 1
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where next <= highest {
      if range.lowerBound > next { gaps.append(next...min(range.lowerBound - 1, highest)) }
      guard range.upperBound < highest else { return gaps }
      if range.upperBound >= next { next = range.upperBound + 1 }
    }
    if next <= highest { gaps.append(next...highest) }
    return gaps
  }
}
