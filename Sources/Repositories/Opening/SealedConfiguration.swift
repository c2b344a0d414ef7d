import Sealing
import Storage

/// The configuration of a repository as it lies at a target: opened, and one that this program knows.
struct SealedConfiguration: Sendable {
  let name: NumberedName
  let bytes: [UInt8]

  /// - Throws: where it does not open, or asks for what this program does not know.
  init(_ bytes: [UInt8], named name: NumberedName, keys: SealingKeys) throws(SealError) {
    let object = try OpenedObject.open(bytes, kind: .configuration, name: name.digest, keys: keys)
    _ = try RepositoryConfiguration(decoding: object.directory.meta)
    self.name = name
    self.bytes = bytes
  }

  /// What this machine remembers, to be written back where the target has none that can be read.
  ///
  /// Not where names say that there was a newer one, though nothing of it can be read: the older one must not count in its
  /// place. Anybody can make such a name; then others bring back what is there.
  /// - Parameter listed: what lies below `config/`.
  init?(rememberedIn state: StateFolder, keys: SealingKeys, beside listed: [ObjectInfo]) {
    guard let remembered = ConfigurationMemory(in: state)?.opened(with: keys) else { return nil }
    let names = listed.compactMap { NumberedName($0.name, prefix: Layout.configurations) }
    let (number, digest) = (remembered.name.number, remembered.name.digest)
    guard names.allSatisfy({ $0.number <= number || $0.digest == digest }) else { return nil }
    self = remembered
  }
}
