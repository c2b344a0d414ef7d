package import Sealing
import Storage

extension Repository {
  /// The directory of a pack, by one ranged request or from the state folder's cache; authentic either way.
  package func directory(of entry: PackEntry, chain: ChainID, state: StateFolder?) async throws -> Directory {
    let reader = try PackReader(entry: entry, keys: keys)
    let keptName = "\(entry.name.hex).directory"
    if let kept = state?.kept(keptName), let directory = try? reader.openDirectory(kept) { return directory }
    let end = Int(entry.length) - 4
    let bytes = try await part(end - Int(entry.directoryLength)..<end, of: entry, chain: chain)
    let directory = try reader.openDirectory(bytes)
    state?.keep(bytes, as: keptName)
    return directory
  }
}

/// The packs that a new version may refer to, and what lies in them.
struct KnownPacks: Sendable {
  struct Frame: Sendable {
    var plaintextLength: Int
    var sealedLength: Int
  }

  private(set) var entries: [UInt32: PackEntry] = [:]
  private(set) var frames: [UInt32: [Frame]] = [:]
  /// Packs whose units a pack's delta frames need.
  private(set) var bases: [UInt32: [Digest]] = [:]
  private(set) var index = FingerprintIndex()
  private var numbers: [Digest: UInt32] = [:]

  /// Takes a pack in. Units of packs taken earlier win.
  mutating func add(_ entry: PackEntry, _ directory: Directory) {
    guard entries[entry.number] == nil else { return }
    entries[entry.number] = entry
    numbers[entry.name] = entry.number
    bases[entry.number] = directory.basePacks
    frames[entry.number] = directory.frames.map {
      Frame(plaintextLength: $0.plaintextLength, sealedLength: Int($0.sealedLength))
    }
    for (frame, record) in directory.frames.enumerated() {
      for (unit, fingerprint) in record.fingerprints.enumerated() {
        index.insert(
          fingerprint, at: UnitLocation(pack: entry.number, frame: UInt32(frame), unit: UInt16(unit)))
      }
    }
  }

  /// Notes a unit of this push, so that its next occurrence finds it.
  mutating func note(_ fingerprint: Fingerprint, at location: UnitLocation) { index.insert(fingerprint, at: location) }

  func contains(_ name: Digest) -> Bool { numbers[name] != nil }

  /// The packs themselves and, transitively, the packs their delta frames rest on.
  func closure(of used: Set<UInt32>) -> Set<UInt32> {
    var all = used
    var open = Array(used)
    while let number = open.popLast() {
      for base in (bases[number] ?? []).compactMap({ numbers[$0] }) where all.insert(base).inserted {
        open.append(base)
      }
    }
    return all
  }

  mutating func addNew(_ entry: PackEntry, frames made: [Frame]) {
    entries[entry.number] = entry
    numbers[entry.name] = entry.number
    frames[entry.number] = made
  }
}
