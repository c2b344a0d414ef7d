package import Sealing

/// Packs of a chain that a check found damaged or missing: nothing is referred to in them any more, so that every push
/// stores anew what only they held.
///
/// Remembered by this machine, durably, one hexadecimal name a line, and in the last line `next <number>`; when that is
/// lost, the next repair finds them again.
package struct DamagedPacks: Sendable {
  private static let numberKey = "next "

  private(set) var names: Set<Digest> = []
  /// Above every pack number that a repair has given.
  private(set) var nextNumber: UInt32 = 1

  package init(of chain: ChainID, in state: StateFolder) {
    let bytes = try? StateFiles.read(Self.path(chain, state))
    for line in String(decoding: (bytes ?? nil) ?? [], as: UTF8.self).split(separator: "\n") {
      if let name = Layout.digest(line) { names.insert(name) }
      if line.hasPrefix(Self.numberKey), let number: UInt32 = Layout.number(line.dropFirst(Self.numberKey.count)) {
        nextNumber = number
      }
    }
  }

  func contains(_ pack: Digest) -> Bool { names.contains(pack) }

  /// Durable when it returns.
  /// - Throws: `.stateFolder`.
  package mutating func add(_ more: [Digest], of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    guard !names.isSuperset(of: more) else { return }
    names.formUnion(more)
    try write(chain, state)
  }

  /// - Throws: `.stateFolder`.
  mutating func raise(_ number: UInt32, of chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    guard number > nextNumber else { return }
    nextNumber = number
    try write(chain, state)
  }

  private func write(_ chain: ChainID, _ state: StateFolder) throws(RepositoryError) {
    let lines = names.map(\.hex).sorted() + ["\(Self.numberKey)\(nextNumber)"]
    let text = lines.map { $0 + "\n" }.joined()
    _ = try state.folder(of: chain)
    try StateFiles.write(Array(text.utf8), to: Self.path(chain, state))
  }

  private static func path(_ chain: ChainID, _ state: StateFolder) -> String { "\(state.path)/\(chain.hex)/damaged" }
}
