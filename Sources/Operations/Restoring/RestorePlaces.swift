import Platform
import Sealing
import Storage

/// Where a restore would write, by each name that leads there: two paths are compared before anything is there, and either
/// may be by way of a link.
enum RestorePlaces {
  /// Of the database, and of what SQLite keeps beside it.
  static func ofDatabase(at path: String) -> [String] {
    names(of: path).flatMap { name in ([""] + SideFiles.endings).map { name + $0 } }
  }

  /// Of what comes with the version.
  static func ofCompanions(of found: FoundVersion, _ request: Restore.Request, beside path: String) -> [String] {
    homes(of: path, request.mode).flatMap { home in found.companionPlaces(of: request, beside: home).map(\.path) }
  }

  /// Of each single thing that comes with it.
  static func ofMembers(
    of found: FoundVersion, _ request: Restore.Request, beside path: String
  ) -> [(member: Core.Member, places: [String])] {
    let tops = homes(of: path, request.mode).map { found.companionPlaces(of: request, beside: $0) }
    return found.companionMembers.map { member in (member, tops.compactMap { Pull.place(of: member.path, $0) }) }
  }

  /// Of what would come with the next version, as far as the configuration says it.
  static func ofCompanions(of source: DatabaseSource) -> [String] {
    source.companions.flatMap { places(of: $0, beside: source.path) }
  }

  static func places(of companion: Companion, beside path: String) -> [String] {
    homes(of: path, .replace).map { RestoredFile.path(companion.memberPath, in: PathSteps.folder(of: $0)) }
  }

  /// As the path is written, and where it leads.
  static func names(of path: String) -> [String] {
    let written = tidy(path)
    return different(written, real(written))
  }

  /// Beside which names of the database its companions come to lie: a link is followed where something is replaced.
  private static func homes(of path: String, _ mode: Restore.Mode) -> [String] {
    let written = tidy(path)
    guard mode == .new else { return [real(written)] }
    return different(written, inRealFolder(written))
  }

  private static func different(_ path: String, _ other: String) -> [String] {
    MemberPath.isSame(path, other) ? [path] : [path, other]
  }

  private static func tidy(_ path: String) -> String {
    let steps = MemberPath.components(path).filter { $0 != "." }.joined(separator: "/")
    return path.utf8.first == UInt8(ascii: "/") ? "/\(steps)" : steps
  }

  /// Every link followed as far as something is there.
  private static func real(_ path: String) -> String { realPath(path) ?? inRealFolder(path) }

  private static func inRealFolder(_ path: String) -> String {
    let folder = PathSteps.folder(of: path)
    guard folder.utf8.count < path.utf8.count else { return path }
    return RestoredFile.path(RestoredFile.name(of: path), in: real(folder))
  }
}
