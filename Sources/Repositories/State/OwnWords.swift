import Sealing
import Storage

/// Objects whose absence leaves no gap in a chain: words that take a tombstone back, words that decide what stays, and
/// versions that were written anew as a higher revision. A listing that leaves one out looks whole; only who stored it, or
/// has read it, can tell, so whoever reads a version, forgets or prunes here demands what matters to that.
///
/// In `<state>/<repository id>/<chain id>/words/` there is a file for each that this machine stored: `note-<name>` or
/// `stay-<name>`, which holds the id of its version and what it says (earlier builds left it empty), or an empty
/// `version-<version id>-<name>`. Names and ids are hexadecimal. What it has read is in one file, `seen`: each a line, which
/// begins with what a file of its own would be called.
struct OwnWords {
  /// What was said of a version.
  struct Word: Sendable {
    enum Kind: String, Sendable {
      /// It takes a tombstone back.
      case note
      /// It pins, tags, or says what was found damaged.
      case stay
    }

    let kind: Kind
    /// The hash that names its annotation.
    let name: Digest
    /// The id of its version, and what it says, in one line.
    let meaning: String

    var file: String { "\(kind.rawValue)-\(name.hex)" }
  }

  /// So many are noted that were only read: of a longer file nothing could be read at once.
  private static let mostSeen = 100_000
  /// So many are named in an error.
  private static let mostNamed = 50

  /// Manifests that this machine stored, with the id of their version.
  private(set) var manifests: [Digest: Digest] = [:]
  /// Words that it stored: what they say is read where somebody asks.
  private var own: [Word] = []
  /// Words that it has read.
  private let seen: [Word]
  private let chain: ChainID
  private let folder: String

  /// - Throws: `.stateFolder` where they cannot be read: then nobody knows what matters.
  init(of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    self.chain = chain
    folder = Self.folder(of: chain, state)
    let (lines, names) = try Self.content(of: folder)
    seen = String(decoding: lines, as: UTF8.self).split(separator: "\n").compactMap { Word(line: $0) }
    for name in names.sorted() {
      let parts = name.split(separator: "-")
      if parts.count == 3, parts[0] == "version", let digest = Layout.digest(parts[2]) {
        manifests[digest] = Layout.digest(parts[1])
      } else if let word = Word(line: Substring(name)) {
        own.append(word)
      }
    }
  }

  /// - Returns: the file of what was read, and what every file is called.
  private static func content(of folder: String) throws(RepositoryError) -> (seen: [UInt8], names: [String]) {
    var path = "\(folder)/\(seenFile)"
    do throws(RepositoryError) {
      let seen = try StateFiles.read(path) ?? []
      path = folder
      return (seen, try StateFiles.everyName(in: folder))
    } catch {
      throw RepositoryError(.stateFolder, error.message, hint: StateFiles.wayOut(of: path), cause: error)
    }
  }

  /// Where a manifest is noted.
  func path(_ manifest: Digest) -> String? {
    manifests[manifest].map { "\(folder)/\(Self.file(manifest, of: $0))" }
  }

  // MARK: demanding

  /// - Parameter notes: of the chain, as a listing showed them.
  /// - Throws: `.hole` for words that take a tombstone back and are not listed.
  func demandTakenBack(among notes: RecordListing) throws(RepositoryError) {
    try demand([.note], among: notes)
  }

  /// - Parameter notes: of the chain, as a listing showed them.
  /// - Throws: `.hole` for any words that are not listed.
  func demandAll(among notes: RecordListing) throws(RepositoryError) {
    try demand([.note, .stay], among: notes)
  }

  /// Versions that were found damaged, by words that are not listed.
  /// - Parameter notes: of the chain, as a listing showed them.
  func damageMissed(among notes: RecordListing) -> Set<Digest> {
    guard !own.isEmpty || !seen.isEmpty else { return [] }
    let listed = Set(notes.names(below: Layout.annotations(of: chain)).map(\.digest))
    let isLost = { (word: Word) in word.kind == .stay && !listed.contains(word.name) }
    return Set((own.filter(isLost).map(filled) + seen.filter(isLost)).compactMap(\.damagedVersion))
  }

  /// Nobody deletes an annotation.
  private func demand(_ kinds: Set<Word.Kind>, among notes: RecordListing) throws(RepositoryError) {
    guard !own.isEmpty || !seen.isEmpty else { return }
    let listed = Set(notes.names(below: Layout.annotations(of: chain)).map(\.digest))
    let isLost = { (word: Word) in kinds.contains(word.kind) && !listed.contains(word.name) }
    let (stored, read) = (own.filter(isLost), seen.filter(isLost))
    guard !stored.isEmpty || !read.isEmpty else { return }
    throw missing(stored, read)
  }

