import Glibc
import Repositories
import Storage

/// What restores of a database that were killed have noted beside it, and nobody has settled: rows and files that stand there
/// may be of two moments, or lie under other names.
struct UnfinishedRestore {
  /// The database's real path.
  let database: String
  private let live: LiveIntent
  private let replace: ReplaceIntent
  private let new: NewIntent

  /// Reads the notes; what stands there is looked at whenever it is asked for.
  init(of path: String) {
    database = (try? Restore.realPlace(of: path)) ?? path
    live = LiveIntent(database: database)
    replace = ReplaceIntent(database: database)
    new = NewIntent(database: database)
  }

  private var told: [(note: String, remark: String)] {
    [(live.path, live.remark), (replace.path, replace.remark), (new.path, new.remark)]
      .compactMap { note, remark in remark.map { (note, $0) } }
  }

  /// Said before another restore of the database begins. Of where none stands a restore says by itself what is left.
  var remarks: [String] { told.map(\.remark) }

  /// Said of a push as long as that is so: what it takes may be of two versions, and would be the newest one.
  func shortfall(of database: DatabaseSource) -> OperationError? {
    let told = told
    guard !told.isEmpty else { return nil }
    let notes = told.map { shellQuoted($0.note) }.joined(separator: " ")
    // What says where the old files are is not to be removed unread.
    let isUnread = live.isUnknown || new.isUnknown || replace.isUnusable
    return OperationError(
      .partlyDone, code: "unfinishedRestore",
      "'\(database.name)': \(told.map(\.remark).joined(separator: "; "))",
      hint: isUnread
        ? "Restore as the user who did then, who can read that. Or \(ReplaceIntent.lookingBeside)."
        : "Versions from before it are whole: restore one with what comes along. Where files and rows fit, say so: rm \(notes)."
    )
  }

  /// When the first of them was noted, in milliseconds since 1970: what was pushed since may be of two versions.
  var since: UInt64? {
    told.compactMap { note, _ in
      Self.time(of: note).map { UInt64(min(max($0.tv_sec, 0), 1 << 50)) * 1000 + UInt64($0.tv_nsec / 1_000_000) }
    }.min()
  }

  /// Of a database that a push does not find: where it is, and how it comes back.
  func explained(_ lack: OperationError) -> OperationError {
    guard case .inBetween = replace.state else { return replace.remark.map { lack.leaving("; \($0)") } ?? lack }
    do { try replace.demandSettled() } catch {
      let settling = OperationError(error)
      return lack.leaving("; \(settling.message)", hint: settling.hint)
    }
    return lack
  }

  /// A restore has ended, with all that comes along. What those that did not end have left of other files is as it was.
  /// - Parameters:
  ///   - companions: where that is.
  ///   - path: of the database, as it was restored.
  func settle(_ companions: [String], beside path: String) {
    let put = PutPlaces(companions, beside: database, restoredAs: path)
    live.settle(put)
    new.settle(put)
    if case .inBetween = replace.state { return }
    if replace.aside != nil { try? replace.settle(put) }
  }

  /// When a note was written, or the first of those whose place it took.
  static func time(of note: String) -> timespec? {
    var status = stat()
    return lstat(note, &status) == 0 ? status.st_mtim : nil
  }

  /// There is a note, and what it says is not known: it is another user's, or root's, who alone may read it.
  static func isUnknown(_ note: String, _ read: () throws -> [UInt8]?) -> Bool {
    var status = stat()
    guard lstat(note, &status) == 0 else { return false }
    // No restore has left a folder or a link there, and nobody removes a folder as a note is removed.
    guard status.st_mode & S_IFMT == S_IFREG else { return false }
    do {
      _ = try read()
      return false
    } catch {
      return true
    }
  }
}

extension Restore {
  /// What is to be said of a database that stands, where an earlier restore did not end.
  package static func remarks(on path: String) -> [String] { UnfinishedRestore(of: path).remarks }

  /// By name, since when a restore into a database has not ended: milliseconds since 1970.
  package static func unsettled(among databases: [DatabaseSource]) -> [String: UInt64] {
    let times = databases.compactMap { database in
      UnfinishedRestore(of: database.path).since.map { (database.name, $0) }
    }
    return Dictionary(times) { min($0, $1) }
  }
}
