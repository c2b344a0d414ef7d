import Glibc

/// Links by which other users lead root to what is not theirs.
///
/// Root may go everywhere: who may make a name where root reads or writes could have any file sealed with what is theirs,
/// and any file moved aside by a restore. A link is followed that root made, or whoever owns what it leads to. It is the
/// rule of systemd for unsafe transitions in a path. Who exchanges a link right after it was looked at is not kept from
/// it: root is for folders in which only root can make names.
package enum ForeignLink {
  /// As many as the system follows.
  private static let mostLinks = 40

  /// What is wrong with the way to a path, in words; `nil` when nothing is, and for who is not root: the system lets others
  /// go no further than they may.
  /// - Parameter writing: something is going to be made there. Where it is only read, a link that leads to nothing does no
  ///   harm: what it is for may lie on a disk that is not mounted.
  package static func refusal(on path: String, writing: Bool = true) -> String? {
    guard geteuid() == 0 else { return nil }
    // Without links; the top is "".
    var folder = PathSteps.isAbsolute(path) ? "" : workingFolder
    var steps = Array(PathSteps.of(path).reversed())
    var links = 0
    while let step = steps.popLast() {
      if step == "." { continue }
      if step == ".." {
        folder = above(folder)
        continue
      }
      let entry = "\(folder)/\(step)"
      var found = stat()
      // What is not there leads nowhere.
      guard lstat(entry, &found) == 0 else { return nil }
      guard found.st_mode & S_IFMT == S_IFLNK else {
        folder = entry
        continue
      }
      links += 1
      guard links <= mostLinks, let target = readTarget(of: entry) else { return nil }
      if found.st_uid != 0, let owner = ownerOfEnd(of: entry, target, in: folder, writing), owner != found.st_uid {
        return "\(entry) is a link that another user made, to \(target), which is not that user's"
      }
      if PathSteps.isAbsolute(target) { folder = "" }
      steps += PathSteps.of(target).reversed()
    }
    return nil
  }

  /// Who owns what a link leads to; where nothing is there yet and something may be made, who owns the folder that it would
  /// be in.
  private static func ownerOfEnd(of link: String, _ target: String, in folder: String, _ writing: Bool) -> uid_t? {
    var end = stat()
    if stat(link, &end) == 0 { return end.st_uid }
    guard writing else { return nil }
    let place = PathSteps.isAbsolute(target) ? target : "\(folder)/\(target)"
    return stat(PathSteps.folder(of: place), &end) == 0 ? end.st_uid : nil
  }

  private static func readTarget(of link: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(link, &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }

  private static var workingFolder: String {
    guard let here = realpath(".", nil) else { return "" }
    defer { free(here) }
    let path = String(cString: here)
    return path == "/" ? "" : path
  }

  private static func above(_ folder: String) -> String {
    let parent = PathSteps.folder(of: folder)
    return folder.isEmpty || parent == "/" ? "" : parent
  }
}
