import Glibc
import Repositories
import Sealing
import Storage

/// One of the companions of a database: where it is, and what it is called inside a version.
struct CompanionRoot: Sendable {
  /// Absolute. Of a companion that was named, where the links of its path lead: see `CompanionPlace`.
  let folder: String
  /// Below it.
  let components: [String]
  let memberPath: String
  let exclude: ExcludePatterns
  /// Paths inside the version that another companion brings. What comes beside those is left to it as well, where it is
  /// listed before.
  var leaving: [String] = []
  /// The configuration names it: it should be there.
  let isAsked: Bool
  /// The folder of a Core Data store's external files.
  let isSupport: Bool
  /// It is kept as a link where it is one. Else that is a link that leads nowhere: the companion is missing.
  let mayBeLink: Bool
}

/// All that comes with a database at one moment, found without following a link below the companions that are named,
/// and without opening a file.
struct CompanionListing: Sendable {
  /// Ascending by the bytes of the paths.
  private(set) var entries: [CompanionEntry] = []
  private(set) var events: [Remarks.Capture.Entry] = []
  /// Folders of ours, which are left out.
  private(set) var own: [Own] = []

  struct Own: Sendable, Equatable {
    /// Inside the version, if it were in.
    let path: String
    let name: String
    /// Which of the companions it lies in, by number.
    let root: Int
  }

  /// So deep a tree is listed: each level takes a descriptor.
  private static let deepest = 100
  /// Bytes, as the format has it.
  private static let longestPath = 4096

  /// - Parameters:
  ///   - database: the database's real path; it and its side files are no companions, wherever they lie.
  ///   - folders: of ours, which do not come along, whatever leads to them.
  ///   - opening: called before a folder is opened, with its path inside the version; for tests.
  init(
    of roots: [CompanionRoot], beside database: String, without folders: [OwnFolder] = [],
    opening: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    var lister = Lister(database, folders, opening)
    lister.asked = Set(roots.map { MemberPath.key($0.memberPath) })
    for (number, root) in roots.enumerated() { try lister.list(root, number) }
    entries = lister.entries.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    events = lister.events
    own = lister.own
  }

  private struct Lister {
    private let database: FileStatus?
    private let databaseFolder: FileStatus?
    private let ownNames: Set<[UInt8]>
    private let folders: [OwnFolder]
    /// Asked for with the first folder: a database that has none holds nobody up.
    private lazy var ownFolders = OwnFolder.identities(of: folders)
    /// Paths inside the version of all companions that are named.
    var asked: Set<[UInt8]> = []
    /// Those of side files that a companion before has brought.
    private var brought: Set<[UInt8]> = []
    private let opening: @Sendable (String) -> Void
    var entries: [CompanionEntry] = []
    var events: [Remarks.Capture.Entry] = []
    var own: [Own] = []

    init(_ database: String, _ folders: [OwnFolder], _ opening: @escaping @Sendable (String) -> Void) {
      self.opening = opening
      self.folders = folders
      var status = stat()
      self.database = stat(database, &status) == 0 ? FileStatus(status) : nil
      databaseFolder = stat(PathSteps.folder(of: database), &status) == 0 ? FileStatus(status) : nil
      let name = MemberPath.components(database).last ?? ""
      ownNames = Set(([""] + SideFiles.endings).map { MemberPath.key(name + $0) })
    }

    mutating func list(_ root: CompanionRoot, _ number: Int) throws {
      var status = stat()
      // Nobody misses it, though its folder may be one that shows no names; nor does any file have too long a name.
      if !root.isAsked, lstat(([root.folder] + root.components).joined(separator: "/"), &status) != 0,
        errno == ENOENT || errno == ENAMETOOLONG
      {
        return
      }
      guard let name = root.components.last, let top = FolderHandle(path: root.folder) else {
        noteUnopened(root)
        return
      }
      guard let parent = top.folder(root.components.dropLast()) else {
        noteUnopened(root)
        return
      }
      let before = (entries.count, events.count, own.count)
      try visit(Place(parent: parent, name: name, path: root.memberPath, below: [], root: root, number: number))
      if root.isAsked, (entries.count, events.count, own.count) == before { note(.missing, root.memberPath) }
      guard entries.count > before.0, entries.last?.kind == .file, entries.last?.path == root.memberPath else { return }
      // Of an SQLite database, what was committed may stand beside it.
      for ending in ReadTogether.telling where !asked.contains(MemberPath.key(root.memberPath + ending)) {
        guard let status = parent.status(name + ending), status.st_mode & S_IFMT == S_IFREG else { continue }
        brought.insert(MemberPath.key(root.memberPath + ending))
        try visit(
          Place(
            parent: parent, name: name + ending, path: root.memberPath + ending, below: [], root: root, number: number))
      }
    }

    /// What is not there is missing where it was asked for; what cannot be looked at is told in any case.
    private mutating func noteUnopened(_ root: CompanionRoot) {
      if ![ENOENT, ENOTDIR, ELOOP].contains(errno) {
        note(.unreadable, root.memberPath)
      } else if root.isAsked {
        note(.missing, root.memberPath)
      }
    }

