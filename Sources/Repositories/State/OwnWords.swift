import Sealing
import Storage

/// Objects that this machine stored and whose absence leaves no gap in a chain: words that take a tombstone back, and
/// versions that were written anew as a higher revision. A listing that leaves one out looks whole; only who stored it can
/// tell, so its prunes demand them.
///
/// An empty file in `<state>/<repository id>/<chain id>/words/` for each: `note-<name>` or `version-<version id>-<name>`,
/// hexadecimal.
struct OwnWords {
  /// By the hash that names them.
  private(set) var annotations: Set<Digest> = []
  /// The same of manifests, with the id of their version.
  private(set) var manifests: [Digest: Digest] = [:]
  private let folder: String

  init(of chain: ChainID, in state: StateFolder) {
    folder = Self.folder(of: chain, state)
    for name in StateFiles.names(in: folder) {
      let parts = name.split(separator: "-")
      guard let digest = parts.last.flatMap(Layout.digest) else { continue }
      if parts.count == 2, parts[0] == "note" { annotations.insert(digest) }
      if parts.count == 3, parts[0] == "version" { manifests[digest] = Layout.digest(parts[1]) }
    }
  }

  /// Where one of them is noted.
  func path(_ digest: Digest) -> String {
    "\(folder)/\(manifests[digest].map { Self.file(digest, of: $0) } ?? Self.file(annotation: digest))"
  }

  /// Durable when it returns. To be called when the annotation is stored.
  static func add(annotation digest: Digest, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    try add(file(annotation: digest), of: chain, in: state)
  }

  /// Durable when it returns. To be called when the manifest is stored, and safe: it takes the place of what was noted of
  /// its version before.
  static func add(_ manifest: StoredManifest, in state: StateFolder) throws(RepositoryError) {
    let (chain, digest) = (manifest.name.chain, manifest.name.digest)
    try add(file(digest, of: manifest.id), of: chain, in: state)
    let known = OwnWords(of: chain, in: state)
    known.forget(manifests: known.manifests.filter { $0.value == manifest.id && $0.key != digest }.keys)
  }

  /// Nothing needs these manifests any more.
  func forget(manifests gone: some Sequence<Digest>) {
    for digest in gone where manifests[digest] != nil { StateFiles.remove(path(digest)) }
  }

  private static func add(
    _ file: String, of chain: ChainID, in state: StateFolder
  ) throws(RepositoryError) {
    let folder = folder(of: chain, state)
    try StateFiles.makeFolder(folder)
    try StateFiles.write([], to: "\(folder)/\(file)")
  }

  private static func folder(of chain: ChainID, _ state: StateFolder) -> String {
    "\(state.path)/\(chain.hex)/words"
  }

  private static func file(annotation digest: Digest) -> String { "note-\(digest.hex)" }
  private static func file(_ digest: Digest, of version: Digest) -> String { "version-\(version.hex)-\(digest.hex)" }
}
