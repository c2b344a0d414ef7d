package import Sealing
import Storage

/// The packs that a running push has stored: after a kill, the next push finds them here and sends them no second time.
///
/// One line per pack, the hexadecimal pack entry (`Docs/Format.md` §7.3), replaced whole each time. It gives no
/// protection against a prune elsewhere; the check before every acknowledgement does that.
package final class PushJournal: Sendable {
  private let path: String
  private let held: Locked<[PackEntry]>

  package init(_ chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    path = try state.folder(of: chain) + "/journal"
    let text = try StateFiles.read(path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    held = Locked(
      text.split(separator: "\n").compactMap { line in
        Hex.decode(line).flatMap { try? PackEntry(decoding: $0) }
      })
  }

  package var entries: [PackEntry] { held.withLock { $0 } }

  /// Durable when it returns.
  package func add(_ entry: PackEntry) throws(RepositoryError) {
    try held.withLock { (entries) throws(RepositoryError) in
      entries.append(entry)
      let text = entries.map { Hex.encode($0.encode()) + "\n" }.joined()
      try StateFiles.write(Array(text.utf8), to: path)
    }
  }

  /// The push has ended: acknowledged, and its mark is durable.
  package func clear() {
    held.withLock { $0 = [] }
    StateFiles.remove(path)
  }
}
