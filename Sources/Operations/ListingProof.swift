import FoundationEssentials
import Repositories
import Sealing
package import Snapshots
package import Storage

/// What `sealift doctor` saw of a target: that its listings show what was stored before they began. A prune may then
/// condemn and delete in one run.
///
/// Kept in the state folder under a hash of the target's name and identity: what was seen of one server says nothing of
/// another that has a bucket of the same name.
package struct ListingProof: Codable, Sendable {
  /// After so many milliseconds it has to be seen again: servers are replaced.
  private static let lasts: UInt64 = 90 * 86_400_000

  private var store: String
  /// Milliseconds since 1970 UTC.
  private var time: UInt64

  /// Whether a target lists at once, by its nature or because it was seen.
  ///
  /// A folder does on a disk of this machine. On any other one, such as NFS, SMB or sshfs, what another machine stored may
  /// be seen late, and `doctor` cannot tell: it sees its own writing only.
  /// - Parameter kind: of file system that a path lies on.
  package static func holds(
    for target: TargetAccess, _ world: World, kind: (_ path: String) -> FileSystemKind = FileSystemKind.of(path:)
  ) -> Bool {
    let traits = target.store.traits
    if let folder = traits.folder { return traits.listsAtOnce && kind(folder).isOfThisMachine }
    if traits.listsAtOnce { return true }
    guard let bytes = try? StateFiles.read(path(of: target, world)),
      let proof = try? JSONDecoder().decode(Self.self, from: Data(bytes))
    else { return false }
    let now = world.now()
    return proof.store == target.store.traits.identity && proof.time <= now && now - proof.time < lasts
  }

  /// Notes what was found. A target that broke a promise has no proof any more; one that broke none of those that were
  /// tried, where not all were, keeps what it has.
  /// - Throws: `OperationError` where the state folder cannot be written.
  package static func note(
    _ findings: [StoreContract.Finding], isWhole: Bool = true, of target: TargetAccess, _ world: World
  ) throws {
    let path = path(of: target, world)
    guard !findings.contains(where: \.isBroken) else { return StateFiles.remove(path) }
    guard isWhole else { return }
    do {
      try StateFiles.makeFolder(folder(world))
      let proof = ListingProof(store: target.store.traits.identity, time: world.now())
      try StateFiles.write([UInt8](JSONEncoder().encode(proof)), to: path)
    } catch {
      throw OperationError(error)
    }
  }

  private static func folder(_ world: World) -> String { "\(world.stateFolder)/doctor" }

  private static func path(of target: TargetAccess, _ world: World) -> String {
    let text = "\(target.name)\n\(target.store.traits.identity)"
    return "\(folder(world))/\(Digest.sha256(of: Array(text.utf8)).hex).json"
  }
}
