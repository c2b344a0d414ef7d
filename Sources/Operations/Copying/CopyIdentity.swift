import Repositories
import Sealing

/// What tells a version from all others, in any repository.
struct CopyIdentity: Hashable {
  let owner: ChainOwner
  let time: UInt64
  let sha256: Digest

  init(_ version: VersionFacts.Version) {
    owner = ChainOwner(version)
    time = version.time
    sha256 = version.file.sha256
  }

  /// The same in 32 bytes, to be remembered.
  var digest: Digest {
    let names = [owner.host, owner.database].map { "\($0.utf8.count) \($0)" }.joined(separator: " ")
    return .sha256(of: Array("\(names) \(time) \(sha256.hex)".utf8))
  }
}
