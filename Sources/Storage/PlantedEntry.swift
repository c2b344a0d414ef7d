import Glibc

/// What other users have put on the way to a place.
///
/// In a folder where everybody may make names and nobody may take those of others (`/tmp`: mode 1777), whoever comes
/// first decides what a name means. A link there leads where its maker wants; a folder there is its maker's, who may
/// exchange what we put into it. Names that are ours stay ours: asked once an entry is there, and before it is
/// passed, this loses no race. It is the rule of Linux's `fs.protected_symlinks`, for systems where that is off.
package enum PlantedEntry {
  /// What is wrong with the way to a place that exists, in words; `nil` when nothing is.
  /// - Parameters:
  ///   - path: absolute, or from the working folder.
  ///   - foldersToo: also folders of other users are refused, not only links.
  package static func refusal(on path: String, foldersToo: Bool = false) -> String? {
    var parent = PathSteps.isAbsolute(path) ? "/" : "."
    for step in PathSteps.of(path) {
      let entry = parent == "/" ? "/\(step)" : "\(parent)/\(step)"
      if let refusal = refusal(of: entry, in: parent, foldersToo: foldersToo) { return refusal }
      parent = entry
    }
    return nil
  }

  /// What is wrong with one step of that way, in words; `nil` when nothing is.
  /// - Parameter namespace: of users. One who is not known there need not be the folder's own, of whom that is not known either.
  package static func refusal(
    of entry: String, in folder: String, foldersToo: Bool = false, namespace: UserNamespace = .own
  ) -> String? {
    var hall = stat()
    var found = stat()
    let open: mode_t = 0o1002
    guard stat(folder, &hall) == 0, hall.st_mode & open == open else { return nil }
    guard lstat(entry, &found) == 0 else { return "\(entry) was taken away" }
    let isLink = found.st_mode & S_IFMT == S_IFLNK
    guard isLink || foldersToo, found.st_uid != geteuid() else { return nil }
    guard found.st_uid != hall.st_uid || namespace.isUnknown(user: found.st_uid) else { return nil }
    return "\(entry) is \(isLink ? "a link" : "a folder") that another user put there"
  }
}
