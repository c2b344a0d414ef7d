import Glibc
import Platform
import Storage

/// Tells a target's folder from another one that has its path later. Where a disk was unmounted, or the program behind a
/// mount has died, the empty folder below is left: what is written there is hidden by the next mount, and no backup.
final class FolderIdentity: Sendable {
  private struct State {
    var device: dev_t
    var inode: ino_t
    /// Of what lies in it.
    var names: Set<String>
  }

  private let path: String
  private let state: Locked<State>

  /// - Throws: when the folder cannot be read.
  init(of folder: borrowing OpenFolder, at path: String) throws(StoreError) {
    self.path = path
    let own = try folder.identity()
    state = Locked(State(device: own.device, inode: own.inode, names: try Self.names(in: folder)))
  }

  /// What it lies in.
  var mount: MountTable.Mount? {
    let device = state.withLock { $0.device }
    return MountTable.current.mount(ofDevice: UInt64(device))
  }

  /// An object was put there, below this name.
  func noteUse(of name: ObjectName) {
    guard let first = name.parents.first.map(String.init) else { return }
    state.withLock { _ = $0.names.insert(first) }
  }

  /// Lets another folder pass that has something of what was there: the same one, mounted anew.
  /// - Throws: `.noTarget`.
  func demand(_ folder: borrowing OpenFolder) throws(StoreError) {
    let own = try folder.identity()
    let before = state.withLock { $0 }
    if own.device == before.device, own.inode == before.inode { return }
    guard try !Self.names(in: folder).isDisjoint(with: before.names) else {
      throw StoreError(
        .noTarget, "\(path) is another folder than it was a moment ago, and has nothing of what was there",
        hint: "Check that the disk is mounted.")
    }
    state.withLock { ($0.device, $0.inode) = own }
  }

  /// Those that objects of ours could have: a disk has some of its own.
  private static func names(in folder: borrowing OpenFolder) throws(StoreError) -> Set<String> {
    Set(try folder.names().filter { $0 != "tmp" && ObjectName($0) != nil })
  }
}
