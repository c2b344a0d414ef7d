import FoundationEssentials
import Glibc

/// A private folder that goes with the value.
package final class Scratch: Sendable {
  package let path: String

  package init() throws {
    path = "\(Self.place)/sealift-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in it.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Where they lie. Thousands of files that live for a moment are most of what the kernel has to do for the suites, and a
  /// disk makes that three times as much; where everything is tried, it is tried on one.
  static let place: String = {
    if let chosen = Environment.value("TMPDIR") { return chosen }
    return !Environment.isWhole && hasRoom("/dev/shm") ? "/dev/shm" : "/tmp"
  }()

  /// For all of them at once, with half as much to spare.
  private static func hasRoom(_ folder: String) -> Bool {
    var room = statvfs()
    return access(folder, W_OK | X_OK) == 0 && statvfs(folder, &room) == 0
      && UInt64(room.f_bavail) > (3 << 30) / max(UInt64(room.f_frsize), 1)
  }
}
