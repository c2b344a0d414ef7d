package import Sealing

/// Newest versions of a chain that could not be restored when this machine drilled them, or that its check found harmed by
/// what is there. While there is one, a push takes nothing of the version before it for there, so that what it makes can be
/// restored: that version may be the one looked at, or one pushed since, while somebody looked, which rests on the same
/// packs.
///
/// Remembered by this machine alone, each on lines of its own: its hexadecimal id, `structure` where a look at that
/// showed it, and `at <place>`, and behind all of them a hash (`CheckedLines`); until a version is pushed there that rests
/// on none of them, or they are restored, read, or looked at as hard, after all. Which of their packs are damaged a check
/// or a repair finds out (`DamagedPacks`).
package struct DoubtedVersions: Sendable {
  /// What proves that they are whole again.
  private var proofs: [PlacedVersion: HarmedVersions.Proof] = [:]
  private let place: StorePlace?
  private let path: String

  private static let placeKey = "at "

  /// - Parameter place: what was found elsewhere is passed over, and stays; `nil` to ask for all.
  /// - Throws: `.stateFolder` when there may be some that cannot be read, or they are spoilt: to build on those would be no better.
  package init(of chain: ChainID, in state: StateFolder, at place: StorePlace? = nil) throws(RepositoryError) {
    self.place = place
    path = "\(state.path)/\(chain.hex)/doubted"
    var lines: [(id: Digest, proof: HarmedVersions.Proof, place: String?)] = []
    for line in try CheckedLines.read(path) {
      if let id = Layout.digest(line) {
        lines.append((id: id, proof: .content, place: nil))
      } else if !lines.isEmpty, let proof = HarmedVersions.Proof(rawValue: String(line)) {
        lines[lines.count - 1].proof = proof
      } else if !lines.isEmpty, let place = Self.placeName(line) {
        lines[lines.count - 1].place = place
      } else {
        throw CheckedLines.spoilt(path)
      }
    }
    for line in lines { proofs[PlacedVersion(version: line.id, place: line.place)] = line.proof }
  }

  private static func placeName(_ line: Substring) -> String? {
    let name = line.dropFirst(placeKey.count)
    return line.hasPrefix(placeKey) && StorePlace.isName(name) ? String(name) : nil
  }

  package var isEmpty: Bool { here.isEmpty }

  package func contains(_ version: Digest) -> Bool {
    PlacedVersion.all(of: version, at: place, among: proofs.keys).contains { proofs[$0] != nil }
  }

  private var here: [PlacedVersion] { proofs.keys.filter { $0.holds(at: place) } }

  /// Durable when it returns. Where all of a version is to be read, another look at the structure changes nothing.
  /// - Parameter proof: what takes the doubt back.
  /// - Throws: `.stateFolder`.
  package mutating func add(
    _ version: Digest, until proof: HarmedVersions.Proof = .content, of chain: ChainID, in state: StateFolder
  ) throws(RepositoryError) {
    let key = PlacedVersion(version: version, place: place?.name)
    let known = proofs[key]
    guard known != proof, known != .content else { return }
    proofs[key] = proof
    _ = try state.folder(of: chain)
    try write()
  }

  /// What was found elsewhere counts here, too. Durable when it returns.
  /// - Returns: whether there was any.
  /// - Throws: `.stateFolder`.
  mutating func takeAlong() throws(RepositoryError) -> Bool {
    var all = proofs
    for (found, proof) in proofs where !found.holds(at: place) {
      let key = PlacedVersion(version: found.version, place: place?.name)
      if all[key] != .content { all[key] = proof }
    }
    guard all != proofs else { return false }
    proofs = all
    try write()
    return true
  }

  /// They were restored after all, or seen to be whole, or a version was pushed that rests on none of them. A doubt that
  /// cannot be taken back costs a push that stores more than it needs.
  /// - Parameter proof: how they were looked at.
  package mutating func remove(_ versions: some Sequence<Digest>, seen proof: HarmedVersions.Proof = .content) {
    let keys = versions.flatMap { PlacedVersion.all(of: $0, at: place, among: proofs.keys) }
    drop(keys.filter { proofs[$0] == .structure || proof == .content })
  }

  private mutating func drop(_ keys: [PlacedVersion]) {
    var fewer = proofs
    for key in keys { fewer[key] = nil }
    guard fewer.count < proofs.count else { return }
    proofs = fewer
    if proofs.isEmpty { StateFiles.remove(path) } else { try? write() }
  }

  /// Takes back the doubts that were known when a push began, which took nothing for there; what was found meanwhile
  /// stays: the push may rest on it. At other places too: wherever this machine pushes to the chain from now on, its version
  /// comes before.
  static func settle(_ known: DoubtedVersions, of chain: ChainID, in state: StateFolder) {
    guard var now = try? DoubtedVersions(of: chain, in: state) else { return }
    let settled = Set(known.here.map(\.version))
    now.drop(now.proofs.keys.filter { settled.contains($0.version) })
  }

  private func write() throws(RepositoryError) {
    let lines = proofs.map { key, proof in
      let rest = [proof == .content ? nil : proof.rawValue, key.place.map { Self.placeKey + $0 }]
      return ([key.version.hex] + rest.compactMap { $0 }).joined(separator: "\n") + "\n"
    }
    try CheckedLines.write(lines.sorted().joined(), to: path)
  }
}
