import CLinux
import Glibc
import Platform
import Sealing

/// What stands in a place, as words that nobody keeps who changes any of it: of a file which one it is, its length and its
/// time; of a folder which one it is, and the same of all that is in it. No content is read, and no link followed.
///
/// Times are compared with themselves, not with each other: a clock that goes back hides nothing. What gets its place is
/// touched by that, and its own mode and time of change do not count; what is in it is not.
struct PlaceStamp: Equatable {
  /// Never empty.
  let text: String

  init(noted text: String) { self.text = text }

  /// - Parameter leaving: names in that folder which do not count.
  /// - Returns: `nil` where nothing stands, or where something cannot be looked at.
  init?(of name: String, in folder: FolderHandle, leaving: [String] = []) {
    guard let status = folder.status(name) else { return nil }
    let identity = "\(Self.identity(status)) \(Self.birth(of: name, in: folder))"
    guard status.st_mode & S_IFMT == S_IFDIR else {
      text = "\(identity) \(status.st_size) \(Self.words(status.modificationTime))"
      return
    }
    let digest = RunningDigest()
    guard let inner = folder.folder(name), Self.add(contentOf: inner, leaving: leaving, to: digest) else { return nil }
    text = "\(identity) \(digest.finish().hex)"
  }

  /// - Returns: false where not all of it can be looked at.
  private static func add(contentOf folder: FolderHandle, leaving: [String], to digest: RunningDigest) -> Bool {
    guard let found = folder.names(), found.unreadable.isEmpty else { return false }
    let names = found.names.filter { name in !leaving.contains { MemberPath.isSame($0, name) } }
    for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      guard let status = folder.status(name) else { return false }
      let times = "\(words(status.modificationTime)) \(words(status.statusChangeTime))"
      digest.update(Array("\(name)\0\(identity(status)) \(status.st_size) \(times)\0".utf8))
      guard status.st_mode & S_IFMT == S_IFDIR else { continue }
      guard let inner = folder.folder(name), add(contentOf: inner, leaving: [], to: digest) else { return false }
    }
    // No name is empty: this ends the folder.
    digest.update(Array("\0".utf8))
    return true
  }

  private static func identity(_ status: stat) -> String { "\(status.st_mode & S_IFMT) \(status.st_ino)" }

  private static func words(_ time: timespec) -> String { "\(time.tv_sec).\(time.tv_nsec)" }

  /// A file system may give the number of what is gone to the next that is made. `-` where it keeps no such time.
  static func birth(of name: String, in folder: FolderHandle) -> String {
    var (seconds, nanoseconds): (Int64, UInt32) = (0, 0)
    guard sl_born(folder.descriptor, name, &seconds, &nanoseconds) == 0 else { return "-" }
    return "\(seconds).\(nanoseconds)"
  }
}
