import Sealing

/// Which packs a check reads whole.
package enum CheckSubset: Sendable, Equatable {
  case all
  /// So much of the packs of each chain, by their bytes, at random: above 0, at most 1.
  case share(Double)
  /// The part of this number, from 1 on, of so many. A pack's name decides in which part it is, so that the parts of one
  /// division, together, read each pack once.
  case part(Int, of: Int)
  /// Packs at random, until about so many bytes of the repository are to be fetched. What deltas in them rest on counts:
  /// of a small pack it may be most of what its version needs.
  case bytes(Int)

  /// The packs to read, of those that are there.
  /// - Parameters:
  ///   - sizes: in bytes.
  ///   - left: what may be fetched; afterwards, what of it is left for other chains, where that is limited.
  ///   - weight: of what is fetched by bytes.
  func choice(
    of sizes: [Digest: Int], left: inout Int, by weight: () throws(RepositoryError) -> ReadingWeight
  ) throws(RepositoryError) -> Set<Digest> {
    switch self {
    case .all: return Set(sizes.keys)
    case .part(let part, let count): return Set(sizes.keys.filter { Self.part(of: $0, among: count) == part })
    case .share(let share):
      var bytes = Int(min((Double(sizes.values.clampedSum) * share).rounded(.up), 0x1p62))
      return Self.some(of: sizes, &bytes) { $1 }
    case .bytes:
      let weight = try weight()
      return Self.some(of: sizes, &left) { weight.add($0, size: $1) }
    }
  }

  /// What may be read in all.
  var budget: Int {
    if case .bytes(let bytes) = self { return bytes }
    return .max
  }

  /// The last may be more than what is left: whatever is never chosen for its size is never read.
  private static func some(
    of sizes: [Digest: Int], _ bytes: inout Int, weighed weight: (Digest, Int) -> Int
  ) -> Set<Digest> {
    var chosen: Set<Digest> = []
    for (name, size) in sizes.shuffled() {
      guard bytes > 0 else { break }
      chosen.insert(name)
      bytes -= weight(name, size)
    }
    return chosen
  }

  static func part(of name: Digest, among count: Int) -> Int {
    let number = name.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int(number % UInt64(count)) + 1
  }
}
