import FoundationEssentials
import Glibc
import Storage

/// How many images of a database there is room for: those of all databases together may take `baseLimit` bytes.
enum BaseRoom: Int, Comparable {
  case none, anchor, both

  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Bases that no push has used for so long, in seconds, go, whether there is room or not: their database is not pushed any
  /// more, or has another name or place, and they are plain copies of it.
  private static let abandonment = 90 * 86_400

  /// What so many bytes have room for.
  init(for length: Int, free: Int) { self = free / 2 >= length ? .both : free >= length ? .anchor : .none }

  /// Bytes that are free where a file comes to lie that is moved to a folder on another file system; `nil` where it is on
  /// the same one, and takes no more there, or where that is not known.
  static func across(_ file: String, _ folder: String) -> Int? {
    var here = stat()
    var there = stat()
    guard stat(file, &here) == 0, stat(folder, &there) == 0, here.st_dev != there.st_dev else { return nil }
    return RestoreRoom.free(in: folder)
  }

  /// The room that the bases of other databases leave, without what was abandoned of them, which goes.
  /// - Parameters:
  ///   - folder: of this database, beside those of others.
  ///   - limit: bytes, of all.
  ///   - length: bytes, of one image of this database.
  ///   - dryRun: nothing is removed.
  static func besides(_ folder: String, limit: Int, length: Int, dryRun: Bool) -> BaseRoom {
    let others = others(than: folder)
    var used = others.reduce(0) { $0 + $1.used }
    for other in others where !dryRun && removeAbandoned(other.path) { used -= other.used }
    return used + 2 * length <= limit ? .both : used + length <= limit ? .anchor : .none
  }

  /// Says that a push uses the bases in a folder though it had nothing to do. Once a day: it is to cost next to nothing.
  static func noteUse(of folder: String) {
    let lock = "\(folder)/lock"
    var status = stat()
    guard lstat(lock, &status) == 0, abs(secondsSince(status.st_mtim)) > 86_400 else { return }
    utimensat(AT_FDCWD, lock, nil, AT_SYMLINK_NOFOLLOW)
  }

  /// The folders of other databases, and what their images take.
  private static func others(than folder: String) -> [(path: String, used: Int)] {
    let hall = PathSteps.folder(of: folder)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: hall)) ?? []
    return names.filter { isName($0) && !folder.hasSuffix($0) }.sorted().map { name in
      let other = "\(hall)/\(name)"
      return (other, bytes(of: BaseName.allCases, in: other))
    }
  }

  /// What images in a folder take.
  static func bytes(of names: [BaseName], in folder: String) -> Int {
    names.reduce(0) { $0 + size(of: $1.image(in: folder)) }
  }

  private static func size(of path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_blocks) * 512 : 0
  }

  /// 32 hexadecimal digits: whatever else lies there is not ours.
  private static func isName(_ name: String) -> Bool {
    name.utf8.count == 32
      && name.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
  }

  /// Removes the images of a folder that no push has used for long, and those of companions, and nothing else in it. What
  /// another process holds is in use.
  private static func removeAbandoned(_ folder: String) -> Bool {
    var status = stat()
    func isAbandoned() -> Bool { secondsSince(status.st_mtim) > abandonment }
    guard lstat("\(folder)/lock", &status) == 0 else { return false }
    // By a clock that was far ahead: its time runs from now on, else it would never end.
    if secondsSince(status.st_mtim) < -86_400 { utimensat(AT_FDCWD, "\(folder)/lock", nil, AT_SYMLINK_NOFOLLOW) }
    guard isAbandoned() else { return false }
    let other = open("\(folder)/lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard other >= 0 else { return false }
    defer { close(other) }
    guard flock(other, LOCK_EX | LOCK_NB) == 0 else { return false }
    defer { flock(other, LOCK_UN) }
    guard fstat(other, &status) == 0, isAbandoned() else { return false }
    BaseName.removeAll(in: folder)
    CompanionBaseFolder.removeAll(in: "\(folder)/companions")
    return true
  }
}
