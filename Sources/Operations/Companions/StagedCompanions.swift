import Glibc
import Repositories
import Sealing
import Storage

/// What comes with a version, restored into a private folder beside the place where it will come to lie, and not named
/// yet. Whatever is killed meanwhile leaves that folder only, which the next restore of the same file removes.
final class StagedCompanions: Sendable {
  /// Topmost members, whose parts are named together: of `attachments` with all in it the folder.
  let tops: [String]
  /// The member that is the folder of a Core Data store's external files.
  let supportFolder: String?
  /// How many of the members are files.
  let files: Int
  private let tree: MemberTree
  private let folder: String
  private let lock: FolderHandle
  private let owners: MemberOwners?

  /// Restores all members but the database.
  /// - Parameters:
  ///   - path: of the database, beside which the folder is made.
  ///   - finishing: makes them durable and gives them their modes and times; else they are only ours to read.
  ///   - owners: whose they are to be; `nil`: ours.
  /// - Returns: `nil` when there are none.
  static func restore(
    _ reader: VersionReader, beside path: String, finishing: Bool = true, owners: MemberOwners? = nil,
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws -> StagedCompanions? {
    // Also those of another version, which had some.
    sweep(beside: path)
    guard reader.core.members.count > 1 else { return nil }
    let staged = try StagedCompanions(reader, beside: path, owners)
    do {
      try await staged.tree.fill(from: reader, finishing: finishing, onProgress: onProgress)
      return staged
    } catch {
      staged.discard()
      throw error
    }
  }

  private init(_ reader: VersionReader, beside path: String, _ owners: MemberOwners?) throws {
    let members = reader.core.members.dropFirst()
    folder = RestoredFile.folder(of: path)
    let prefix = Self.prefix(MemberPath.components(path).last ?? "")
    (tree, lock) = try Self.makeTree(in: folder, prefix, owners)
    self.owners = owners
    tops = Self.tops(of: members.map(\.path))
    let support = reader.manifest.body.remarks.store?.supportFolder ?? ""
    supportFolder = tops.first { MemberPath.isSame($0, support) }
    files = members.count { $0.file != nil }
  }

  /// The lock is held while we live: a later restore removes only what nobody holds. Whoever sweeps before it is held
  /// takes the folder for a dead run's: then another one is made.
  private static func makeTree(
    in folder: String, _ prefix: String, _ owners: MemberOwners?
  ) throws -> (MemberTree, FolderHandle) {
    let tree = try MemberTree(making: "\(folder)/\(prefix)\(getpid())-\(UInt32.random(in: 0...UInt32.max))", owners)
    if let lock = FolderHandle(path: tree.path),
      flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 || RestoredFile.knowsNoLocks.contains(errno),
      access(tree.path, F_OK) == 0
    {
      return (tree, lock)
    }
    let problem = errno
    rmdir(tree.path)
    guard problem == EWOULDBLOCK || problem == ENOENT else {
      throw OperationError.fileSystem("cannot lock \(tree.path)", problem)
    }
    return try makeTree(in: folder, prefix, owners)
  }

  /// The topmost of some members' paths.
  static func tops(of members: [String]) -> [String] {
    let paths = Set(members.map(MemberPath.key))
    return members.filter { path in !MemberPath.ancestors(of: path).contains { paths.contains($0) } }
  }

  /// Where a member stands until it is named.
  func path(of member: String) -> String { "\(tree.path)/\(member)" }

  /// There is more than the folder of a Core Data store's external files.
  var hasOthers: Bool { tops.contains { $0 != supportFolder } }

  /// Gives a folder that was made for members the owner of the database that they come with.
  func giveOwner(_ folder: FolderHandle) { owners?.giveOwnerOfDatabase(folder.descriptor) }

  /// The member is an SQLite database, by its first bytes.
  func isDatabase(_ member: String) -> Bool {
    let file = Glibc.open(path(of: member), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return false }
    defer { close(file) }
    var start = [UInt8](repeating: 0, count: 16)
    return read(file, &start, start.count) == start.count && start == Array("SQLite format 3\0".utf8)
  }

  /// Opens the content of a member.
  func open(_ member: String) throws -> RestoredMember { try tree.open(member, O_RDONLY) }

  /// Gives a top its place, without replacing anything. Parents of the place are there.
  /// - Parameter top: `nil` is all that has not been moved.
  /// - Throws: `.usage` when something stands there.
  func move(_ top: String?, to place: String) throws {
    let source = top.map(path(of:)) ?? tree.path
    var status = stat()
    guard lstat(source, &status) == 0 else { throw OperationError.fileSystem("cannot find \(source)", errno) }
    try Self.demandFree(place)
    guard status.st_mode & S_IFMT == S_IFDIR else {
      guard link(source, place) == 0 || (errno != EEXIST && rename(source, place) == 0) else {
        throw OperationError.fileSystem("cannot name \(place)", errno)
      }
      unlink(source)
      return
    }
    // Moving a folder writes to it. The empty one that is replaced is ours, and refuses what came to be there meanwhile.
    guard let handle = FolderHandle(itself: source) else {
      throw OperationError.fileSystem("cannot open \(source)", errno)
    }
    fchmod(handle.descriptor, 0o700)
    guard mkdir(place, 0o700) == 0 else { throw OperationError.fileSystem("cannot name \(place)", errno) }
    guard rename(source, place) == 0 else {
      let number = errno
      rmdir(place)
      throw OperationError.fileSystem("cannot name \(place)", number)
    }
    if top == nil { _ = owners?.give(nil, handle.descriptor) }
    // What it was given before was durable, and is so again: the names around it are made so later.
    guard fchmod(handle.descriptor, status.st_mode & 0o7777) == 0, synchronizeNames(in: handle.descriptor) == 0 else {
      throw OperationError.fileSystem("cannot keep the mode of \(place)", errno)
    }
  }

  /// - Throws: `.usage`.
  static func demandFree(_ place: String) throws {
    var status = stat()
    guard lstat(place, &status) != 0 else {
      throw OperationError(
        .usage, code: "destinationExists", "\(place) exists already",
        hint: "Move it away, or restore under another name; nothing is ever replaced unasked.")
    }
    guard errno != ENAMETOOLONG else {
      throw OperationError(
        .usage, code: "nameTooLong", "\(place): \(String(cString: strerror(errno)))",
        hint: "Restore under a shorter name.")
    }
  }

  /// Makes the names in a folder durable.
  static func synchronize(_ folder: String) throws {
    guard let handle = FolderHandle(path: folder), synchronizeNames(in: handle.descriptor) == 0 else {
      throw OperationError.fileSystem("cannot make \(folder) durable", errno)
    }
  }

  /// Removes what was not named.
  func discard() { tree.remove() }

  /// Removes what restores that were killed left beside a file.
  static func sweep(beside path: String) {
    sweep(RestoredFile.folder(of: path), prefix(MemberPath.components(path).last ?? ""))
  }

  private static func prefix(_ name: String) -> String { ".\(shortName(name)).sealift-members-" }

  private static func sweep(_ folder: String, _ prefix: String) {
    guard let handle = FolderHandle(path: folder), let found = handle.names() else { return }
    for name in found.names where name.utf8.starts(with: prefix.utf8) {
      guard let leftover = handle.folder(name), flock(leftover.descriptor, LOCK_EX | LOCK_NB) == 0 else { continue }
      MemberTree.remove(leftover, named: name, in: handle)
    }
  }
}

extension StagedCompanions {
  /// What came to lie where.
  struct Published: Sendable {
    /// `FILE.companions`, when there is anything but a support folder.
    var folder: String?
    /// `.FILE_SUPPORT`, for a Core Data store.
    var supportFolder: String?

    func discard() { for path in [folder, supportFolder].compactMap({ $0 }) { MemberTree.remove(path) } }
  }

  /// Where a version's companions come to lie beside a new file.
  static func places(beside path: String) -> (folder: String, support: String) {
    ("\(path).companions", "\(RestoredFile.folder(of: path))/\(SupportFolder.name(of: path))")
  }

  /// Names everything beside a database that is about to get its name: the folder of external files under the new
  /// store's name, all else in `FILE.companions`.
  /// - Throws: `.usage` when something stands there. Nothing is named then.
  func publish(beside path: String) throws -> Published {
    let places = Self.places(beside: path)
    if supportFolder != nil { try Self.demandFree(places.support) }
    var published = Published()
    do {
      if let supportFolder {
        try move(supportFolder, to: places.support)
        published.supportFolder = places.support
      }
      if hasOthers {
        try move(nil, to: places.folder)
        published.folder = places.folder
      } else {
        discard()
      }
      try Self.synchronize(folder)
      return published
    } catch {
      published.discard()
      throw error
    }
  }
}
