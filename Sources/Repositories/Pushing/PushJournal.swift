package import Sealing
import Storage

/// The packs that a running push, or a repair, has stored: after a kill, the next one finds them here and sends them no
/// second time.
///
/// One line per pack, the hexadecimal pack entry (`Docs/Format.md` §7.3), added when the pack is stored: what it costs
/// grows with the push, not with its square. Lines that are no entry, cut ones above all, are passed over. It gives no
/// protection against a prune elsewhere; the check before every acknowledgement does that.
package final class PushJournal: Sendable {
  private let path: String
  /// What a push that was cut has left.
  package let entries: [PackEntry]
  /// Two packs are under way at once: their lines are added one after the other.
  private let writing = Locked<Void>(())

  package init(_ chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    path = try state.folder(of: chain) + "/journal"
    var entries: [PackEntry] = []
    try StateFiles.readLines(of: path, longest: 2 * PackEntry.length) { line in
      let bytes = Hex.decode(String(decoding: line, as: UTF8.self))
      if let entry = bytes.flatMap({ try? PackEntry(decoding: $0) }) { entries.append(entry) }
    }
    self.entries = entries
  }

  /// Durable when it returns.
  package func add(_ entry: PackEntry) throws(RepositoryError) {
    let line = Hex.encode(entry.encode())
    try writing.withLock { (_: inout Void) throws(RepositoryError) in
      try StateFiles.append(lines: [line], to: path)
    }
  }

  /// The push has ended: acknowledged, and its mark is durable.
  package func clear() { StateFiles.remove(path) }
}
