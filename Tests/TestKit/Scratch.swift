import FoundationEssentials
import Glibc

/// A private folder that goes with the value.
package final class Scratch: Sendable {
  package let path: String

  package convenience init() throws { try self.init(in: Self.place) }

  /// In a folder of the caller's, where a test needs a file system of some kind.
  package init(in place: String) throws {
    path = "\(place)/\(Self.prefix)\(getpid())-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in it.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Where they lie. Thousands of files that live for a moment are most of what the kernel has to do for the suites, and a
  /// disk makes that three times as much; where everything is tried, it is tried on one (`Docs/Decisions/0029`).
  static let place: String = {
    if let chosen = Environment.value("TMPDIR") { return chosen }
    guard !Environment.isWhole else { return "/tmp" }
    sweep("/dev/shm")
    return hasRoom("/dev/shm") ? "/dev/shm" : "/tmp"
  }()

  private static let prefix = "sealift-test-"

  /// Removes what runs that were killed have left in memory: nobody else would, and the next ones would find no room.
  private static func sweep(_ folder: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name.hasPrefix(prefix) {
      guard let process = pid_t(name.dropFirst(prefix.utf8.count).prefix { $0 != "-" }) else { continue }
      if kill(process, 0) != 0, errno == ESRCH { try? FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
    }
  }

  /// For all of them at once, with half as much to spare.
  private static func hasRoom(_ folder: String) -> Bool {
    var room = statvfs()
    return access(folder, W_OK | X_OK) == 0 && statvfs(folder, &room) == 0
      && UInt64(room.f_bavail) > (3 << 30) / max(UInt64(room.f_frsize), 1)
  }
}
