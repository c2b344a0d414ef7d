import CLinux
import Glibc
import Storage

/// Whose a file is and who may use it: what a database that takes the place of another has from it.
struct FileLikeness {
  /// Permission bits.
  let mode: mode_t
  private let owner: uid_t
  private let group: gid_t
  private let attributes: [(name: String, value: [UInt8])]

  /// Access lists, the label of SELinux, and what the user noted. The rest is the system's own business.
  private static func isKept(_ name: String) -> Bool {
    name == accessList || name == "security.selinux" || name.hasPrefix("user.")
  }
  private static let accessList = "system.posix_acl_access"

  /// `nil` when there is no such file.
  init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    mode = status.st_mode & 0o777
    owner = status.st_uid
    group = status.st_gid
    attributes = Self.names(path).filter(Self.isKept).compactMap { name in Self.value(path, name).map { (name, $0) } }
  }

  /// Makes an open file of ours like that one. It is never readable by more people than the other was.
  /// - Parameter namespace: of users; who is not known there is given nothing.
  /// - Returns: what could not be kept.
  func give(to descriptor: Int32, namespace: UserNamespace = .own) -> [String] {
    var remarks: [String] = []
    var mode = mode
    var own = stat()
    guard fstat(descriptor, &own) == 0 else { return ["the mode of the old database could not be kept"] }
    var attributes = attributes
    let isKnownGroup = !namespace.isUnknown(group: group)
    if !isKnownGroup || own.st_gid != group && fchown(descriptor, uid_t.max, group) != 0 {
      // Other people are in the group that it has now: neither its bits nor an access list may speak of them.
      mode &= ~0o070
      attributes.removeAll { $0.name == Self.accessList }
      remarks.append("its group \(group) could not be kept: group access was taken away")
    }
    let listed = attributes.filter { $0.name == Self.accessList }
    // The bits of the group are those of the whole list, where there is one. A new file has one from a folder that has a
    // list for what is made in it: people are in that whom the old file knew nothing of.
    if !listed.isEmpty || !Self.removeAccessList(descriptor) { mode &= ~0o070 }
    if fchmod(descriptor, mode) != 0 { remarks.append("its mode could not be kept") }
    for (name, value) in attributes where fsetxattr(descriptor, name, value, value.count, 0) != 0 {
      remarks.append("its attribute \(name) could not be kept: \(String(cString: strerror(errno)))")
    }
    // What we have made shows that number only where it is our own.
    guard own.st_uid != owner else { return remarks }
    if namespace.isUnknown(user: owner) {
      remarks.append("it belongs to user \(own.st_uid) now: whose it was is not known in this container")
    } else if fchown(descriptor, owner, gid_t.max) != 0 {
      remarks.append("it belongs to user \(own.st_uid) now, and did to \(owner): \(Self.wayToKeepOwner)")
    }
    return remarks
  }

  /// What to do where an owner could not be given.
  static var wayToKeepOwner: String {
    geteuid() == 0
      ? "root may give nothing away there, as where a server takes root for nobody: restore as that user, or on the server"
      : "run as root, or as that user, to keep the owner"
  }

  /// Also the one for what is made in it.
  /// - Returns: whether there is none now; else `errno` says why.
  static func removeAccessLists(ofFolder descriptor: Int32) -> Bool {
    removeAccessList(descriptor)
      && (fremovexattr(descriptor, "system.posix_acl_default") == 0 || [ENODATA, ENOTSUP].contains(errno))
  }

  /// - Returns: whether it has none now; else `errno` says why.
  private static func removeAccessList(_ descriptor: Int32) -> Bool {
    fremovexattr(descriptor, accessList) == 0 || [ENODATA, ENOTSUP].contains(errno)
  }

  private static func names(_ path: String) -> [String] {
    var buffer = [CChar](repeating: 0, count: 1 << 16)
    let count = listxattr(path, &buffer, buffer.count)
    guard count > 0 else { return [] }
    return buffer[..<count].split(separator: 0).map { name in
      String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  private static func value(_ path: String, _ name: String) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = getxattr(path, name, &buffer, buffer.count)
    return count < 0 ? nil : Array(buffer[..<count])
  }
}

extension FileLikeness {
  /// What root makes in another user's folder only root may read, and that user's application finds it there.
  /// - Parameters:
  ///   - path: of a file that was just made.
  ///   - companions: what came with it, which may have found its owner in its place.
  /// - Returns: how to hand all of it over; `nil` where nobody is kept out.
  static func handingOver(_ path: String, with companions: [String] = []) -> String? {
    var file = stat()
    var folder = stat()
    guard lstat(path, &file) == 0, stat(PathSteps.folder(of: path), &folder) == 0 else { return nil }
    guard geteuid() == 0, file.st_uid == 0, folder.st_uid != 0 else { return nil }
    // Nobody can be told here to whom.
    guard !UserNamespace.own.isUnknown(user: folder.st_uid) else { return nil }
    let (user, group) = (folder.st_uid, folder.st_gid)
    let ours = companions.filter { lstat($0, &file) == 0 && file.st_uid == 0 }
    // Whose folder it is may put a link there: it is not to be followed.
    let commands =
      ["chown -h \(user):\(group) \(shellQuoted(path))"]
      + (ours.isEmpty ? [] : ["chown -hR \(user):\(group) \(ours.map(shellQuoted).joined(separator: " "))"])
    return "\(path) belongs to root, and only root may read it; its folder is of user \(user): "
      + "`\(commands.joined(separator: " && "))`"
  }
}
