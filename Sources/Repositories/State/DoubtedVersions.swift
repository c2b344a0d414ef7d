package import Sealing

/// Versions of a chain that could not be restored when this machine drilled them: a push takes nothing of them for
/// there, so that what it makes can be restored.
///
/// Remembered by this machine alone, one hexadecimal id a line, until a version is pushed after them, or they are
/// restored after all. Which of their packs are damaged only a repair finds out (`DamagedPacks`).
package struct DoubtedVersions: Sendable {
  private var ids: Set<Digest> = []
  private let path: String

  package init(of chain: ChainID, in state: StateFolder) {
    path = "\(state.path)/\(chain.hex)/doubted"
    let bytes = try? StateFiles.read(path)
    for line in String(decoding: (bytes ?? nil) ?? [], as: UTF8.self).split(separator: "\n") {
      if let id = Layout.digest(line) { ids.insert(id) }
    }
  }

  package func contains(_ version: Digest) -> Bool { ids.contains(version) }

  /// Durable when it returns.
  /// - Throws: `.stateFolder`.
  package mutating func add(_ version: Digest, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    guard ids.insert(version).inserted else { return }
    _ = try state.folder(of: chain)
    try write()
  }

  /// It was restored after all. A doubt that cannot be taken back costs a push that stores more than it needs.
  package mutating func remove(_ version: Digest) {
    guard ids.remove(version) != nil else { return }
    if ids.isEmpty { clear() } else { try? write() }
  }

  /// A version was pushed that rests on none of them.
  func clear() { StateFiles.remove(path) }

  private func write() throws(RepositoryError) {
    try StateFiles.write(Array(ids.map { $0.hex + "\n" }.sorted().joined().utf8), to: path)
  }
}
