import Glibc
import Repositories
import Sealing

/// Members are put in place, each under the very name that it had; nothing is made twice.
extension MemberTree {
  /// Puts all members but the first, the database, in place, and proves them.
  /// - Parameters:
  ///   - leaving: paths of members that are not made.
  ///   - finishing: makes them durable and gives them their modes and times; else they are only ours to read.
  func fill(
    from reader: VersionReader, leaving: Set<[UInt8]> = [], finishing: Bool,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws {
    let members = reader.core.members.enumerated().dropFirst().filter { _, member in
      leaving.isEmpty || !leaving.contains(MemberPath.key(member.path))
    }
    var made: MadeFolders = [:]
    for (_, member) in members {
      try Task.checkCancellation()
      switch member.content {
      case .folder: _ = try makeFolder(MemberPath.components(member.path)[...], &made)
      case .link: _ = try makeFolder(MemberPath.components(member.path).dropLast(), &made)
      case .database(let content), .file(let content):
        try create(member.path, &made).setLength(Int(content.length))
      }
    }
    let paths = reader.core.members.map(\.path)
    try await reader.read(
      members: members.map(\.offset), into: { try self.open(paths[$0], O_RDWR) }, onProgress: onProgress)
    for (_, member) in members { try makeLink(member) }
    guard finishing else { return }
    try finish(members.map(\.element))
  }

  private func create(_ memberPath: String, _ made: inout MadeFolders) throws -> RestoredMember {
    let components = MemberPath.components(memberPath)
    guard let name = components.last else { throw Self.notMade("'\(memberPath)'", EINVAL) }
    let parent = try makeFolder(components.dropLast(), &made)
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = openat(parent.descriptor, name, flags, 0o600)
    guard descriptor >= 0 else { throw Self.notMade("'\(memberPath)'", errno) }
    return RestoredMember(descriptor, path: memberPath)
  }

  /// By their paths.
  private typealias MadeFolders = [[UInt8]: FileIdentity]

  /// Makes what is not there yet of the way to a folder, and the folder.
  /// - Parameter made: the folders that were made so. One that is there and was not has another name than was asked for.
  private func makeFolder(_ components: ArraySlice<String>, _ made: inout MadeFolders) throws -> FolderHandle {
    var folder = root
    var path: [UInt8] = []
    for component in components {
      path += (path.isEmpty ? "" : "/").utf8
      path += component.utf8
      let isNew = made[path] == nil
      if isNew {
        let problem = makeOne(folder.descriptor, component)
        guard problem == 0 || (problem == EEXIST && Self.isOurs(component, in: folder, made)) else {
          throw Self.notMade("'\(String(decoding: path, as: UTF8.self))'", problem)
        }
      }
      guard let next = try enter(component, in: folder) else {
        let problem = errno
        throw Self.notMade("'\(String(decoding: path, as: UTF8.self))'", problem)
      }
      if isNew, let status = next.ownStatus() { made[path] = FileIdentity(status) }
      folder = next
    }
    return folder
  }

  /// A server of files whose answer was lost is asked again, and says that the folder is there. Nobody else makes any
  /// in this tree: it has the very name that was asked for, and was not made as another member's.
  private static func isOurs(_ name: String, in folder: FolderHandle, _ made: MadeFolders) -> Bool {
    guard let status = folder.status(name), status.st_mode & S_IFMT == S_IFDIR,
      !made.values.contains(FileIdentity(status)), let found = folder.names()
    else { return false }
    // By its bytes: texts may be equal that are different names.
    return found.names.contains { $0.utf8.elementsEqual(name.utf8) }
  }

  /// Nothing is made twice: what is there under the name of a member is another member.
  private static func notMade(_ what: String, _ number: Int32) -> OperationError {
    guard number == EEXIST else { return .fileSystem("cannot make \(what)", number) }
    return OperationError(
      .failed, code: "namesCollide", "cannot make \(what): another of the files has that name here",
      hint: "This file system takes different names for one, as of capitals and small letters: restore to another one.")
  }

  private func makeLink(_ member: Core.Member) throws {
    guard case .link(let target) = member.content else { return }
    let (parent, name) = try parent(of: member)
    guard symlinkat(target, parent.descriptor, name) == 0 else {
      throw Self.notMade("the link '\(member.path)'", errno)
    }
    owners?.giveLink(member.path, name, in: parent)
    // A link's time is no loss where a file system keeps none.
    var times = Self.times(member)
    utimensat(parent.descriptor, name, &times, AT_SYMLINK_NOFOLLOW)
  }
}
