import Glibc
import Sealing
import Storage

/// Members that are in place get the modes and times that they had, and are made durable.
extension MemberTree {
  /// Gives modes and times, and makes all of it durable: what is many is asked for at once, and each file then whether its
  /// content went well. What files are given after that is made durable at once, too: one by one it would cost a commit of
  /// the file system's journal for every file.
  func finish(_ members: [Core.Member]) throws {
    try synchronizeAll()
    for member in members where member.file != nil { try finishFile(member) }
    // The deepest first: times of a folder change with what is put in it, and one that is closed lets nobody in.
    let folders = members.filter { $0.content == .folder }
    for member in folders.sorted(by: { $1.path.utf8.lexicographicallyPrecedes($0.path.utf8) }) {
      try finishFolder(member)
    }
    guard synchronizeNames(in: root.descriptor) == 0 else {
      throw OperationError.fileSystem("cannot make durable \(path)", errno)
    }
    try synchronizeAll()
  }

  private func synchronizeAll() throws {
    guard syncing.all(root.descriptor) == 0 else {
      throw OperationError.fileSystem("cannot make durable \(path)", errno)
    }
  }

  private func finishFile(_ member: Core.Member) throws {
    let (parent, name) = try parent(of: member)
    let descriptor = parent.file(name)
    guard descriptor >= 0 else { throw OperationError.fileSystem("cannot open '\(member.path)'", errno) }
    defer { close(descriptor) }
    guard syncing.file(descriptor) == 0 else {
      throw OperationError.fileSystem("cannot make durable '\(member.path)'", errno)
    }
    try giveModeAndTime(to: member, descriptor)
  }

  private func finishFolder(_ member: Core.Member) throws {
    guard let folder = try folder(MemberPath.components(member.path)[...]) else {
      throw OperationError.fileSystem("cannot open '\(member.path)'", errno)
    }
    try giveModeAndTime(to: member, folder.descriptor)
    guard synchronizeNames(in: folder.descriptor) == 0 else {
      throw OperationError.fileSystem("cannot make durable '\(member.path)'", errno)
    }
  }

  /// Never more than what the owner had: no set-user-id bit comes out of a backup.
  private func giveModeAndTime(to member: Core.Member, _ descriptor: Int32) throws {
    var times = Self.times(member)
    let mode = mode_t(member.mode & 0o777) & (owners?.give(member.path, descriptor) ?? 0o777)
    guard futimens(descriptor, &times) == 0, fchmod(descriptor, mode) == 0 else {
      throw OperationError.fileSystem("cannot set mode and time of '\(member.path)'", errno)
    }
  }

  /// Of access and of modification.
  static func times(_ member: Core.Member) -> [timespec] {
    let seconds = min(member.modified / 1000, 0x3_FFFF_FFFF)
    let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(member.modified % 1000) * 1_000_000)
    return [time, time]
  }
}
