package import Sealing
import Storage

/// The database whose versions a chain holds, by the bytes of its names.
package struct ChainOwner: Sendable, Hashable {
  package let host: String
  package let database: String

  package init(host: String, database: String) {
    self.host = host
    self.database = database
  }

  package init(_ version: VersionFacts.Version) {
    self.init(host: version.host, database: version.database)
  }

  package static func == (one: ChainOwner, other: ChainOwner) -> Bool {
    one.host.isSameName(as: other.host) && one.database.isSameName(as: other.database)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(ExactName(host))
    hasher.combine(ExactName(database))
  }
}

/// The newest version of a chain that this machine pushed or accepted, also one that it only read
/// (`Docs/Decisions/0004`). It only rises, so that a target that loses versions, or puts an older state back, is noticed.
package struct HighWaterMark: Sendable, Equatable {
  package var sequence: UInt64
  /// Core hash of that version: its id.
  package var id: Digest
  /// Whose chain it is: an id alone would not tell, should nothing of the chain be shown one day.
  package var host: String?
  package var database: String?
  /// The place of the last version that this machine pushed itself, also where it has seen later ones since; `nil` where it
  /// has pushed none, or where that was noted by nobody. What stands behind it in the chain is another machine's.
  package var pushed: UInt64?
  /// The name of its manifest, to ask for where a listing does not show it; `nil` where that was noted by nobody.
  package var manifest: String?
  /// When its snapshot was taken, as it says itself: milliseconds since 1970 UTC; `nil` where an earlier release noted it.
  package var time: UInt64?

  package init(sequence: UInt64, id: Digest, of owner: ChainOwner? = nil) {
    self.sequence = sequence
    self.id = id
    host = owner?.host
    database = owner?.database
  }

  package init(_ version: VersionFacts) {
    self.init(sequence: version.sequence, id: version.id, of: version.version.map(ChainOwner.init))
    manifest = version.name.objectName.text
    time = version.version?.time
  }

  /// Of a version that this machine has just pushed, or that its push found to be what it would have stored.
  package init(pushed version: VersionFacts) {
    self.init(version)
    pushed = version.sequence
  }

  /// Whose chain one of this machine's marks is of, where that was noted.
  /// - Parameter chain: hexadecimal.
  package static func owner(of chain: String, in state: StateFolder) -> ChainOwner? {
    ChainID(hex: chain).flatMap { try? read($0, in: state) }?.owner
  }

  /// Whose chain it is, where that was noted.
  package var owner: ChainOwner? {
    guard let host, let database else { return nil }
    return ChainOwner(host: host, database: database)
  }

  /// The mark, or `nil` when this machine has not seen the chain (or its state was lost, or spoilt).
  /// - Parameter isReading: one that cannot be read is as a spoilt one: no version could be had else.
  /// - Throws: `.stateFolder` where there may be one that cannot be read.
  package static func read(
    _ chain: ChainID, in state: StateFolder, isReading: Bool = false
  ) throws(RepositoryError) -> HighWaterMark? {
    do throws(RepositoryError) { return try look(chain, in: state).mark } catch {
      guard isReading else { throw error }
      return nil
    }
  }

  /// - Returns: the mark, and whether something stands there that is none.
  static func look(
    _ chain: ChainID, in state: StateFolder
  ) throws(RepositoryError) -> (mark: HighWaterMark?, isSpoilt: Bool) {
    guard let bytes = try Self.bytes(chain, in: state) else { return (nil, false) }
    let mark = HighWaterMark(json: bytes, of: chain)
    return (mark, mark == nil)
  }

  private static func bytes(_ chain: ChainID, in state: StateFolder) throws(RepositoryError) -> [UInt8]? {
    let path = Self.path(chain.hex, in: state)
    do throws(RepositoryError) { return try StateFiles.read(path, demandsFolder: true) } catch {
      throw RepositoryError(
        .stateFolder, "\(unproved(chain)) (\(error.message))", hint: StateFiles.wayOut(of: path), cause: error)
    }
  }

  private static func unproved(_ chain: ChainID) -> String {
    "what this machine remembered of the newest version of chain \(chain.hex.prefix(12)) cannot be read: that the target has lost none since is not proved"
  }

  /// What is wrong with a chain's mark, where something stands in its place that is none, or that cannot be read.
  package static func flaw(of chain: ChainID, in state: StateFolder) -> RepositoryError? {
    do throws(RepositoryError) {
      guard try look(chain, in: state).isSpoilt else { return nil }
    } catch {
      return error
    }
    return RepositoryError(
      .stateFolder, unproved(chain),
      hint:
        "The next push from here to that chain makes it anew; or, once `sealift list` shows what it should: rm '\(path(chain.hex, in: state))'"
    )
  }

  /// For who lets go of versions: what cannot be read may say that the newest of them were taken away.
  package static func demandReadable(_ chain: ChainID, in state: StateFolder) throws(RepositoryError) {
    if let flaw = Self.flaw(of: chain, in: state) { throw flaw }
  }

  static func path(_ chain: String, in state: StateFolder) -> String { "\(state.path)/\(chain)/mark.json" }

  /// What to run to accept what the target shows of a chain, whatever this machine has seen of it.
  static func acceptance(of chain: ChainID, in state: StateFolder?) -> String {
    state.map { "rm '\(path(chain.hex, in: $0))'" } ?? "remove the mark of this chain"
  }

  /// Whose chain it is, behind what names that.
  var whose: String {
    guard let host, let database else { return "" }
    return " ('\(database)' of \(host))"
  }

  /// Raises the mark of a chain that was only read. While a push holds the chain, it writes the mark itself. One that is
  /// spoilt, or cannot be read, stays for the next push, which tells it.
  /// - Returns: false when the state folder cannot be written: then a later roll-back goes unnoticed.
  package func raise(_ chain: ChainID, in state: StateFolder) -> Bool {
    let noted = try? Self.read(chain, in: state)
    if let noted, !saysMore(than: noted) { return true }
    do {
      let lock = try ChainLock(chain, in: state)
      return try withExtendedLifetime(lock) {
        guard let (known, isSpoilt) = try? Self.look(chain, in: state) else { return true }
        if !isSpoilt, known.map({ saysMore(than: $0) }) ?? true {
          var mark = self
          mark.pushed = known?.pushed
          try mark.write(chain, in: state)
        }
        return true
      }
    } catch {
      // Without the time alone, no roll-back goes unnoticed.
      let isTimeAlone = noted.map { $0.sequence >= sequence } ?? false
      return isTimeAlone || (error as? RepositoryError)?.code == .locked
    }
  }

  /// Of a later version; or of the same one, of which an earlier release did not note the time.
  private func saysMore(than known: HighWaterMark) -> Bool {
    guard known.sequence == sequence, known.id == id else { return known.sequence < sequence }
    return known.time == nil && time != nil
  }

  /// Durable when it returns.
  package func write(_ chain: ChainID, in state: StateFolder) throws {
    try StateFiles.write(json(of: chain), to: "\(state.folder(of: chain))/mark.json")
  }
}
