import Sealing
import Storage

/// The slot that opened a repository on this machine last: it is tried first (`Docs/Decisions/0022`).
///
/// To try a slot of a passphrase costs a second and 128 MiB. Whoever has several passphrases would pay for each of them at
/// every command, and whoever can write to the target could plant any number of them.
struct SlotMemory {
  private let state: StateFolder
  private var path: String { "\(state.path)/slot" }

  init(in state: StateFolder) { self.state = state }

  /// Only a hint: what it names must still be there, and open.
  var remembered: Digest? {
    guard let bytes = try? StateFiles.read(path, limit: 128) else { return nil }
    return Hex.decode(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)).flatMap { Digest($0) }
  }

  /// Best effort: a machine that cannot remember is as a new one.
  func remember(_ slot: Digest) {
    guard slot != remembered else { return }
    try? StateFiles.makeFolder(state.path)
    try? StateFiles.write(Array("\(slot.hex)\n".utf8), to: path, durably: false)
  }
}

extension Repository {
  /// Notes which slot opened, for `open(at:with:random:state:lackingFile:)` of the next time.
  package func rememberSlot(in state: StateFolder) { SlotMemory(in: state).remember(slot.digest) }
}
