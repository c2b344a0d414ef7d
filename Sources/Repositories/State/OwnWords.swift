import Sealing
import Storage

/// Objects that this machine stored and whose absence leaves no gap in a chain: words that take a tombstone back, words
/// that decide what stays, and versions that were written anew as a higher revision. A listing that leaves one out looks
/// whole; only who stored it can tell, so whoever reads a version, forgets or prunes here demands what matters to that.
///
/// An empty file in `<state>/<repository id>/<chain id>/words/` for each: `note-<name>`, `stay-<name>` or
/// `version-<version id>-<name>`, hexadecimal.
struct OwnWords {
  /// Words that take a tombstone back, by the hash that names them.
  private(set) var annotations: Set<Digest> = []
  /// The same of those that pin, tag, or say what was found damaged.
  private(set) var deciding: Set<Digest> = []
  /// The same of manifests, with the id of their version.
  private(set) var manifests: [Digest: Digest] = [:]
  private let chain: ChainID
  private let folder: String

  /// - Throws: `.stateFolder` where they cannot be read: then nobody knows what matters.
  init(of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    self.chain = chain
    folder = Self.folder(of: chain, state)
    for name in try StateFiles.everyName(in: folder) {
      let parts = name.split(separator: "-")
      guard let digest = parts.last.flatMap(Layout.digest) else { continue }
      if parts.count == 2, parts[0] == "note" { annotations.insert(digest) }
      if parts.count == 2, parts[0] == "stay" { deciding.insert(digest) }
      if parts.count == 3, parts[0] == "version" { manifests[digest] = Layout.digest(parts[1]) }
    }
  }

  /// Where one of them is noted.
  func path(_ digest: Digest) -> String {
    if let version = manifests[digest] { return "\(folder)/\(Self.file(digest, of: version))" }
    return "\(folder)/\(deciding.contains(digest) ? Self.file(deciding: digest) : Self.file(annotation: digest))"
  }

  /// - Parameter notes: of the chain, as a listing showed them.
  /// - Throws: `.hole` for a word that takes a tombstone back and is not listed.
  func demandTakenBack(among notes: RecordListing) throws(RepositoryError) {
    try demand(annotations, among: notes, "takes a version back", sayAgain: "say it again with `sealift unforget`")
  }

  /// - Parameter notes: of the chain, as a listing showed them.
  /// - Throws: `.hole` for any word that is not listed.
  func demandAll(among notes: RecordListing) throws(RepositoryError) {
    try demandTakenBack(among: notes)
    try demand(
      deciding, among: notes, "says what stays (a pin, a tag, or that something was found damaged)",
      sayAgain: "say it again with `sealift pin` or `tag`; what was found damaged a `drill` or `repair` says")
  }

  /// Nobody deletes an annotation.
  private func demand(
    _ words: Set<Digest>, among notes: RecordListing, _ purpose: String, sayAgain: String
  ) throws(RepositoryError) {
    let listed = notes.names(below: Layout.annotations(of: chain)).map(\.digest)
    guard let lost = words.subtracting(listed).min(by: { $0.hex < $1.hex }) else { return }
    throw RepositoryError(
      .hole,
      "a word of this machine that \(purpose), in chain \(chain.hex.prefix(12)) (\(lost.hex.prefix(12))), is not listed",
      hint:
        "The listing was short, or the target lost it. Nothing was deleted. Where it stays away, \(sayAgain), and then accept the loss of the old word: rm '\(path(lost))'"
    )
  }

  /// Durable when it returns. To be called when the annotation is stored.
  static func add(annotation digest: Digest, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    try add(file(annotation: digest), of: chain, in: state)
  }

  /// The same of one that decides what stays.
  static func add(deciding digest: Digest, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    try add(file(deciding: digest), of: chain, in: state)
  }

  /// Durable when it returns. To be called when the manifest is stored, and safe: it takes the place of what was noted of
  /// its version before.
  static func add(_ manifest: StoredManifest, in state: StateFolder) throws(RepositoryError) {
    let (chain, digest) = (manifest.name.chain, manifest.name.digest)
    try add(file(digest, of: manifest.id), of: chain, in: state)
    let known = try OwnWords(of: chain, in: state)
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
  private static func file(deciding digest: Digest) -> String { "stay-\(digest.hex)" }
  private static func file(_ digest: Digest, of version: Digest) -> String { "version-\(version.hex)-\(digest.hex)" }
}
