import CLinux
import Glibc
import Repositories
import Sealing
import Storage

/// A private folder in which members of a version are put together: reached by its descriptor, name by name, and no link
/// in it is ever followed. Links are made last, modes and times of folders after them.
final class MemberTree: Sendable {
  /// How content is made durable: 0, or -1 and `errno`.
  struct Syncing: Sendable {
    /// One file.
    var file: @Sendable (_ descriptor: Int32) -> Int32 = { fsync($0) }
    /// Everything of a file system. Of this one only: another one that does not answer is none of our business.
    var all: @Sendable (_ descriptor: Int32) -> Int32 = { syncfs($0) }
    /// The names in a folder that has got its place.
    var placed: @Sendable (_ descriptor: Int32) -> Int32 = { synchronizeNames(in: $0) }
  }

  let path: String
  /// The folder that it is made in.
  let home: FolderHandle
  private let root: FolderHandle

  private let owners: MemberOwners?
  let syncing: Syncing
  private let makeOne: MakeFolder

  /// Makes a folder (0700) in one that is open.
  /// - Returns: 0, or what was wrong.
  typealias MakeFolder = @Sendable (_ parent: Int32, _ name: String) -> Int32

  /// Makes the folder (0700), which must not exist.
  /// - Parameters:
  ///   - owners: whose the members are to be; `nil`: ours.
  ///   - syncing: injected by tests.
  ///   - ownerOfOurs: what shows as the owner of what we make in a folder; injected by tests.
  ///   - makeFolder: injected by tests.
  init(
    making path: String, _ owners: MemberOwners? = nil, syncing: Syncing = Syncing(),
    ownerOfOurs: (FolderHandle) -> uid_t? = MemberTree.ownerOfOurs(in:),
    makeFolder: @escaping MakeFolder = { mkdirat($0, $1, 0o700) == 0 ? 0 : errno }
  ) throws {
    let (folder, name) = (PathSteps.folder(of: path), RestoredFile.name(of: path))
    guard let home = FolderHandle(path: folder) else { throw OperationError.fileSystem("cannot make \(path)", errno) }
    let problem = makeFolder(home.descriptor, name)
    guard problem == 0 else { throw OperationError.fileSystem("cannot make \(path)", problem) }
    guard let root = home.folder(name), let owner = root.ownStatus()?.st_uid else {
      let problem = errno
      unlinkat(home.descriptor, name, AT_REMOVEDIR)
      throw OperationError.fileSystem("cannot open \(path)", problem)
    }
    guard owner == geteuid() || owner == ownerOfOurs(root) else {
      unlinkat(home.descriptor, name, AT_REMOVEDIR)
      throw OperationError(
        .failed, code: "fileSystem", "\(path), which was made just now, shows another owner than this user: \(owner)",
        hint: "Run as that user, or restore to another file system.")
    }
    self.path = path
    self.home = home
    self.root = root
    self.owners = owners
    self.syncing = syncing
    makeOne = makeFolder
    // A folder may have a list of people who get access to whatever is made in it: members have the modes that they had,
    // and no more.
    guard FileLikeness.removeAccessLists(ofFolder: root.descriptor), fchmod(root.descriptor, 0o700) == 0 else {
      let problem = errno
      unlinkat(home.descriptor, name, AT_REMOVEDIR)
      throw OperationError.fileSystem("cannot make \(path) private", problem)
    }
  }

