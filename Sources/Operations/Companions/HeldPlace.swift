import Glibc

/// A name in a folder that is held open: whatever somebody swaps on the way to that folder, things are done where they were
/// looked at.
struct HeldPlace: Sendable {
  let folder: FolderHandle
  /// For people, and for what is looked at only.
  let path: String
  let name: String

  init(_ folder: FolderHandle, _ path: String) {
    self.folder = folder
    self.path = path
    name = RestoredFile.name(of: path)
  }

  /// A place below a folder that a person named. No link between the two is followed. `nil` where there is no way to it.
  init?(_ path: String, below home: String) {
    let way = MemberPath.components(of: path, below: home).dropLast()
    guard let folder = FolderHandle(path: home)?.folder(way) else { return nil }
    self.init(folder, path)
  }

  /// Another name in the same folder.
  func named(_ path: String) -> HeldPlace { HeldPlace(folder, path) }

  /// Otherwise `errno` says why.
  var stands: Bool { folder.status(name) != nil }

  /// - Returns: whether it was moved; if not, `errno` says why.
  @discardableResult
  func move(to other: HeldPlace) -> Bool {
    renameat(folder.descriptor, name, other.folder.descriptor, other.name) == 0
  }

  /// A name for what was put here and is taken away again: one that nothing has.
  func undone(_ time: String) -> HeldPlace {
    named(firstFreeName("\(path).undone-\(time)") { !named($0).stands })
  }

  /// Moves what stands here to such a name.
  /// - Returns: that name; `nil` where nothing stood, or an empty folder, which is gone.
  @discardableResult
  func moveAway(_ time: String) throws -> String? {
    // One that was killed between making a folder's place and filling it leaves an empty one.
    guard stands, unlinkat(folder.descriptor, name, AT_REMOVEDIR) != 0 else { return nil }
    let away = undone(time)
    guard move(to: away) else { throw OperationError.fileSystem("cannot move \(path) away", errno) }
    return away.path
  }

  /// Removes what stands here, with all in it.
  func remove() {
    guard let status = folder.status(name) else { return }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      unlinkat(folder.descriptor, name, 0)
      return
    }
    if let inner = folder.folder(name) { MemberTree.remove(inner, named: name, in: folder) }
    unlinkat(folder.descriptor, name, AT_REMOVEDIR)
  }
}
