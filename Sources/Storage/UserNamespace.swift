package import Glibc

/// Users and groups whom this process can tell apart. In a container that has its own, all whom it does not know show one
/// number, which may be yet another's outside: it says nothing of whose a file is, and must not be given away to.
package struct UserNamespace: Sendable {
  private let unknownUser: uid_t?
  private let unknownGroup: gid_t?

  package static let own = UserNamespace(
    users: text("/proc/self/uid_map"), groups: text("/proc/self/gid_map"),
    unknownUser: text("/proc/sys/kernel/overflowuid"), unknownGroup: text("/proc/sys/kernel/overflowgid"))

  /// - Parameters: what Linux says of it in these files.
  package init(users: String?, groups: String?, unknownUser: String? = nil, unknownGroup: String? = nil) {
    self.unknownUser = Self.isWhole(users) ? nil : Self.number(unknownUser)
    self.unknownGroup = Self.isWhole(groups) ? nil : Self.number(unknownGroup)
  }

  /// The number stands for all users who are not known here.
  package func isUnknown(user: uid_t) -> Bool { user == unknownUser }

  /// The number stands for all groups that are not known here.
  package func isUnknown(group: gid_t) -> Bool { group == unknownGroup }

  /// Everybody is known: that of the machine itself, or of a kernel that has no others.
  private static func isWhole(_ map: String?) -> Bool {
    guard let map else { return true }
    return map.split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
  }

  private static func number(_ text: String?) -> UInt32 {
    text.flatMap { $0.split(whereSeparator: \.isWhitespace).first.flatMap { UInt32($0) } } ?? 65534
  }

  /// The beginning of a file of the kernel's; a map that is longer is no whole one.
  private static func text(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
  }
}
