import CLinux
import Glibc
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
  let root: FolderHandle

  let owners: MemberOwners?
  let syncing: Syncing
  let makeOne: MakeFolder

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

  /// - Returns: `nil`, and `errno`, when it is not there.
  func folder(_ components: ArraySlice<String>) throws -> FolderHandle? {
    var folder = root
    for component in components {
      guard let next = try enter(component, in: folder) else { return nil }
      folder = next
    }
    return folder
  }

  /// - Returns: `nil`, and `errno`, when it cannot be opened.
  func enter(_ component: String, in folder: FolderHandle) throws -> FolderHandle? {
    if let next = folder.folder(component) { return next }
    guard errno == ELOOP || errno == ENOTDIR else { return nil }
    throw OperationError(
      .verificationFailed, code: "hostileMember",
      "a member would be written through '\(component)', which is no folder")
  }

  func parent(of member: Core.Member) throws -> (FolderHandle, String) {
    let components = MemberPath.components(member.path)
    guard let name = components.last, let parent = try folder(components.dropLast()) else {
      throw OperationError.fileSystem("cannot find '\(member.path)'", errno)
    }
    return (parent, name)
  }
}