    private struct Place {
      let parent: FolderHandle
      let name: String
      let path: String
      /// Components below the companion.
      let below: [String]
      let root: CompanionRoot
      let number: Int
    }

    private mutating func visit(_ place: Place) throws {
      try Task.checkCancellation()
      guard place.path.utf8.count <= CompanionListing.longestPath, place.below.count <= CompanionListing.deepest else {
        return note(.unreadable, place.path)
      }
      guard let status = place.parent.status(place.name) else {
        // Gone since its folder was listed: as if that had been a moment later.
        if errno != ENOENT { note(.unreadable, place.path) }
        return
      }
      switch status.st_mode & S_IFMT {
      // The database under another name, as a hard link: to open and close it would drop the locks of whoever has it open in
      // this process.
      case S_IFREG where database?.isSameFile(as: FileStatus(status)) == true: return
      case S_IFREG: add(place, .file, status)
      case S_IFLNK: addLink(place, status)
      case S_IFDIR: try visitFolder(place)
      default: note(.skipped, place.path)
      }
    }

    private mutating func visitFolder(_ place: Place) throws {
      opening(place.path)
      guard let folder = place.parent.folder(place.name), let status = folder.ownStatus() else {
        // A folder that was swapped for something else is looked at again as what it is now.
        if errno == ELOOP || errno == ENOTDIR { return try visitSwapped(place) }
        if errno != ENOENT { note(.unreadable, place.path) }
        return
      }
      if let folder = ownFolders[FileIdentity(status)] {
        own.append(Own(path: place.path, name: folder.name, root: place.number))
        return
      }
      add(place, .folder, status)
      guard let found = folder.names() else { return note(.unreadable, place.path) }
      for name in found.unreadable where !place.root.exclude.excludes((place.below + [name])[...]) {
        note(.unreadable, "\(place.path)/\(name)")
      }
      let holdsDatabase = databaseFolder?.isSameFile(as: FileStatus(status)) == true
      for name in found.names {
        if holdsDatabase, ownNames.contains(MemberPath.key(name)) { continue }
        let below = place.below + [name]
        let path = "\(place.path)/\(name)"
        if place.root.exclude.excludes(below[...]) { continue }
        if place.root.leaving.contains(where: { MemberPath.isSame($0, path) }) { continue }
        if !brought.isEmpty, brought.contains(MemberPath.key(path)) { continue }
        try visit(
          Place(parent: folder, name: name, path: path, below: below, root: place.root, number: place.number))
      }
    }

    private mutating func visitSwapped(_ place: Place) throws {
      guard let status = place.parent.status(place.name), status.st_mode & S_IFMT == S_IFLNK else {
        return note(.vanished, place.path)
      }
      addLink(place, status)
    }

    /// What stands for the whole companion is not kept as a link only: nothing of its content would be in the version.
    private mutating func addLink(_ place: Place, _ status: stat) {
      guard !place.below.isEmpty || place.root.mayBeLink else {
        var end = Glibc.stat()
        if fstatat(place.parent.descriptor, place.name, &end, 0) == 0 { errno = ENOENT }
        return noteUnopened(place.root)
      }
      guard let bytes = place.parent.linkBytes(place.name) else {
        // Gone meanwhile: as if that had been a moment earlier.
        if errno != ENOENT { note(.unreadable, place.path) }
        return
      }
      guard let target = String(validating: bytes, as: UTF8.self) else {
        // As with names, U+FFFD shows where it is none.
        return note(.unreadable, "\(place.path) -> \(String(decoding: bytes, as: UTF8.self))")
      }
      add(place, .link(target: target), status)
    }

    private mutating func add(_ place: Place, _ kind: CompanionEntry.Kind, _ status: stat) {
      entries.append(
        CompanionEntry(path: place.path, kind: kind, status: FileStatus(status), root: place.number))
    }

    private mutating func note(_ event: Remarks.Capture.Event, _ path: String) {
      events.append(.init(event, path))
    }
  }

  /// Of everything that shows a change: two listings of one digest are of the same files, left alone.
  var digest: Digest {
    let digest = RunningDigest()
    for entry in entries {
      let status = entry.status
      var text = "\(entry.path.utf8.count):\(entry.path)\(status.device) \(status.inode) \(status.mode) "
      switch entry.kind {
      case .file: text += "file \(status.size) \(status.modified) \(status.changed)\n"
      // What changes in a folder shows in its entries.
      case .folder: text += "folder\n"
      case .link(let target): text += "link \(target.utf8.count):\(target)\n"
      }
      digest.update(Array(text.utf8))
    }
    for event in events where event.event != .vanished {
      digest.update(Array("\(event.event.rawValue) \(event.path)\n".utf8))
    }
    return digest.finish()
  }

  /// Nanoseconds since anything in it was touched last.
  func age(at now: Int64) -> Int64 { entries.reduce(.max) { min($0, $1.status.age(at: now)) } }
}
