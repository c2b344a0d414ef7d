/// One version as people see it in `list`, `show` and at the end of `push`.
package struct VersionSummary: Codable, Sendable {
  /// 64 hexadecimal digits; a prefix is enough to name it.
  package var id: String
  package var database: String
  package var host: String
  /// The target's name.
  package var target: String
  /// When the snapshot was taken: milliseconds since 1970 UTC.
  package var time: UInt64
  /// Bytes of the database image.
  package var size: Int
  package var pageSize: Int
  package var pages: Int
  package var method: String
  /// Bytes this version added to the target: its packs and its manifest, in which small changes ride.
  package var bytesNew: Int
  package var sequence: UInt64
  package var tags: [String]
  package var note: String
  /// The database failed its own check when this version was taken.
  package var damaged: Bool
  /// The check needs an application's function or collation and could not be made.
  package var notCheckable: Bool
  /// Plain SHA-256 of the restored file, hexadecimal.
  package var sha256: String
  /// Format version of the sealed objects.
  package var formatVersion: Int
  /// The fork number of its chain, where that is not 0. Set where it was found out: nothing at a target says it.
  package var fork: UInt32?
  /// No rule forgets it.
  package var pinned = false
  /// It does not count any more, and is still there until a prune. Set where that was looked at.
  package var forgotten = false
  /// The last drill: when, in milliseconds since 1970 UTC; whether it passed; why not, or what was tried.
  package var drilledAt: UInt64?
  package var drillPassed: Bool?
  package var drillText: String?
  /// What was found damaged at the target since it was pushed.
  package var foundDamaged: String?
  /// What was said of it since it was pushed was not read, or not all of it: its tags and its note are those of the push and
  /// of what was read, and of the rest no more is known. Optional, as summaries are kept on disk from one push to the next.
  package var wordsUnread: Bool?
  /// A companion that earlier versions had is not in it, or none of a store's external files; `nil`: not known.
  package var lacksCompanions: Bool?
  /// `<sequence>-<first 16 digits of the id>`: to note elsewhere, for `--expect`.
  package var head: String

  package init(
    id: String, database: String, host: String, target: String, time: UInt64, size: Int, pageSize: Int, pages: Int,
    method: String, bytesNew: Int, sequence: UInt64, tags: [String], note: String, damaged: Bool, notCheckable: Bool,
    sha256: String, formatVersion: Int
  ) {
    self.id = id
    self.database = database
    self.host = host
    self.target = target
    self.time = time
    self.size = size
    self.pageSize = pageSize
    self.pages = pages
    self.method = method
    self.bytesNew = bytesNew
    self.sequence = sequence
    self.tags = tags
    self.note = note
    self.damaged = damaged
    self.notCheckable = notCheckable
    self.sha256 = sha256
    self.formatVersion = formatVersion
    self.head = "\(sequence)-\(id.prefix(16))"
  }
}
