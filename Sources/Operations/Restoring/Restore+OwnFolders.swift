import Glibc
import Platform
import Storage

/// What comes with a version takes the place of whole folders, or finds them in the way of a new file, to be moved by hand.
/// Where a repository or the state folder lies in one, as builds before have captured it, an older one would come in its
/// place, and nothing would know of what was pushed since.
extension FoundVersion {
  /// - Parameter path: of the restored database; without links where something is replaced.
  /// - Throws: `.usage`.
  func demandNoOwnFolder(of request: Restore.Request, beside path: String, _ world: World) throws {
    var places = companionPlaces(of: request, beside: path).map(\.path)
    if request.mode == .replace {
      places += SetAside(path, time: "", leavingCompanions: leavesCompanions).plan.map(\.from)
    }
    let search = OwnFolderSearch(world.ownFolders(for: self))
    for place in places {
      guard let (found, own) = search.found(at: place) else { continue }
      let fact = MemberPath.isSame(found, place) ? "is \(own.name)" : "has \(own.name) in it (\(found))"
      let consequence = request.mode == .new ? "it is in the way" : "it would be moved aside or written over"
      throw OperationError(
        .usage, code: "ownFolderInTheWay", "\(place) \(fact): \(consequence)",
        hint: layout(of: request, at: path) == .inPlace
          ? "Restore it with --to FILE, where companions come to lie in FILE.companions, or the database alone with "
            + "--no-companions."
          : "Name another file, or restore the database alone with --no-companions.")
    }
  }
}

/// Looks for folders of ours in what stands somewhere, by what they are: whatever link or mount leads to them.
private struct OwnFolderSearch {
  private let folders: [OwnFolder]
  private let known: [FileIdentity: OwnFolder]

  init(_ folders: [OwnFolder]) {
    self.folders = folders
    known = OwnFolder.identities(of: folders)
  }

  /// - Returns: the path of what was found, and what it is.
  func found(at place: String) -> (path: String, folder: OwnFolder)? {
    guard !known.isEmpty, let folder = FolderHandle(path: PathSteps.folder(of: place)) else { return nil }
    let name = RestoredFile.name(of: place)
    guard let status = folder.status(name), status.st_mode & S_IFMT == S_IFLNK else {
      return found(name, in: folder, place)
    }
    // The link goes aside, and what it leads to stays: only a way through it is lost.
    let link = FileIdentity(status)
    let through = folders.first { own in
      FileIdentity(ofFolderKnownAt: own.path) != nil && Self.way(to: own).contains { FileIdentity(at: $0) == link }
    }
    return through.map { ($0.path, $0) }
  }

  private static func way(to own: OwnFolder) -> [String] {
    [own.path] + MemberPath.ancestors(of: own.path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// No link in it is followed.
  private func found(_ name: String, in parent: FolderHandle, _ path: String) -> (path: String, folder: OwnFolder)? {
    guard let status = parent.status(name), status.st_mode & S_IFMT == S_IFDIR else { return nil }
    if let own = known[FileIdentity(status)] { return (path, own) }
    guard let folder = parent.folder(name) else { return nil }
    for inner in folder.names()?.names ?? [] {
      if let own = found(inner, in: folder, RestoredFile.path(inner, in: path)) { return own }
    }
    return nil
  }
}

extension Restore {
  /// Of a configuration: folders of ours in what comes with databases.
  /// - Throws: `.usage` where a companion is one.
  package static func ownFolders(
    _ folders: [OwnFolder], among databases: [DatabaseSource]
  ) throws(OperationError) -> [String] {
    var remarks: [String] = []
    for source in databases {
      for companion in source.companions {
        let place = CompanionPlace(of: companion, beside: realPath(source.path) ?? source.path)
        let top = RestoredFile.path(place.components.joined(separator: "/"), in: place.folder)
        for own in folders {
          let names = RestorePlaces.names(of: own.path)
          if names.contains(where: { MemberPath.isSame(top, $0) }) { throw source.mistaken(companion, own.name) }
          guard let inside = names.first(where: { MemberPath.isAbove(top, $0) }) else { continue }
          let fact = "\(own.name) lies in its companion '\(companion.path)' (\(inside)): versions go without it"
          let consequence = ", and a restore that would move it aside is refused; it is better kept elsewhere"
          remarks.append("'\(source.name)': \(fact)\(own.isDispensable ? "" : consequence)")
        }
      }
    }
    return remarks
  }
}
