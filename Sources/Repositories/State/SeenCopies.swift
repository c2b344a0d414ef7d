import Glibc
package import Sealing

/// What `copy` has seen standing in one chain of a repository that it copies to, whole and sound: by place, which version
/// it was, and of what it is a copy. Once a prune has taken it nothing at the target tells that, and the next copy would
/// bring back what was forgotten there (`Docs/Decisions/0013`).
///
/// One file `<state>/<repository id>/<chain id>/copies`: a line `<place> <id> <what it is a copy of> <check>` for each, all
/// but the place hexadecimal; the last line of a place counts. Those that are not as they were written, cut ones above all,
/// are passed over. What is lost of it costs a second copy; so does what two copies at once write over one another.
package struct SeenCopies: Sendable {
  package struct Copy: Sendable, Equatable {
    package let sequence: UInt64
    /// Of the version that stood there.
    package let id: Digest
    /// What it and the version that it is a copy of have in common.
    package let identity: Digest

    package init(sequence: UInt64, id: Digest, identity: Digest) {
      (self.sequence, self.id, self.identity) = (sequence, id, identity)
    }
  }

  private let chain: ChainID
  private let state: StateFolder
  /// So many are remembered.
  private let most: Int
  private var known: [UInt64: Copy]
  /// Of the file.
  private var lines: Int
  /// Known, and not written yet.
  private var fresh: [Copy] = []
  /// Something in the file does not hold any more.
  private var isOutdated = false

  /// - Parameter most: so many are remembered; of more those in front go.
  package init(of chain: ChainID, in state: StateFolder, most: Int = 100_000) {
    (self.chain, self.state, self.most) = (chain, state, most)
    var held: [UInt64: Copy] = [:]
    var count = 0
    do {
      try StateFiles.readLines(of: "\(state.path)/\(chain.hex)/\(Self.file)", longest: Self.longestLine) { line in
        count += 1
        if let copy = Copy(line: line, of: chain) { held[copy.sequence] = copy }
      }
    } catch {
      // What cannot be read is as lost.
      (held, count) = ([:], 0)
    }
    (known, lines) = (held, count)
  }

  package var all: [Copy] { Array(known.values) }

  package mutating func see(_ copy: Copy) {
    let before = known.updateValue(copy, forKey: copy.sequence)
    guard before != copy else { return }
    if before != nil { isOutdated = true }
    fresh.append(copy)
  }

  package mutating func drop(_ sequence: UInt64) {
    if known.removeValue(forKey: sequence) != nil { isOutdated = true }
  }

  /// If that is what stood at its place last.
  package mutating func drop(_ copy: Copy) {
    if known[copy.sequence] == copy { drop(copy.sequence) }
  }

  /// Best effort: a machine that cannot remember is as a new one.
  /// - Returns: false where it cannot be written.
  package mutating func write() -> Bool {
    guard isOutdated || !fresh.isEmpty else { return true }
    do {
      let folder = try state.folder(of: chain)
      let path = "\(folder)/\(Self.file)"
      if isOutdated || lines + fresh.count > most {
        let held = known.values.sorted { $0.sequence < $1.sequence }
        // With room, so that not each version that comes has all of them written anew.
        let kept = held.count > most ? held.suffix(most - most / 4) : held[...]
        try StateFiles.write(Array(kept.map { "\($0.line(of: chain))\n" }.joined().utf8), to: path)
        lines = kept.count
      } else {
        try StateFiles.append(lines: fresh.map { $0.line(of: chain) }, to: path)
        lines += fresh.count
      }
      (fresh, isOutdated) = ([], false)
      return true
    } catch {
      return false
    }
  }

  static let file = "copies"
  private static let longestLine = 200
}

extension SeenCopies.Copy {
  fileprivate init?(line: [UInt8], of chain: ChainID) {
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    guard words.count == 4, let sequence = UInt64(words[0]), let id = Layout.digest(words[1]),
      let identity = Layout.digest(words[2])
    else { return nil }
    self.init(sequence: sequence, id: id, identity: identity)
    guard words[3] == check(chain) else { return nil }
  }

  fileprivate func line(of chain: ChainID) -> String { "\(words) \(check(chain))" }

  private var words: String { "\(sequence) \(id.hex) \(identity.hex)" }

  /// A place that was spoilt would be another one, which may have been forgotten.
  private func check(_ chain: ChainID) -> String {
    String(Digest.sha256(of: Array("\(chain.hex) \(words)".utf8)).hex.prefix(16))
  }
}

extension StateFolder {
  /// The chains in which copies were seen.
  package func chainsWithCopies() -> [ChainID] {
    StateFiles.names(in: path).sorted().compactMap { ChainID(hex: $0) }.filter {
      access("\(path)/\($0.hex)/\(SeenCopies.file)", F_OK) == 0
    }
  }
}
