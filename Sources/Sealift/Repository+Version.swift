public import FoundationEssentials
import Operations

extension Repository {
  /// A copy of a database that was pushed to a repository.
  public struct Version: Sendable, Identifiable, Hashable {
    /// 64 hexadecimal digits; at least 4 of them name it, while no other version begins with the same.
    public let id: String
    /// The name of the database.
    public let database: String
    /// The host that pushed it.
    public let host: String
    /// When the copy was taken.
    public let time: Date
    /// Bytes of the database file.
    public let size: Int
    /// Bytes that this version added to the target.
    public let bytesNew: Int
    /// How the copy was made.
    public let method: String
    public let tags: [String]
    public let note: String
    /// The database failed SQLite's check when this version was taken.
    public let isDamaged: Bool
    /// No rule forgets it. Of a push that stored nothing this is `false`, and ``tags`` and ``note`` are those that the
    /// version was pushed with: what was said of it since is not read then.
    public let isPinned: Bool
    /// SHA-256 of the file that a pull writes, in hexadecimal.
    public let sha256: String
    /// A code to note elsewhere: who has it can prove later that the target was not rolled back. See
    /// ``Repository/pull(_:to:expecting:companions:progress:)``.
    public let head: String
  }
}

extension Repository.Version {
  init(_ version: VersionSummary) {
    self.init(
      id: version.id, database: version.database, host: version.host,
      time: Date(milliseconds: Int64(clamping: version.time)), size: version.size, bytesNew: version.bytesNew,
      method: version.method, tags: version.tags, note: version.note, isDamaged: version.damaged,
      isPinned: version.pinned, sha256: version.sha256, head: version.head)
  }
}
