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
  private let owners: MemberOwners?

  /// Restores all members but the database.
  /// - Parameters:
  ///   - path: of the database, beside which the folder is made.
  ///   - leaving: paths of members that are not restored.
  ///   - finishing: makes them durable and gives them their modes and times; else they are only ours to read.
  ///   - owners: whose they are to be; `nil`: ours.
  ///   - syncing: injected by tests.
  /// - Returns: `nil` when there are none.
  static func restore(
    _ reader: VersionReader, beside path: String, leaving: Set<[UInt8]> = [], finishing: Bool = true,
    owners: MemberOwners? = nil, syncing: MemberTree.Syncing = MemberTree.Syncing(),
    onProgress: @escaping @Sendable (Int) -> Void
  ) async throws -> StagedCompanions? {
    // Also those of another version, which had some.
    sweep(beside: path)
    guard reader.core.members.dropFirst().contains(where: { !leaving.contains(MemberPath.key($0.path)) }) else {
      return nil
    }
    let staged = try StagedCompanions(reader, beside: path, leaving, owners, syncing)
    do {
      try await staged.tree.fill(from: reader, leaving: leaving, finishing: finishing, onProgress: onProgress)
      return staged
    } catch {
      staged.discard()
      throw error
    }
  }

  private init(
    _ reader: VersionReader, beside path: String, _ leaving: Set<[UInt8]>, _ owners: MemberOwners?,
    _ syncing: MemberTree.Syncing
  ) throws {
    let members = reader.core.members.dropFirst().filter { member in
      leaving.isEmpty || !leaving.contains(MemberPath.key(member.path))
    }
    let prefix = Self.prefix(MemberPath.components(path).last ?? "")
    tree = try Self.makeTree(in: PathSteps.folder(of: path), prefix, owners, syncing)
    // Only one that we have made tells what this file system shows of those that a killed run has left.
    if let mode = tree.shownMode, let owner = tree.shownOwner, (mode, owner) != (Self.mode, geteuid()) {
      Self.sweep(beside: path, shown: mode, owner: owner)
    }
    self.owners = owners
    tops = Self.tops(of: members.map(\.path))
    let support = reader.manifest.body.remarks.store?.supportFolder ?? ""
    supportFolder = tops.first { MemberPath.isSame($0, support) }
    files = members.count { $0.file != nil }
  }

  /// The lock is held while we live: a later restore removes only what nobody holds. Whoever sweeps before it is held
  /// takes the folder for a dead run's: then another one is made.
  private static func makeTree(
    in folder: String, _ prefix: String, _ owners: MemberOwners?, _ syncing: MemberTree.Syncing
  ) throws -> MemberTree {
    let path = "\(folder)/\(prefix)\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    let tree = try MemberTree(making: path, owners, syncing: syncing)
    let problem = tree.lock()
    let isLocked = problem == 0 || RestoredFile.knowsNoLocks.contains(problem)
    if isLocked, tree.isNamed { return tree }
    tree.remove()
    guard isLocked || problem == EWOULDBLOCK else {
      throw OperationError.fileSystem("cannot lock \(tree.path)", problem)
    }
    return try makeTree(in: folder, prefix, owners, syncing)
  }

  /// The topmost of some members' paths.
  static func tops(of members: [String]) -> [String] {
    let paths = Set(members.map(MemberPath.key))
    return members.filter { path in !MemberPath.ancestors(of: path).contains { paths.contains($0) } }
  }

  /// The folder of the database, held open.
  var home: FolderHandle { tree.home }

  /// There is more than the folder of a Core Data store's external files.
  var hasOthers: Bool { tops.contains { $0 != supportFolder } }

  /// Gives a folder that was made for members the owner of the database that they come with.
  func giveOwner(_ folder: FolderHandle) { owners?.giveOwnerOfDatabase(folder.descriptor) }

  /// The member is an SQLite database, by its first bytes.
  func isDatabase(_ member: String) -> Bool {
    guard let file = try? open(member) else { return false }
    var start = [UInt8](repeating: 0, count: 16)
    // A folder, and a shorter file, cannot be read so.
    guard (try? start.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }) != nil else { return false }
    return start == Array("SQLite format 3\0".utf8)
  }

  /// Opens the content of a member.
  func open(_ member: String) throws -> RestoredMember { try tree.open(member, O_RDONLY) }

  /// What a top is in its file system, also when it has its place.
  /// - Parameter top: `nil` is all that is left when the folder of external files has its place.
  /// - Returns: `nil` where something in it was closed to us, too.
  func stamp(of top: String?) throws -> PlaceStamp? {
    let own = try tree.place(of: top)
    guard own.stands else { throw OperationError.fileSystem("cannot find \(own.path)", errno) }
    let leaving = top == nil ? [supportFolder].compactMap { $0 } : []
    return PlaceStamp(of: own.name, in: own.folder, leaving: leaving)
  }

  /// Gives a top its place, without replacing anything.
  /// - Parameter top: `nil` is all that has not been moved.
  /// - Throws: `.usage` when something stands there. What failed has no place then.
  func move(_ top: String?, to place: HeldPlace) throws {
    let source = try tree.place(of: top)
    guard let status = source.folder.status(source.name) else {
      throw OperationError.fileSystem("cannot find \(source.path)", errno)
    }
    try Self.demandFree(place)
    let (from, to) = (source.folder.descriptor, place.folder.descriptor)
    guard status.st_mode & S_IFMT == S_IFDIR else {
      guard linkat(from, source.name, to, place.name, 0) == 0 || (errno != EEXIST && source.move(to: place)) else {
        throw OperationError.fileSystem("cannot name \(place.path)", errno)
      }
      unlinkat(from, source.name, 0)
      return
    }
    // Moving a folder writes to it. The empty one that is replaced is ours, and refuses what came to be there meanwhile.
    guard let handle = source.folder.folder(source.name) else {
      throw OperationError.fileSystem("cannot open \(source.path)", errno)
    }
    fchmod(handle.descriptor, 0o700)
    guard Self.hold(place) else { throw OperationError.fileSystem("cannot name \(place.path)", errno) }
    guard source.move(to: place) else {
      let number = errno
      unlinkat(to, place.name, AT_REMOVEDIR)
      throw OperationError.fileSystem("cannot name \(place.path)", number)
    }
    if top == nil { _ = owners?.give(nil, handle.descriptor) }
    // What it was given before was durable, and is so again: the names around it are made so later.
    guard fchmod(handle.descriptor, status.st_mode & 0o7777) == 0, tree.syncing.placed(handle.descriptor) == 0 else {
      let error = OperationError.fileSystem("cannot keep the mode of \(place.path)", errno)
      // Whoever is told that it failed knows of nothing there.
      fchmod(handle.descriptor, 0o700)
      guard place.move(to: source) else { throw error.leaving("; the folder stands there all the same") }
      throw error
    }
  }

  /// Makes an empty folder where one is to come. Should that be the last that is done, a push that finds it must not think
  /// that somebody has emptied it: it is as old as can be.
  static func hold(_ place: HeldPlace) -> Bool {
    guard mkdirat(place.folder.descriptor, place.name, 0o700) == 0 else { return false }
    var longAgo = [timespec(), timespec()]
    utimensat(place.folder.descriptor, place.name, &longAgo, AT_SYMLINK_NOFOLLOW)
    return true
  }

  /// - Throws: `.usage`.
  static func demandFree(_ place: String) throws {
    var status = stat()
    try demandFree(place, stands: lstat(place, &status) == 0)
  }

  /// - Throws: `.usage`.
  static func demandFree(_ place: HeldPlace) throws { try demandFree(place.path, stands: place.stands) }

  /// - Parameter stands: if not, `errno` says why.
  private static func demandFree(_ place: String, stands: Bool) throws {
    guard !stands else {
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
  static func synchronize(_ folder: FolderHandle, beside database: String) throws {
    guard synchronizeNames(in: folder.descriptor) == 0 else {
      throw OperationError.fileSystem("cannot make the names beside \(database) durable", errno)
    }
  }

  /// Removes what was not named.
  func discard() { tree.remove() }

  /// Removes what restores that were killed left beside a file.
  /// - Parameters: see `isOurs`.
  static func sweep(beside path: String, shown: mode_t = StagedCompanions.mode, owner: uid_t = geteuid()) {
    sweep(PathSteps.folder(of: path), prefix(MemberPath.components(path).last ?? ""), shown, owner)
  }

  /// As folders of ours are made.
  static let mode: mode_t = 0o700

  private static func prefix(_ name: String) -> String { ".\(shortName(name)).sealift-members-" }

  private static func sweep(_ folder: String, _ prefix: String, _ shown: mode_t, _ owner: uid_t) {
    guard let handle = FolderHandle(path: folder), let found = handle.names() else { return }
    for name in found.names where name.utf8.starts(with: prefix.utf8) {
      guard let leftover = handle.folder(name), isOurs(leftover, in: handle, shown: shown, owner: owner),
        flock(leftover.descriptor, LOCK_EX | LOCK_NB) == 0
      else { continue }
      MemberTree.remove(leftover, named: name, in: handle)
    }
  }

  /// Whoever else may write in a folder can give such a name to anything there: it has to be as private as we make them.
  /// Where only we may, some file systems show other modes than they were given.
  /// - Parameters:
  ///   - shown: what shows of one that we have made there: no more can be said of any.
  ///   - owner: whose that one shows to be.
  private static func isOurs(_ leftover: FolderHandle, in folder: FolderHandle, shown: mode_t, owner: uid_t) -> Bool {
    guard let own = leftover.ownStatus(), let around = folder.ownStatus(), own.st_uid == owner else { return false }
    let isAlone = [0, geteuid()].contains(around.st_uid) && around.st_mode & 0o022 == 0
    return isAlone || own.st_mode & 0o777 == shown
  }
}

extension StagedCompanions {
  /// What came to lie where.
  struct Published: Sendable {
    /// `FILE.companions`, when there is anything but a support folder.
    var folder: String?
    /// `.FILE_SUPPORT`, for a Core Data store.
    var supportFolder: String?
    fileprivate var places: [HeldPlace] = []

    func discard() { for place in places { place.remove() } }
  }

  /// Where a version's companions come to lie beside a new file.
  static func places(beside path: String) -> (folder: String, support: String) {
    ("\(path).companions", RestoredFile.path(SupportFolder.name(of: path), in: PathSteps.folder(of: path)))
  }

  /// Names everything beside a database that is about to get its name: the folder of external files under the new
  /// store's name, all else in `FILE.companions`.
  /// - Throws: `.usage` when something stands there. Nothing is named then.
  func publish(beside path: String) throws -> Published {
    let places = Self.places(beside: path)
    let (folder, support) = (HeldPlace(home, places.folder), HeldPlace(home, places.support))
    if supportFolder != nil { try Self.demandFree(support) }
    var published = Published()
    do {
      if let supportFolder {
        try move(supportFolder, to: support)
        published.supportFolder = support.path
        published.places.append(support)
      }
      if hasOthers {
        try move(nil, to: folder)
        published.folder = folder.path
        published.places.append(folder)
      } else {
        discard()
      }
      try Self.synchronize(home, beside: path)
      return published
    } catch {
      published.discard()
      throw error
    }
  }
}
