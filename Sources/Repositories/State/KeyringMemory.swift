import FoundationEssentials
import Sealing
import Storage

/// The newest keyring of a repository that this machine has opened: a target that shows an older one was put back to
/// before a rotation, and what a retired key made would count again.
///
/// Keyrings lie there twice, the same bytes under two numbers, so a lower number alone means nothing; and a number is only
/// a name, which anybody can give an old keyring. What is inside is authentic: epochs and cuts only grow.
struct KeyringMemory: Codable, Equatable {
  var number: UInt64
  /// Hexadecimal SHA-256 of the sealed keyring.
  var digest: String
  var epoch: UInt32
  var cuts: Int

  init(_ keyring: Keyring, named name: NumberedName) {
    number = name.number
    digest = name.digest.hex
    epoch = keyring.currentEpoch
    cuts = keyring.cuts.count
  }

  /// - Returns: `nil` when there is none, or a spoilt one.
  /// - Throws: `.stateFolder` when there may be one that cannot be read: an older one would be written over it.
  init?(in state: StateFolder) throws(RepositoryError) {
    guard let bytes = try StateFiles.read(Self.path(state)),
      let memory = try? JSONDecoder().decode(KeyringMemory.self, from: Data(bytes))
    else { return nil }
    self = memory
  }

  static func path(_ state: StateFolder) -> String { "\(state.path)/keyring.json" }

  /// Whether something stands in its place that is none.
  static func isSpoilt(in state: StateFolder) throws(RepositoryError) -> Bool {
    guard try StateFiles.read(path(state)) != nil else { return false }
    return try KeyringMemory(in: state) == nil
  }

  /// Whether this one was there before `seen`.
  func isOlder(than seen: KeyringMemory) -> Bool {
    digest != seen.digest && (number < seen.number || epoch < seen.epoch || cuts < seen.cuts)
  }

  /// Best effort: a machine that cannot remember is as a new one.
  func write(in state: StateFolder) {
    guard let bytes = try? JSONEncoder().encode(self) else { return }
    try? StateFiles.makeFolder(state.path)
    try? StateFiles.write([UInt8](bytes), to: Self.path(state))
  }
}

extension Repository {
  /// What this machine remembered of the newest keyring cannot be read: `checkKeyring` makes it anew.
  package func lostMemoryOfKeyring(in state: StateFolder) -> Bool { (try? KeyringMemory.isSpoilt(in: state)) ?? false }

  /// Refuses a keyring older than the newest this machine has seen, and remembers a newer one.
  /// - Throws: `.rolledBack`; `.stateFolder` when what this machine remembers of it cannot be read.
  package func checkKeyring(in state: StateFolder) throws(RepositoryError) {
    guard let keyring else { return }
    let memory = KeyringMemory(keys.keyring, named: keyring)
    let seen = try KeyringMemory(in: state)
    if let seen, memory.isOlder(than: seen) {
      throw RepositoryError(
        .rolledBack,
        "the newest keyring that can be read at \(store.traits.location) is number \(memory.number), older than number \(seen.number), which this machine has seen",
        hint:
          "An older state was put back there, perhaps one in which a retired key counts. Find out by whom; to accept it, remove \(KeyringMemory.path(state))."
      )
    }
    if seen.map({ $0.digest != memory.digest || $0.number < memory.number }) ?? true { memory.write(in: state) }
  }
}