  /// Some file systems show one owner of all that is in them, and servers of files take root for somebody else. Where owners
  /// are told apart, a file that we make is ours, whoever has put the folder there.
  static func ownerOfOurs(in folder: FolderHandle) -> uid_t? {
    let name = "owner"
    let descriptor = openat(folder.descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    defer {
      close(descriptor)
      unlinkat(folder.descriptor, name, 0)
    }
    var status = stat()
    return fstat(descriptor, &status) == 0 ? status.st_uid : nil
  }

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

  /// Gives modes and times, and makes all of it durable: what is many is asked for at once, and each file then whether its
  /// content went well. What files are given after that is made durable at once, too: one by one it would cost a commit of
  /// the file system's journal for every file.
  private func finish(_ members: [Core.Member]) throws {
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

  /// Keeps others from taking it for a dead run's, as long as this lives.
  /// - Returns: 0, or what was wrong.
  func lock() -> Int32 { flock(root.descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno }

  /// What shows of its mode. Some file systems show of all folders what they were mounted with.
  var shownMode: mode_t? { root.ownStatus().map { $0.st_mode & 0o777 } }
  var shownOwner: uid_t? { root.ownStatus()?.st_uid }

  /// Nobody has taken its name away, or given it to something else.
  var isNamed: Bool {
    guard let own = root.ownStatus(), let named = home.status(RestoredFile.name(of: path)) else { return false }
    return FileIdentity(own) == FileIdentity(named)
  }

  /// Where a member stands; the whole tree, for `nil`.
  func place(of member: String?) throws -> HeldPlace {
    guard let member else {
      guard isNamed else { throw OperationError.fileSystem("cannot find \(path)", ENOENT) }
      return HeldPlace(home, path)
    }
    guard let parent = try folder(MemberPath.components(member).dropLast()) else {
      throw OperationError.fileSystem("cannot find '\(member)'", errno)
    }
    return HeldPlace(parent, "\(path)/\(member)")
  }

  /// Removes it, unless it has another name by now.
  func remove() {
    if isNamed { Self.remove(root, named: RestoredFile.name(of: path), in: home) }
  }

  /// Removes a folder that is held open with all in it, wherever its name leads by now, and also where folders in it were
  /// closed to everybody.
  static func remove(_ folder: FolderHandle, named name: String, in parent: FolderHandle) {
    removeContent(of: folder)
    unlinkat(parent.descriptor, name, AT_REMOVEDIR)
  }

  private static func removeContent(of folder: FolderHandle) {
    fchmod(folder.descriptor, 0o700)
    guard let found = folder.names() else { return }
    for name in found.names {
      guard folder.status(name).map({ $0.st_mode & S_IFMT == S_IFDIR }) == true else {
        unlinkat(folder.descriptor, name, 0)
        continue
      }
      fchmodat(folder.descriptor, name, 0o700, AT_SYMLINK_NOFOLLOW)
      if let inner = folder.folder(name) { removeContent(of: inner) }
      unlinkat(folder.descriptor, name, AT_REMOVEDIR)
    }
  }

  /// - Throws: `.failed`; `.verificationFailed` where a folder is not what was made.
  func open(_ memberPath: String, _ flags: Int32) throws -> RestoredMember {
    let components = MemberPath.components(memberPath)
    guard let name = components.last, let parent = try folder(components.dropLast()) else {
      throw OperationError.fileSystem("cannot open '\(memberPath)'", errno)
    }
    let descriptor = openat(parent.descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw OperationError.fileSystem("cannot open '\(memberPath)'", errno) }
    return RestoredMember(descriptor, path: memberPath)
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

  /// - Returns: `nil`, and `errno`, when it is not there.
  private func folder(_ components: ArraySlice<String>) throws -> FolderHandle? {
    var folder = root
    for component in components {
      guard let next = try enter(component, in: folder) else { return nil }
      folder = next
    }
    return folder
  }

  /// - Returns: `nil`, and `errno`, when it cannot be opened.
  private func enter(_ component: String, in folder: FolderHandle) throws -> FolderHandle? {
    if let next = folder.folder(component) { return next }
    guard errno == ELOOP || errno == ENOTDIR else { return nil }
    throw OperationError(
      .verificationFailed, code: "hostileMember",
      "a member would be written through '\(component)', which is no folder")
  }

  private func parent(of member: Core.Member) throws -> (FolderHandle, String) {
    let components = MemberPath.components(member.path)
    guard let name = components.last, let parent = try folder(components.dropLast()) else {
      throw OperationError.fileSystem("cannot find '\(member.path)'", errno)
    }
    return (parent, name)
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
