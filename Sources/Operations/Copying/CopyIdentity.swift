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
}
