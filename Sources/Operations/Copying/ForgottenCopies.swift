import Repositories
import Sealing

/// Versions that were at the other repository and were forgotten there. The next copy does not bring them back, or no rule
/// would ever take hold there.
///
/// As long as a manifest stands it says so itself. What a prune has taken left a tombstone, which tells the place and not
/// what stood there: that this machine remembers, of what it saw there when it copied (`SeenCopies`). What nothing is
/// remembered of was never there, for all that is known, and is copied. So is what was lost at one of several places: no
/// rule let go of that one.
struct ForgottenCopies {
  /// Where a copy was seen, and does not stand any more.
  private struct Place {
    let chain: ChainID
    let copy: SeenCopies.Copy
  }

  private let state: StateFolder
  private var memories: [ChainID: SeenCopies] = [:]
  /// By what they are copies of: those that a rule let go of, whether a prune has come since or not.
  private var letGo: Set<Digest> = []
  /// Those of which a copy is damaged or gone, and where it was seen, if it does not stand.
  private var lost: [Digest: [Place]] = [:]
  /// Those of which a sound copy stands.
  private var sound: Set<Digest> = []

  init(in state: StateFolder) { self.state = state }

  func contains(_ version: CopyIdentity) -> Bool {
    lost[version.digest] == nil && letGo.contains(version.digest)
  }

  // MARK: looking

  /// Takes note of a chain.
  /// - Parameter versions: that stand in it.
  mutating func look(at history: ChainHistory, _ versions: [VersionFacts], _ annotations: Annotations) {
    let memory = SeenCopies(of: history.chain, in: state)
    let ids = Set(versions.map(\.id))
    for copy in memory.all where !ids.contains(copy.id) {
      let isForgotten = history.forgotten.contains(copy.id, at: copy.sequence)
      let isSpoilt = annotations.isSpoilt(Annotations.Subject(sequence: copy.sequence, id: copy.id))
      if isForgotten, !isSpoilt { letGo.insert(copy.identity) } else { lose(copy, of: history.chain) }
    }
    memories[history.chain] = memory
  }

  /// A version stands there, whole and sound.
  mutating func see(_ facts: VersionFacts) {
    guard let identity = remember(facts) else { return }
    sound.insert(identity)
  }

  /// Such a version was forgotten.
  mutating func seeForgotten(_ facts: VersionFacts) {
    guard let identity = remember(facts) else { return }
    letGo.insert(identity)
  }

  /// A version stands there that is not whole, or damaged: whatever becomes of it, no rule lets go of a sound one.
  mutating func seeUnsound(_ facts: VersionFacts) {
    memories[facts.chain]?.drop(facts.sequence)
    if let version = facts.version { lost[CopyIdentity(version).digest, default: []] += [] }
  }

  /// When every chain that can be read was looked at. No rule empties a chain, so what was seen in one that is not there, or
  /// of which nothing can be read, is lost.
  /// - Parameters:
  ///   - wanted: what is to be copied, by what it is a copy of. There may be chains of thousands of other databases.
  ///   - owners: of whom those are.
  mutating func judge(_ wanted: Set<Digest>, of owners: Set<ChainOwner>) {
    for chain in state.chainsWithCopies() where memories[chain] == nil {
      if let owner = HighWaterMark.owner(of: chain.hex, in: state), !owners.contains(owner) { continue }
      let memory = SeenCopies(of: chain, in: state)
      let copies = memory.all.filter { wanted.contains($0.identity) }
      guard !copies.isEmpty else { continue }
      for copy in copies { lose(copy, of: chain) }
      memories[chain] = memory
    }
    for identity in sound { settle(identity) }
  }

  /// A sound copy stands: what became of earlier ones is of no matter from now on, and what becomes of this one decides.
  mutating func settle(_ facts: VersionFacts) {
    if let version = facts.version { settle(CopyIdentity(version).digest) }
  }

  private mutating func settle(_ identity: Digest) {
    for place in lost.removeValue(forKey: identity) ?? [] { memories[place.chain]?.drop(place.copy) }
  }

  private mutating func lose(_ copy: SeenCopies.Copy, of chain: ChainID) {
    lost[copy.identity, default: []].append(Place(chain: chain, copy: copy))
  }

  private mutating func remember(_ facts: VersionFacts) -> Digest? {
    guard let version = facts.version else { return nil }
    let copy = SeenCopies.Copy(sequence: facts.sequence, id: facts.id, identity: CopyIdentity(version).digest)
    // A chain that the copy has just begun was not looked at.
    if memories[facts.chain] == nil { memories[facts.chain] = SeenCopies(of: facts.chain, in: state) }
    memories[facts.chain]?.see(copy)
    return copy.identity
  }

  /// - Returns: false where it cannot be remembered.
  mutating func write() -> Bool {
    var isWritten = true
    for chain in Array(memories.keys) where memories[chain]?.write() == false { isWritten = false }
    return isWritten
  }
}
