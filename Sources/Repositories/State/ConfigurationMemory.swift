import FoundationEssentials
import Sealing
import Storage

/// The newest configuration of a repository that this machine has opened, sealed as it lay there: where a target has lost
/// all copies of it, a repair writes it back.
///
/// Nothing here is trusted: whoever uses it opens it again.
struct ConfigurationMemory: Codable, Equatable {
  /// In bytes: ours have some hundreds.
  static let longest = 1 << 16

  let number: UInt64
  let sealed: Data

  init(_ configuration: SealedConfiguration) {
    number = configuration.name.number
    sealed = Data(configuration.bytes)
  }

  /// - Returns: `nil` when there is none, or one that cannot be read: that costs a repair, and nothing else.
  init?(in state: StateFolder) {
    guard let bytes = try? StateFiles.read(Self.path(state), limit: 2 * Self.longest),
      let memory = try? JSONDecoder().decode(ConfigurationMemory.self, from: Data(bytes))
    else { return nil }
    self = memory
  }

  static func path(_ state: StateFolder) -> String { "\(state.path)/configuration.json" }

  /// - Returns: `nil` when it is spoilt.
  func opened(with keys: SealingKeys) -> SealedConfiguration? {
    let bytes = [UInt8](sealed)
    let name = NumberedName(
      prefix: Layout.configurations, number: number, length: bytes.count, digest: .sha256(of: bytes))
    // What does not parse would be stored and never be found.
    guard bytes.count <= Self.longest, NumberedName(name.objectName, prefix: name.prefix) == name else { return nil }
    return try? SealedConfiguration(bytes, named: name, keys: keys)
  }

  /// Best effort: a machine that cannot remember is as a new one.
  func write(in state: StateFolder) {
    guard let bytes = try? JSONEncoder().encode(self) else { return }
    try? StateFiles.makeFolder(state.path)
    try? StateFiles.write([UInt8](bytes), to: Self.path(state))
  }
}

extension Repository {
  /// Keeps the configuration that was read, unless a newer one was seen.
  package func rememberConfiguration(in state: StateFolder) {
    guard let configuration, configuration.bytes.count <= ConfigurationMemory.longest else { return }
    let seen = ConfigurationMemory(in: state)?.opened(with: keys)
    if let seen, seen.name == configuration.name || seen.name.number > configuration.name.number { return }
    ConfigurationMemory(configuration).write(in: state)
  }
}
