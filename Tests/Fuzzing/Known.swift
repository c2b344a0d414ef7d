@testable import Sealing

/// The keys that the vectors of the format are sealed with: the suite of the format has them from the same words.
enum Known {
  static let repository = RepositoryID(Array("sealift-test-rep".utf8))!
  static let master = SecretKey(digest("master"))
  static let chain = ChainID([UInt8](repeating: 0xC4, count: 16))!
  static let keyring = Keyring(
    currentEpoch: 2, roots: [1: SecretKey(digest("root 1")), 2: SecretKey(digest("root 2"))],
    chainKey: SecretKey(digest("chain")), fingerprintKey: SecretKey(digest("fingerprint")),
    hedgeKey: SecretKey(digest("hedge")), cuts: [])
  static let keys = SealingKeys(repository: repository, keyring: keyring)
  static let keyFile = Array("a key file needs at least thirty-two bytes".utf8)
  static let recoveryKey = digest("recovery")
  static let salt = digest("salt")
  static let purpose = "versions of a chain"
  static let time: UInt64 = 1_795_176_000_000

  static func digest(_ label: String) -> [UInt8] { Digest.sha256(of: Array(label.utf8)).bytes }
  /// A generator that is stuck: seeds are the same on every machine.
  static let random: RandomSource = { count in [UInt8](repeating: 0x5A, count: count) }
}
