package import Sealing

/// Versions of a chain that a check on this machine found harmed, or that a drill could not restore whose word did not come
/// to the target, until a check finds them whole, or a repair or a drill has all of their content. `status` tells of them
/// each day, and to `forget` none takes another's place.
///
/// Beside `DoubtedVersions`, which a push settles: what it makes rests on none of them, and they are harmed all the same.
/// One a line: the hexadecimal id, what proves that it is whole again, where it was found so, and, where that is known, the
/// damaged packs that harmed it: a version that was written anew needs none of them any more. Behind them stands a hash of
/// them (`CheckedLines`).
package struct HarmedVersions: Sendable {
  package enum Proof: String, Sendable {
    /// What is there, in which length, and how it hangs together: every check looks at that.
    case structure
    /// All that it consists of was read.
    case content
  }

  package struct Harm: Sendable, Equatable {
    fileprivate static let mostPacks = 16

    package let proof: Proof
    /// All that was found damaged of it; none where something else was, or nobody knows, or there are too many.
    package let packs: Set<Digest>

    package init(_ proof: Proof, by packs: Set<Digest> = []) {
      self.proof = proof
      self.packs = proof == .content && packs.count <= Self.mostPacks ? packs : []
    }

    /// Where a version needs all to be read, another look at the structure changes nothing.
    fileprivate func joined(with other: Harm) -> Harm {
      guard proof == .content else { return other }
      guard other.proof == .content else { return self }
      let isKnown = !packs.isEmpty && !other.packs.isEmpty
      return Harm(.content, by: isKnown ? packs.union(other.packs) : [])
    }
  }

  private var harms: [PlacedVersion: Harm] = [:]
  private let place: StorePlace?
  private let path: String

  /// - Parameter place: what was found elsewhere is passed over, and stays; `nil` to ask for all.
  /// - Throws: `.stateFolder` when there may be some that cannot be read, or what says so is spoilt.
  package init(of chain: ChainID, in state: StateFolder, at place: StorePlace? = nil) throws(RepositoryError) {
    self.place = place
    path = "\(state.path)/\(chain.hex)/harmed"
    for line in try CheckedLines.read(path) {
      guard let (version, harm) = Self.parse(line) else { throw CheckedLines.spoilt(path) }
      harms[version] = harm
    }
  }

  private static func parse(_ line: Substring) -> (PlacedVersion, Harm)? {
    let words = line.split(separator: " ")
    guard words.count >= 2, let id = Layout.digest(words[0]), let proof = Proof(rawValue: String(words[1])) else {
      return nil
    }
    let rest = words.dropFirst(2)
    let place = rest.first.flatMap { StorePlace.isName($0) ? String($0) : nil }
    let names = rest.dropFirst(place == nil ? 0 : 1)
    let packs = names.compactMap { Layout.digest($0) }
    guard packs.count == names.count else { return nil }
    return (PlacedVersion(version: id, place: place), Harm(proof, by: Set(packs)))
  }

  package func contains(_ version: Digest) -> Bool { harm(of: version) != nil }

  private func harm(of version: Digest) -> Harm? {
    PlacedVersion.all(of: version, at: place, among: harms.keys).compactMap { harms[$0] }
      .reduce(nil) { known, other in known?.joined(with: other) ?? other }
  }

  /// The packs that harm a version: all that was found damaged of it. `nil` where only its content proves that it is whole.
  package func packs(harming version: Digest) -> Set<Digest>? {
    harm(of: version).flatMap { $0.packs.isEmpty ? nil : $0.packs }
  }

  /// Durable when it returns.
  /// - Throws: `.stateFolder`.
  package mutating func add(
    _ found: [Digest: Harm], of chain: ChainID, in state: StateFolder
  ) throws(RepositoryError) {
    var all = harms
    for (version, harm) in found {
      let key = PlacedVersion(version: version, place: place?.name)
      all[key] = all[key]?.joined(with: harm) ?? harm
    }
    guard all != harms else { return }
    harms = all
    _ = try state.folder(of: chain)
    try write()
  }

  /// What was found elsewhere counts here, too. Durable when it returns.
  /// - Returns: whether there was any.
  /// - Throws: `.stateFolder`.
  mutating func takeAlong() throws(RepositoryError) -> Bool {
    var all = harms
    for (found, harm) in harms where !found.holds(at: place) {
      let key = PlacedVersion(version: found.version, place: place?.name)
      all[key] = all[key]?.joined(with: harm) ?? harm
    }
    guard all != harms else { return false }
    harms = all
    try write()
    return true
  }

  /// They were seen to be whole. What cannot be taken back is told until it can.
  /// - Parameter proof: how they were looked at.
  package mutating func remove(_ versions: some Sequence<Digest>, seen proof: Proof = .content) {
    var fewer = harms
    for version in versions {
      for key in PlacedVersion.all(of: version, at: place, among: harms.keys)
      where proof == .content || fewer[key]?.proof == .structure { fewer[key] = nil }
    }
    guard fewer.count < harms.count else { return }
    harms = fewer
    if harms.isEmpty { StateFiles.remove(path) } else { try? write() }
  }

  private func write() throws(RepositoryError) {
    let lines = harms.map { key, harm in
      let place = key.place.map { [$0] } ?? []
      let words = [key.version.hex, harm.proof.rawValue] + place + harm.packs.map(\.hex).sorted()
      return words.joined(separator: " ") + "\n"
    }
    try CheckedLines.write(lines.sorted().joined(), to: path)
  }
}
