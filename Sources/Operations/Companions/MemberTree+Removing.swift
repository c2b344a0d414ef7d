import Glibc

/// A tree that is not to stay is removed with all in it.
extension MemberTree {
  /// Removes it, unless it has another name by now.
  func remove() {
    if isNamed { Self.remove(root, named: RestoredFile.name(of: path), in: home) }
  }

  /// Removes a folder that is held open with all in it, wherever its name leads by now, and also where folders in it were
  /// closed to everybody.
  static func remove(_ folder: FolderHandle, named name: String, in parent: FolderHandle) {
    removeContent(of: folder)
    unlinkat(parent.descriptor, name, AT_REMOVEDIR)
  }

  private static func removeContent(of folder: FolderHandle) {
    fchmod(folder.descriptor, 0o700)
    guard let found = folder.names() else { return }
    for name in found.names {
      guard folder.status(name).map({ $0.st_mode & S_IFMT == S_IFDIR }) == true else {
        unlinkat(folder.descriptor, name, 0)
        continue
      }
      fchmodat(folder.descriptor, name, 0o700, AT_SYMLINK_NOFOLLOW)
      if let inner = folder.folder(name) { removeContent(of: inner) }
      unlinkat(folder.descriptor, name, AT_REMOVEDIR)
    }
  }
}
