package import Sealing

/// Which chain of another repository a copy belongs to.
///
/// A copy continues the chain of its database as long as it is younger than what is there: then a host that pushes
/// there next goes on from it. An older one must not come after a younger one, or the end of the chain would not be the
/// newest version: it goes to a chain beside it, a *lane*, whose fork number says so. Between copies of one chain its
/// order tells which is younger, between others their time: clocks go back, the order of a chain does not
/// (`Docs/Decisions/0013`).
package struct CopyLanes: Sendable {
  /// Where a version stands in the repository that is copied from.
  package struct Origin: Sendable {
    package let chain: ChainID
    package let sequence: UInt64

    package init(_ facts: VersionFacts) { (chain, sequence) = (facts.chain, facts.sequence) }
  }

  fileprivate struct End {
    /// Of the version with the latest time.
    var time: UInt64
    /// The same of those whose time has been.
    var believed: UInt64
    /// Of the last version; `nil`: it is no copy of what is copied now.
    var origin: Origin?
  }

  /// Fork numbers that people give stay below this; what is above counts lanes.
  private static let step: UInt32 = 1 << 20
  private static let most: UInt32 = 64
  /// Fork numbers that are looked for in the repository that is copied from.
  private static let knownForks: UInt32 = 256

  /// A version may be so much ahead of this machine's clock and be believed, in milliseconds.
  private static let longestLead: UInt64 = 86_400_000

  private let keyring: Keyring
  /// What is later has not been yet.
  private let latest: UInt64
  private var ends: [ChainID: End] = [:]

  /// - Parameter now: by this machine's clock, milliseconds since 1970 UTC.
  package init(_ keyring: Keyring, now: UInt64 = .max) {
    self.keyring = keyring
    let (latest, isBeyond) = now.addingReportingOverflow(Self.longestLead)
    self.latest = isBeyond ? .max : latest
  }

  /// Takes note of a version that is there, or is there now: the last one of its chain so far.
  package mutating func add(_ chain: ChainID, time: UInt64, origin: Origin? = nil) {
    let (known, believed) = (ends[chain], time <= latest ? time : 0)
    ends[chain] = End(
      time: max(known?.time ?? 0, time), believed: max(known?.believed ?? 0, believed), origin: origin)
  }

  /// The chain that a copy of a version goes to, and its fork number.
  /// - Throws: `.noLane` when nothing fits: that says nothing of a younger version.
  package func place(
    host: String, database: String, fork: UInt32, time: UInt64, origin: Origin? = nil
  ) throws(RepositoryError) -> (chain: ChainID, fork: UInt32) {
    for lane in 0..<Self.most {
      let number = fork % Self.step + lane * Self.step
      let chain = keyring.chainID(host: host, database: database, fork: number)
      if ends[chain].map({ $0.isFollowed(byVersionOf: time, origin, latest) }) ?? true { return (chain, number) }
    }
    throw RepositoryError(
      .noLane, "'\(database)' was copied in \(Self.most) different orders already",
      hint: "Younger versions are copied all the same. Copy this one to a repository of its own.")
  }

  /// The fork number that a chain was made with, as far as it can be found out; 0 else.
  package static func fork(of chain: ChainID, host: String, database: String, _ keyring: Keyring) -> UInt32 {
    place(of: chain, ChainOwner(host: host, database: database), keyring)?.fork ?? 0
  }

  /// Whether a chain is known to lie beside another one.
  package static func isLane(_ chain: ChainID, of owner: ChainOwner, _ keyring: Keyring) -> Bool {
    place(of: chain, owner, keyring).map { $0.lane > 0 } ?? false
  }

  private static func place(
    of chain: ChainID, _ owner: ChainOwner, _ keyring: Keyring
  ) -> (fork: UInt32, lane: UInt32)? {
    for lane in 0..<most {
      for fork in 0..<knownForks
      where keyring.chainID(host: owner.host, database: owner.database, fork: fork + lane * step) == chain {
        return (fork, lane)
      }
    }
    return nil
  }
}

extension CopyLanes.End {
  /// - Parameter latest: what is later has not been yet.
  fileprivate func isFollowed(byVersionOf time: UInt64, _ next: CopyLanes.Origin?, _ latest: UInt64) -> Bool {
    guard let origin, let next, origin.chain == next.chain else {
      return (time <= latest ? believed : self.time) < time
    }
    return origin.sequence < next.sequence
  }
}