  /// Who has to say them again needs to know of which versions; and one line accepts all of it, unless that is very much.
  private func missing(_ stored: [Word], _ read: [Word]) -> RepositoryError {
    let files = Set(stored.map(\.file))
    let lost = stored.prefix(Self.mostNamed).map(filled) + read.filter { !files.contains($0.file) }
    let named = lost.prefix(Self.mostNamed).map(\.words).joined(separator: ", ")
    let count = stored.count + read.count { !files.contains($0.file) }
    let more = count > Self.mostNamed ? ", and \(count - Self.mostNamed) more" : ""
    // One command line cannot be of any length.
    let isPart = stored.count > Self.mostNamed
    let part = isPart ? ", \(Self.mostNamed) at a time (when run again, this command names the rest)" : ""
    let paths = stored.prefix(Self.mostNamed).map(\.file) + (read.isEmpty ? [] : [Self.seenFile])
    return RepositoryError(
      .hole,
      "what this machine has said of versions of chain \(chain.hex.prefix(12)), or has read of them, is not listed: \(named)\(more)",
      hint:
        "The listing was short, or the target lost it. Nothing was deleted. Where it stays away, say it again of versions that are to stay (`sealift unforget`, `pin`, `tag`; what was found damaged a `drill` or `repair` says), and then accept the loss of the old words\(part): rm \(paths.map { "'\(folder)/\($0)'" }.joined(separator: " "))"
    )
  }

  private func filled(_ word: Word) -> Word {
    let bytes = (try? StateFiles.read("\(folder)/\(word.file)")) ?? []
    return Word(kind: word.kind, name: word.name, meaning: String(decoding: bytes, as: UTF8.self))
  }

  // MARK: noting

  /// Durable when it returns. To be called when the annotation is stored.
  static func add(_ word: Word, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    try add(word.file, word.meaning, of: chain, in: state)
  }

  /// Who reads has seen. Nothing is written where all of them are known.
  /// - Parameter words: that were read of the chain, and are genuine.
  static func see(_ words: [Word], of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    guard !words.isEmpty else { return }
    let known = try OwnWords(of: chain, in: state)
    let files = Set((known.own + known.seen).map(\.file))
    let fresh = words.filter { !files.contains($0.file) }.prefix(max(0, mostSeen - known.seen.count))
    guard !fresh.isEmpty else { return }
    let lines = (known.seen + fresh).map { "\($0.file) \($0.meaning)\n" }
    try add(seenFile, lines.joined(), of: chain, in: state)
  }

  /// Durable when it returns. To be called when the manifest is stored, and safe: it takes the place of what was noted of
  /// its version before.
  static func add(_ manifest: StoredManifest, in state: StateFolder) throws(RepositoryError) {
    let (chain, digest) = (manifest.name.chain, manifest.name.digest)
    try add(file(digest, of: manifest.id), "", of: chain, in: state)
    let known = try OwnWords(of: chain, in: state)
    known.forget(manifests: known.manifests.filter { $0.value == manifest.id && $0.key != digest }.keys)
  }

  /// Nothing needs these manifests any more.
  func forget(manifests gone: some Sequence<Digest>) {
    for path in gone.compactMap({ path($0) }) { StateFiles.remove(path) }
  }

  private static func add(
    _ file: String, _ content: String, of chain: ChainID, in state: StateFolder
  ) throws(RepositoryError) {
    let folder = folder(of: chain, state)
    try StateFiles.makeFolder(folder)
    try StateFiles.write(Array(content.utf8), to: "\(folder)/\(file)")
  }

  private static let seenFile = "seen"

  private static func folder(of chain: ChainID, _ state: StateFolder) -> String {
    "\(state.path)/\(chain.hex)/words"
  }

  private static func file(_ digest: Digest, of version: Digest) -> String { "version-\(version.hex)-\(digest.hex)" }
}

extension OwnWords.Word {
  /// A tag may be as long as an object.
  private static let longest = 100

  /// - Parameter text: what it says.
  init(_ kind: Kind, _ name: Digest, of version: Digest, _ text: String) {
    var line = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(Self.longest) { line.append(scalar.value < 0x20 ? " " : scalar) }
    self.init(kind: kind, name: name, meaning: "\(version.hex) \(String(line))")
  }

  /// - Parameter line: what a file of it is called, and what that holds.
  fileprivate init?(line: Substring) {
    let parts = line.split(separator: " ", maxSplits: 1)
    let words = parts.first?.split(separator: "-") ?? []
    guard words.count == 2, let kind = Kind(rawValue: String(words[0])), let name = Layout.digest(words[1]) else {
      return nil
    }
    self.init(kind: kind, name: name, meaning: parts.count == 2 ? String(parts[1]) : "")
  }

  /// What a word says of a version that was found damaged, perhaps beside others.
  static let foundDamaged = "found damaged"

  /// The version, where it says so.
  fileprivate var damagedVersion: Digest? {
    let parts = meaning.split(separator: " ", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    let says = parts[1].split(separator: ",").map { $0.drop { $0 == " " } }
    return says.contains { $0 == Self.foundDamaged } ? Layout.digest(parts[0]) : nil
  }

  /// For people.
  fileprivate var words: String {
    let parts = meaning.split(separator: " ", maxSplits: 1)
    guard parts.count == 2 else { return "a word of an earlier build (\(name.hex.prefix(12)))" }
    return "\(parts[1]) (version \(parts[0].prefix(12)))"
  }
}
