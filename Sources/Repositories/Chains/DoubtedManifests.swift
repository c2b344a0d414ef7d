import Sealing

/// Which manifests that cannot be read, or were cut, stand at a place that was given up and may be of another version than
/// was forgotten there.
///
/// At its last place a range covers only the version that it names. Each of these accounts for one manifest of a number,
/// unless it can be read there: then it says itself what it needs, and another may have stood beside it.
struct DoubtedManifests {
  private let forgotten: Forgotten
  /// How many of a number cannot be read.
  private let counts: [String: Int]
  private let readable: [UInt64: Set<Digest>]

  /// - Parameters:
  ///   - broken: all of the chain that cannot be read, or were cut.
  ///   - facts: of all that can be read.
  init(_ broken: [VersionName], among facts: [VersionFacts], _ forgotten: Forgotten) {
    self.forgotten = forgotten
    counts = Dictionary(grouping: broken, by: Self.number).mapValues(\.count)
    readable = Dictionary(grouping: facts.filter(\.isComplete), by: \.sequence).mapValues { Set($0.map(\.id)) }
  }

  private static func number(_ name: VersionName) -> String { "\(name.sequence)-\(name.revision)" }

  /// - Parameter name: of a manifest at a place that was given up.
  func contains(_ name: VersionName) -> Bool {
    guard let ids = forgotten.ids(givenUpAt: name.sequence) else { return false }
    return counts[Self.number(name), default: 0] > ids.subtracting(readable[name.sequence] ?? []).count
  }
}
