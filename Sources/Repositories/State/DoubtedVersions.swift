package import Sealing

/// Newest versions of a chain that could not be restored when this machine drilled them, or that its check found harmed by
/// what is there. While there is one, a push takes
/// nothing of the version before it for there, so that what it makes can be restored: that version may be the one
/// looked at, or one pushed since, while somebody looked, which rests on the same packs.
///
/// Remembered by this machine alone, one hexadecimal id a line, until a version is pushed that rests on none of them, or
/// they are restored, or read, after all. Which of their packs are damaged a check or a repair finds out (`DamagedPacks`).
package struct DoubtedVersions: Sendable {
  private var ids: Set<Digest> = []
  private let path: String

  /// - Throws: `.stateFolder` when there may be some that cannot be read: to build on those would be no better.
  package init(of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    path = "\(state.path)/\(chain.hex)/doubted"
    let bytes = try StateFiles.read(path)
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      if let id = Layout.digest(line) { ids.insert(id) }
    }
  }

  package var isEmpty: Bool { ids.isEmpty }

  package func contains(_ version: Digest) -> Bool { ids.contains(version) }

  /// Durable when it returns.
  /// - Throws: `.stateFolder`.
  package mutating func add(_ version: Digest, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    guard ids.insert(version).inserted else { return }
    _ = try state.folder(of: chain)
    try write()
  }

  /// They were restored after all, or a version was pushed that rests on none of them. A doubt that cannot be taken back
  /// costs a push that stores more than it needs.
  package mutating func remove(_ versions: some Sequence<Digest>) {
    let fewer = ids.subtracting(versions)
    guard fewer.count < ids.count else { return }
    ids = fewer
    if ids.isEmpty { StateFiles.remove(path) } else { try? write() }
  }

  /// Takes back the doubts that were known when a push began, which took nothing for there; what was found meanwhile
  /// stays: the push may rest on it.
  static func settle(_ known: DoubtedVersions, of chain: ChainID, in state: StateFolder) {
    guard var now = try? DoubtedVersions(of: chain, in: state) else { return }
    now.remove(known.ids)
  }

  private func write() throws(RepositoryError) {
    try StateFiles.write(Array(ids.map { $0.hex + "\n" }.sorted().joined().utf8), to: path)
  }
}
