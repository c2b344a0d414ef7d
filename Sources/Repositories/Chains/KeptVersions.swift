import Sealing
import Storage

/// What this machine has read of the manifests of one chain, in one sealed file: a list of a thousand versions opens
/// one file instead of a thousand.
///
/// Each entry is keyed by the whole name of its manifest, and that name holds the SHA-256 of the object, so an entry is
/// true for ever; what is *there* only a fresh listing says. A file that was cut, changed, or taken from another chain or
/// repository does not open, and the manifests are read again.
struct KeptVersions: Sendable {
  /// The largest list, in bytes: about a quarter of a million versions. `StateFiles` reads no file beyond 64 MiB.
  static let largest = 60 << 20
  /// A manifest whose tags and note are longer is read each time.
  private static let largestText = 4 << 10

  private let path: String
  private let purpose: String
  private let keys: SealingKeys
  private let largest: Int
  private(set) var facts: [VersionName: VersionFacts]

  /// - Parameter largest: in bytes; of more versions than that holds the newest are kept.
  init(_ chain: ChainID, in state: StateFolder, keys: SealingKeys, largest: Int = Self.largest) {
    path = "\(state.path)/\(chain.hex)/versions"
    purpose = "versions of \(chain.hex)"
    self.keys = keys
    self.largest = largest
    var facts: [VersionName: VersionFacts] = [:]
    if let sealed = try? StateFiles.read(path), let plain = LocalSeal.open(sealed, purpose: purpose, keys: keys),
      let kept = try? VersionFacts.decode(plain, of: chain)
    {
      for fact in kept where keys.keyring.holds(epoch: fact.epoch) { facts[fact.name] = fact }
    }
    self.facts = facts
  }

  /// Replaces the file by these, oldest first. A cache that cannot be written is no reason to fail.
  /// - Returns: whether it is there now.
  @discardableResult
  func replace(by facts: [VersionFacts], random: RandomSource) -> Bool {
    var small = facts.filter { ($0.tags + [$0.note]).reduce(0) { $0 + $1.utf8.count } <= Self.largestText }
    var plain = VersionFacts.encode(small)
    if plain.count > largest {
      small = fitting(small)
      plain = VersionFacts.encode(small)
    }
    // What does not fit is read each time, and makes no other list.
    if small.count == self.facts.count, small.allSatisfy({ self.facts[$0.name] != nil }) { return true }
    guard let sealed = try? LocalSeal.seal(plain, purpose: purpose, keys: keys, random: random) else { return false }
    do {
      try StateFiles.makeFolder(PathSteps.folder(of: path))
      try StateFiles.write(sealed, to: path, durably: false)
      return true
    } catch {
      return false
    }
  }

  /// The newest of them, as many as there is room for.
  private func fitting(_ facts: [VersionFacts]) -> [VersionFacts] {
    let empty = VersionFacts.encode([]).count
    var room = largest - empty
    var first = facts.count
    while first > 0 {
      room -= VersionFacts.encode([facts[first - 1]]).count - empty
      if room < 0 { break }
      first -= 1
    }
    return Array(facts[first...])
  }
}
