import Repositories
import Sealing

/// Versions that were at the other repository and were forgotten there. The next copy does not bring them back, or no rule
/// would ever take hold there.
///
/// As long as a manifest stands it says so itself. What a prune has taken left a tombstone, which tells the place and not
/// what stood there: that this machine remembers, of what it saw there when it copied (`SeenCopies`). What nothing is
/// remembered of was never there, for all that is known, and is copied.
struct ForgottenCopies {
  /// Where a copy was seen, and does not stand any more.
  private struct Place {
    let chain: ChainID
    let sequence: UInt64
    /// It was forgotten, and had not been found damaged: it is gone because a rule let go of it.
    let isLetGo: Bool
  }

  private let state: StateFolder
  /// Whose manifests stand, whatever became of the versions.
  private var standing: Set<CopyIdentity> = []
  /// Of those, what was forgotten.
  private var forgotten: Set<CopyIdentity> = []
  private var memories: [ChainID: SeenCopies] = [:]
  /// By what they were copies of.
  private var gone: [Digest: [Place]] = [:]
  /// What a prune has taken, and nothing else.
  private var letGo: Set<Digest> = []

  init(in state: StateFolder) { self.state = state }

  func contains(_ version: CopyIdentity) -> Bool {
    if forgotten.contains(version) { return true }
    return !standing.contains(version) && letGo.contains(version.digest)
  }

  // MARK: looking

  /// Takes note of a chain.
  /// - Parameter versions: that stand in it.
  mutating func look(at history: ChainHistory, _ versions: [VersionFacts], _ annotations: Annotations) {
    standing.formUnion(versions.compactMap { $0.version.map(CopyIdentity.init) })
    let memory = SeenCopies(of: history.chain, in: state)
    let ids = Set(versions.map(\.id))
    for copy in memory.all where !ids.contains(copy.id) {
      let isForgotten = history.forgotten.contains(copy.id, at: copy.sequence)
      let isSpoilt = annotations.isSpoilt(Annotations.Subject(sequence: copy.sequence, id: copy.id))
      let place = Place(chain: history.chain, sequence: copy.sequence, isLetGo: isForgotten && !isSpoilt)
      gone[copy.identity, default: []].append(place)
    }
    memories[history.chain] = memory
  }

  /// A version stands there, whole and sound, also if it was forgotten.
  mutating func see(_ facts: VersionFacts) {
    guard let version = facts.version else { return }
    let copy = SeenCopies.Copy(sequence: facts.sequence, id: facts.id, identity: CopyIdentity(version).digest)
    // A chain that the copy has just begun was not looked at.
    if memories[facts.chain] == nil { memories[facts.chain] = SeenCopies(of: facts.chain, in: state) }
    memories[facts.chain]?.see(copy)
  }

  /// Such a version was forgotten.
  mutating func seeForgotten(_ facts: VersionFacts) {
    see(facts)
    if let version = facts.version { forgotten.insert(CopyIdentity(version)) }
  }

  /// A version stands there that is not whole, or damaged: whatever becomes of it, no rule lets go of a sound one.
  mutating func seeUnsound(_ facts: VersionFacts) { memories[facts.chain]?.drop(facts.sequence) }

  /// When every chain was looked at. Of what was seen at several places, a rule has let go where none of them was lost; of
  /// what was lost nothing is remembered any more: what becomes of the next copy decides.
  mutating func judge() {
    for (version, places) in gone {
      if places.allSatisfy(\.isLetGo) {
        letGo.insert(version)
      } else {
        for place in places { memories[place.chain]?.drop(place.sequence) }
      }
    }
  }

  /// - Returns: false where it cannot be remembered.
  mutating func write() -> Bool {
    var isWritten = true
    for chain in Array(memories.keys) where memories[chain]?.write() == false { isWritten = false }
    return isWritten
  }
}
