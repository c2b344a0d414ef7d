package import Sealing

/// Versions of a chain that a check on this machine found harmed, until one finds them whole, or a repair or a drill has
/// all of their content. `status` tells of them each day, and to `forget` none takes another's place.
///
/// Beside `DoubtedVersions`, which a push settles: what it makes rests on none of them, and they are harmed all the same.
/// One a line: the hexadecimal id, and what proves that it is whole again.
package struct HarmedVersions: Sendable {
  package enum Proof: String, Sendable {
    /// What is there, in which length, and how it hangs together: every check looks at that.
    case structure
    /// All that it consists of was read.
    case content
  }

  private var proofs: [Digest: Proof] = [:]
  private let path: String

  /// - Throws: `.stateFolder` when there may be some that cannot be read.
  package init(of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    path = "\(state.path)/\(chain.hex)/harmed"
    let bytes = try StateFiles.read(path)
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard let word = words.first, let id = Layout.digest(word) else { continue }
      proofs[id] = words.last.flatMap { Proof(rawValue: String($0)) } ?? .content
    }
  }

  package func contains(_ version: Digest) -> Bool { proofs[version] != nil }

  /// Durable when it returns. Where a version needs all to be read, another look at the structure changes nothing.
  /// - Throws: `.stateFolder`.
  package mutating func add(
    _ found: [Digest: Proof], of chain: ChainID, in state: StateFolder
  ) throws(RepositoryError) {
    let all = proofs.merging(found) { known, new in known == .content ? known : new }
    guard all != proofs else { return }
    proofs = all
    _ = try state.folder(of: chain)
    try write()
  }

  /// They were seen to be whole. What cannot be taken back is told until it can.
  /// - Parameter proof: how they were looked at.
  package mutating func remove(_ versions: some Sequence<Digest>, seen proof: Proof = .content) {
    var fewer = proofs
    for version in versions where proof == .content || fewer[version] == .structure { fewer[version] = nil }
    guard fewer.count < proofs.count else { return }
    proofs = fewer
    if proofs.isEmpty { StateFiles.remove(path) } else { try? write() }
  }

  private func write() throws(RepositoryError) {
    let lines = proofs.map { "\($0.key.hex) \($0.value.rawValue)\n" }
    try StateFiles.write(Array(lines.sorted().joined().utf8), to: path)
  }
}
