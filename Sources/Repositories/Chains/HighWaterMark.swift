import FoundationEssentials
package import Sealing

/// The newest version of a chain that this machine pushed or accepted. It only rises, so that a target that loses
/// versions, or puts an older state back, is noticed.
package struct HighWaterMark: Codable, Sendable, Equatable {
  package var sequence: UInt64
  /// Hexadecimal core hash of that version: its id.
  package var id: String

  package init(sequence: UInt64, id: Digest) {
    self.sequence = sequence
    self.id = id.hex
  }

  /// The mark, or `nil` when this machine has not seen the chain (or its state was lost).
  package static func read(_ chain: ChainID, in state: StateFolder) throws(RepositoryError) -> HighWaterMark? {
    guard let bytes = try StateFiles.read(path(chain.hex, in: state)) else { return nil }
    return try? JSONDecoder().decode(HighWaterMark.self, from: Data(bytes))
  }

  static func path(_ chain: String, in state: StateFolder) -> String { "\(state.path)/\(chain)/mark.json" }

  /// Raises the mark of a chain that was only read. While a push holds the chain, it writes the mark itself.
  /// - Returns: false when the state folder cannot be written: then a later roll-back goes unnoticed.
  package func raise(_ chain: ChainID, in state: StateFolder) -> Bool {
    if let known = try? Self.read(chain, in: state), known.sequence >= sequence { return true }
    do {
      let lock = try ChainLock(chain, in: state)
      return try withExtendedLifetime(lock) {
        let known = try? Self.read(chain, in: state)
        if known.map({ $0.sequence < sequence }) ?? true { try write(chain, in: state) }
        return true
      }
    } catch {
      return (error as? RepositoryError)?.code == .locked
    }
  }

  /// Durable when it returns.
  package func write(_ chain: ChainID, in state: StateFolder) throws {
    try StateFiles.write([UInt8](JSONEncoder().encode(self)), to: "\(state.folder(of: chain))/mark.json")
  }
}

extension StateFolder {
  /// Chains that this machine has a mark of, and of which the target shows nothing.
  /// - Parameters:
  ///   - shown: the chains that it shows.
  ///   - wanted: only of these; `nil` is all.
  package func vanishedChains(shown: some Sequence<ChainID>, wanted: Set<ChainID>? = nil) -> [RepositoryError] {
    let shown = Set(shown.map(\.hex))
    let marked = markedChains().filter { chain in wanted?.contains { $0.hex == chain } ?? true }
    return marked.filter { !shown.contains($0) }.map { chain in
      RepositoryError(
        .rolledBack, "the target shows nothing of chain \(chain.prefix(12)), which this machine has seen there",
        hint:
          "Versions were deleted, an older state was put back there, or the listing was short. Nothing of that chain was deleted now. Find out what happened; to accept the loss: rm '\(HighWaterMark.path(chain, in: self))'"
      )
    }
  }
}
