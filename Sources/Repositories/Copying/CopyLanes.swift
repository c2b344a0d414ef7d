package import Sealing

/// Which chain of another repository a copy belongs to.
///
/// A copy continues the chain of its database as long as it is younger than all that is there: then a host that pushes
/// there next goes on from it. An older one must not come after a younger one, or the end of the chain would not be the
/// newest version: it goes to a chain beside it, a *lane*, whose fork number says so.
package struct CopyLanes: Sendable {
  /// Fork numbers that people give stay below this; what is above counts lanes.
  private static let step: UInt32 = 1 << 20
  private static let most: UInt32 = 64
  /// Fork numbers that are looked for in the repository that is copied from.
  private static let knownForks: UInt32 = 256

  private let keyring: Keyring
  /// By chain, the time of its newest version.
  private var newest: [ChainID: UInt64] = [:]

  package init(_ keyring: Keyring) { self.keyring = keyring }

  /// Takes note of a version that is there, or is there now.
  package mutating func add(_ chain: ChainID, time: UInt64) { newest[chain] = max(newest[chain] ?? 0, time) }

  /// The chain that a copy of a version goes to, and its fork number.
  /// - Throws: `.conflict` when nothing fits.
  package func place(
    host: String, database: String, fork: UInt32, time: UInt64
  ) throws(RepositoryError) -> (chain: ChainID, fork: UInt32) {
    for lane in 0..<Self.most {
      let number = fork % Self.step + lane * Self.step
      let chain = keyring.chainID(host: host, database: database, fork: number)
      if newest[chain].map({ $0 < time }) ?? true { return (chain, number) }
    }
    throw RepositoryError(
      .conflict, "'\(database)' was copied in \(Self.most) different orders already",
      hint: "Copy it to a repository of its own.")
  }

  /// The fork number that a chain was made with, as far as it can be found out; 0 else.
  package static func fork(of chain: ChainID, host: String, database: String, _ keyring: Keyring) -> UInt32 {
    for lane in 0..<most {
      for fork in 0..<knownForks
      where keyring.chainID(host: host, database: database, fork: fork + lane * step) == chain {
        return fork
      }
    }
    return 0
  }
}
