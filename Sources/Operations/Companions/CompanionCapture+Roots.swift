import Glibc
import Platform
import Storage

/// Where companions are looked for.
extension CompanionCapture {
  static func refused(of database: DatabaseSource, at real: String) -> [(path: String, refusal: String)] {
    database.companions.compactMap { companion in
      CompanionPlace.refusal(of: companion, beside: real).map { (path: companion.memberPath, refusal: $0) }
    }
  }

  /// The companions that are asked for, and the folder where Core Data puts external files, which may come to be there while
  /// the snapshot is waited for.
  static func roots(of database: DatabaseSource, at real: String, but refused: [String]) -> [CompanionRoot] {
    let folder = PathSteps.folder(of: real)
    let support = database.externalData ? SupportFolder.name(of: real) : nil
    let followed = database.companions.filter { companion in
      !refused.contains { MemberPath.isSame($0, companion.memberPath) }
    }
    var roots = followed.map { companion in
      let place = CompanionPlace(of: companion, beside: real)
      return CompanionRoot(
        folder: place.folder, components: place.components, memberPath: companion.memberPath,
        exclude: ExcludePatterns(companion.exclude), isAsked: true,
        isSupport: support.map { MemberPath.isSame($0, companion.memberPath) } ?? false,
        mayBeLink: place.leadsToDatabase)
    }
    let asked = database.companions.map(\.memberPath)
    if let support, !asked.contains(where: { MemberPath.isSame(support, $0) }) {
      // What of it is named by itself is listed there, with its own exceptions.
      let named = asked.filter { MemberPath.isAbove(support, $0) }
      let end = linkedFolder("\(folder)/\(support)", of: real)
      roots.append(
        CompanionRoot(
          folder: end.map(PathSteps.folder(of:)) ?? folder,
          components: [end.flatMap { MemberPath.components($0).last } ?? support], memberPath: support,
          exclude: ExcludePatterns([]), leaving: named, isAsked: false, isSupport: true, mayBeLink: true))
    }
    return roots
  }

  /// Where a support folder that is a link leads: nobody has named it, so that it is followed only to a folder of whoever
  /// owns the database.
  private static func linkedFolder(_ path: String, of database: String) -> String? {
    var (link, owner, end) = (stat(), stat(), stat())
    guard lstat(path, &link) == 0, link.st_mode & S_IFMT == S_IFLNK, stat(database, &owner) == 0,
      stat(path, &end) == 0, end.st_mode & S_IFMT == S_IFDIR, end.st_uid == owner.st_uid
    else { return nil }
    return realPath(path)
  }
}
