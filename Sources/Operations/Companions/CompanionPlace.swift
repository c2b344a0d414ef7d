import Platform
import Storage

/// Where a companion is that somebody named: at the end of the links of its path, which are that person's own. They are
/// followed once; what is swapped for a link afterwards, and every link below, is not followed.
struct CompanionPlace {
  /// Absolute.
  let folder: String
  /// Below it.
  let components: [String]
  /// It is another name of the database or of a side file. Those are never opened as files are: closing one would end the
  /// locks that SQLite holds in this process.
  let leadsToDatabase: Bool

  /// - Parameter database: its real path.
  init(of companion: Companion, beside database: String) {
    let named = Self.named(companion, beside: database)
    let real = realPath(Self.path(named))
    leadsToDatabase = ([""] + SideFiles.endings).contains { MemberPath.isSame(real ?? "", database + $0) }
    guard let real, let name = MemberPath.components(real).last, !leadsToDatabase else {
      // As far as it can be gone without following anything: it is missing, or cannot be looked at.
      (folder, components) = named
      return
    }
    folder = PathSteps.folder(of: real)
    components = [name]
  }

  /// Where another user leads root to what is not theirs: in words.
  static func refusal(of companion: Companion, beside database: String) -> String? {
    ForeignLink.refusal(on: path(named(companion, beside: database)), writing: false)
  }

  private static func named(_ companion: Companion, beside database: String) -> (folder: String, components: [String]) {
    (companion.isAbsolute ? "/" : PathSteps.folder(of: database), companion.components)
  }

  private static func path(_ named: (folder: String, components: [String])) -> String {
    "\(named.folder == "/" ? "" : named.folder)/\(named.components.joined(separator: "/"))"
  }
}
