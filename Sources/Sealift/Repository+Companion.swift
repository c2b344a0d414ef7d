import Operations

extension Repository {
  /// A file or a folder that belongs to a database: attachments, uploads, keys.
  ///
  /// ```swift
  /// var wiki = Repository.Database.database(named: "wiki", at: "/srv/wiki/wiki.db")
  /// wiki.companions = ["config.json", .path("uploads", excluding: ["*.tmp", "cache/**"])]
  /// ```
  ///
  /// It becomes a part of each version, so captured that nothing the copied database speaks of is missed: what is there
  /// before the copy is taken is held, and what came to be meanwhile is taken along. Modes, times, links (as links) and
  /// holes are kept; only what changed is stored again.
  ///
  /// An SQLite database that this process has open must not lie among them: closing a file drops every lock that the
  /// process holds on it (POSIX, `fcntl`), those of SQLite included. Push it as a database of its own.
  public struct Companion: Sendable, Hashable, ExpressibleByStringLiteral {
    /// Relative to the folder that the database lies in, or absolute. One that is absolute is kept under its last
    /// component, and comes back beside the database.
    public var path: String
    /// What of a folder is left out: patterns in the manner of a shell, `**` for any number of folders. One without a
    /// `/` is tried on names at any depth, another on the path from the companion on.
    public var exclusions: [String]

    /// - Parameters:
    ///   - path: relative to the folder that the database lies in, or absolute; without `..`.
    ///   - patterns: what of a folder is left out; see ``exclusions``.
    public static func path(_ path: String, excluding patterns: [String] = []) -> Companion {
      Companion(path: path, exclusions: patterns)
    }

    /// All of a file or folder.
    public init(stringLiteral path: String) { self.init(path: path, exclusions: []) }

    private init(path: String, exclusions: [String]) {
      self.path = path
      self.exclusions = exclusions
    }
  }
}

extension Repository.Companion {
  var operand: Operations.Companion { Operations.Companion(path, exclude: exclusions) }
}
