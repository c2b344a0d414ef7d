import Sealing

/// Tombstones of this machine over lost versions, behind which it has not looked yet: a repair may have saved one of them
/// at the same moment, and been told that it is safe.
///
/// An empty file in `<state>/<repository id>/<chain id>/given-up/` for each, called like the tombstone, hexadecimal.
struct OpenTombstones {
  let names: Set<Digest>
  private let folder: String

  /// - Throws: `.stateFolder` where they cannot be read.
  init(of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    folder = Self.folder(of: chain, state)
    names = Set(try StateFiles.everyName(in: folder).compactMap { Layout.digest(Substring($0)) })
  }

  /// Durable when it returns. To be called before the tombstone is stored.
  static func add(_ tombstone: Digest, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    let folder = folder(of: chain, state)
    try StateFiles.makeFolder(folder)
    try StateFiles.write([], to: "\(folder)/\(tombstone.hex)")
  }

  /// What they cover was looked for.
  func close(_ tombstones: Set<Digest>) {
    for name in tombstones { StateFiles.remove("\(folder)/\(name.hex)") }
  }

  private static func folder(of chain: ChainID, _ state: StateFolder) -> String {
    "\(state.path)/\(chain.hex)/given-up"
  }
}
