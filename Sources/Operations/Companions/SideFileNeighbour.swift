import Glibc
import Repositories

/// What has to be so beside a companion database, or beside the -wal or -journal of one, as long as it is read: SQLite takes
/// what stands beside a database for a part of it, and asks nobody whose it is.
struct SideFileNeighbour: Sendable {
  private enum Condition {
    /// Of what is beside a database that is held open: the name still leads to that one.
    case database(HeldFiles.Held)
    /// Of a database: what was not listed beside it does not come to be while it is written.
    case none(of: [String], listed: FileStatus)
  }

  private let condition: Condition
  /// Of the database.
  private let path: String
  private let root: CompanionRoot

  /// A -wal or a -journal belongs to the database that is sealed. One that belongs to another database by now would be
  /// played into that.
  var isOfHeldDatabase: Bool {
    guard case .database(let held) = condition else { return true }
    var own = stat()
    guard fstat(held.descriptor, &own) == 0, let named = root.status(path) else { return false }
    return FileStatus(named).isSameFile(as: FileStatus(own))
  }

  /// - Parameter now: of the file that was read.
  func fits(_ now: FileStatus) -> Bool {
    guard case .none(let paths, let listed) = condition else { return isOfHeldDatabase }
    // Untouched since it was listed it is whole, whatever has come to be beside it.
    guard now.modified != listed.modified || now.size != listed.size else { return true }
    return !paths.contains { path in (root.status(path)?.st_size ?? 0) > 0 }
  }

  /// Knows what is to be sealed.
  struct Finder {
    private let roots: [CompanionRoot]
    private var held: [[UInt8]: (file: HeldFiles.Held, root: Int)] = [:]
    private var listed: Set<[UInt8]> = []

    init(_ entries: [(entry: CompanionEntry, file: HeldFiles.Held?)], _ roots: [CompanionRoot]) {
      self.roots = roots
      for (entry, file) in entries {
        let key = MemberPath.key(entry.path)
        listed.insert(key)
        held[key] = file.map { ($0, entry.root) }
      }
    }

    /// - Parameter isHeld: what is held itself is what it was.
    func neighbour(of entry: CompanionEntry, isHeld: Bool) -> SideFileNeighbour? {
      guard entry.kind == .file else { return nil }
      if !isHeld, let database = ReadTogether.database(of: entry.path), let known = held[MemberPath.key(database)] {
        return SideFileNeighbour(condition: .database(known.file), path: database, root: roots[known.root])
      }
      let root = roots[entry.root]
      let missing = ReadTogether.telling.map { entry.path + $0 }.filter {
        !listed.contains(MemberPath.key($0)) && !root.excludes($0)
      }
      guard !missing.isEmpty else { return nil }
      return SideFileNeighbour(condition: .none(of: missing, listed: entry.status), path: entry.path, root: root)
    }
  }
}

extension CompanionRoot {
  fileprivate func excludes(_ path: String) -> Bool {
    exclude.excludes(MemberPath.components(of: path, below: memberPath)[...])
  }

  /// What stands under a member's name now.
  fileprivate func status(_ path: String) -> stat? {
    let names = realComponents(of: path)
    guard let name = names.last, let parent = FolderHandle(path: folder)?.folder(names.dropLast()) else { return nil }
    return parent.status(name)
  }
}
