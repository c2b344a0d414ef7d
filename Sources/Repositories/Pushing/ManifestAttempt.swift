import Sealing
import Storage

/// The manifest of a version that this machine is about to store, or tried to: kept until a later version is acknowledged.
///
/// A `PUT` that failed may still arrive, whenever the network likes. The next push must not give the same place of the
/// chain to something else, so it settles first what became of this one (`ChainEnd.settled`).
///
/// One file: `open <object name>` or `given-up <object name>`, a newline, the sealed manifest.
struct ManifestAttempt: Sendable {
  private enum Fate: String {
    /// It may be stored again.
    case open
    /// Some of its packs are gone: a tombstone stands in its place, or is on its way there. It never counts as a version.
    case givenUp = "given-up"
  }

  let name: VersionName
  /// The sealed manifest.
  let bytes: [UInt8]
  private var fate = Fate.open

  var isGivenUp: Bool { fate == .givenUp }

  init(_ name: VersionName, _ bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }

  /// The last attempt, or `nil` when there is none, or its file is not what was written.
  /// - Throws: `.unsupported` for one that a later program noted in words of its own; `.stateFolder`.
  init?(of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    let limit = Limits.object + 4096
    guard let file = try StateFiles.read("\(state.path)/\(chain.hex)/attempt", limit: limit),
      let end = file.firstIndex(of: UInt8(ascii: "\n"))
    else { return nil }
    let words = String(decoding: file[..<end], as: UTF8.self).split(separator: " ").map(String.init)
    let bytes = Array(file[(end + 1)...])
    guard words.count == 2, let fate = Fate(rawValue: words[0]),
      let name = ObjectName(words[1]).flatMap({ VersionName($0) })
    else {
      try Self.demandNotLater(words, bytes)
      return nil
    }
    guard name.chain == chain, Digest.sha256(of: bytes) == name.digest else { return nil }
    self.name = name
    self.bytes = bytes
    self.fate = fate
  }

  /// A whole manifest below a line that names it, and that nobody here understands, is no spoilt file: written over, its
  /// place in the chain might be given to two versions.
  private static func demandNotLater(_ words: [String], _ bytes: [UInt8]) throws(RepositoryError) {
    let digest = Digest.sha256(of: bytes).hex
    guard words.contains(where: { $0.hasSuffix(digest) }) else { return }
    throw RepositoryError(
      .unsupported, "what became of the version that this machine tried to store last was noted by a newer sealift",
      hint: "Install a newer sealift.")
  }

  /// Durable when it returns.
  func write(in state: StateFolder) throws(RepositoryError) {
    let line = "\(fate.rawValue) \(name.objectName.text)\n"
    try StateFiles.write(Array(line.utf8) + bytes, to: state.folder(of: name.chain) + "/attempt")
  }

  /// Notes that no version may come of it any more. Durable when it returns.
  mutating func giveUp(in state: StateFolder) throws(RepositoryError) {
    guard !isGivenUp else { return }
    fate = .givenUp
    try write(in: state)
  }

  /// A later version is acknowledged: the place is settled.
  static func clear(of chain: ChainID, in state: StateFolder) {
    StateFiles.remove("\(state.path)/\(chain.hex)/attempt")
  }
}
