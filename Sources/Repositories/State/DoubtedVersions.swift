package import Sealing

/// Newest versions of a chain that could not be restored when this machine drilled them, or that its check found harmed by
/// what is there. While there is one, a push takes
/// nothing of the version before it for there, so that what it makes can be restored: that version may be the one
/// looked at, or one pushed since, while somebody looked, which rests on the same packs.
///
/// Remembered by this machine alone, one hexadecimal id a line, and behind it a line `structure` where a look at that
/// showed it; until a version is pushed that rests on none of them, or they are restored, read, or looked at as hard,
/// after all. Which of their packs are damaged a check or a repair finds out (`DamagedPacks`).
package struct DoubtedVersions: Sendable {
  /// What proves that they are whole again.
  private var proofs: [Digest: HarmedVersions.Proof] = [:]
  private let path: String

  /// - Throws: `.stateFolder` when there may be some that cannot be read: to build on those would be no better.
  package init(of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    path = "\(state.path)/\(chain.hex)/doubted"
    let bytes = try StateFiles.read(path)
    var last: Digest?
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      if let id = Layout.digest(line) {
        proofs[id] = .content
        last = id
      } else if let id = last, let proof = HarmedVersions.Proof(rawValue: String(line)) {
        proofs[id] = proof
      }
    }
  }

  package var isEmpty: Bool { proofs.isEmpty }

  package func contains(_ version: Digest) -> Bool { proofs[version] != nil }

  /// Durable when it returns. Where all of a version is to be read, another look at the structure changes nothing.
  /// - Parameter proof: what takes the doubt back.
  /// - Throws: `.stateFolder`.
  package mutating func add(
    _ version: Digest, until proof: HarmedVersions.Proof = .content, of chain: ChainID, in state: StateFolder
  ) throws(RepositoryError) {
    let known = proofs[version]
    guard known != proof, known != .content else { return }
    proofs[version] = proof
    _ = try state.folder(of: chain)
    try write()
  }

  /// They were restored after all, or seen to be whole, or a version was pushed that rests on none of them. A doubt that
  /// cannot be taken back costs a push that stores more than it needs.
  /// - Parameter proof: how they were looked at.
  package mutating func remove(_ versions: some Sequence<Digest>, seen proof: HarmedVersions.Proof = .content) {
    var fewer = proofs
    for version in versions where fewer[version] == .structure || proof == .content { fewer[version] = nil }
    guard fewer.count < proofs.count else { return }
    proofs = fewer
    if proofs.isEmpty { StateFiles.remove(path) } else { try? write() }
  }

  /// Takes back the doubts that were known when a push began, which took nothing for there; what was found meanwhile
  /// stays: the push may rest on it.
  static func settle(_ known: DoubtedVersions, of chain: ChainID, in state: StateFolder) {
    guard var now = try? DoubtedVersions(of: chain, in: state) else { return }
    now.remove(known.proofs.keys)
  }

  private func write() throws(RepositoryError) {
    let lines = proofs.map { id, proof in id.hex + "\n" + (proof == .content ? "" : proof.rawValue + "\n") }
    try StateFiles.write(Array(lines.sorted().joined().utf8), to: path)
  }
}
