import FoundationEssentials
import Glibc
import Repositories
import Sealing
import Storage

/// What a restore that replaces a database is about to do, written beside it before anything is moved: whoever comes
/// after a restore that was killed knows from it where the old database is.
///
/// One line: the name that the old database gets, without its folder. Then paths from that folder on, each ended by a
/// zero byte: of what is moved aside with it for companions of the version, to a name of the same time; behind an empty
/// one, of what is about to be put where nothing stands; behind another, of what restores before it have left, which is to be
/// told as long as it stands. Earlier builds said nothing of the latter two. Its time is that of the first of them.
struct ReplaceIntent {
  /// The database's real path.
  let database: String
  /// The path that the old database has, or was to get; `nil` when no restore is unfinished.
  let aside: String?
  /// What was to be moved aside beside the database, and the names that it has then.
  let companions: [(from: String, to: String)]
  /// Where nothing stood that was about to be put there.
  private let free: [String]
  /// What restores before it have left.
  private let earlier: [String]
  /// When the first of them was noted.
  private let since: timespec?
  /// Why what is noted cannot be gone by, though there is a note.
  private let problem: OperationError?
  var path: String { Self.path(of: database) }

  /// Reads what a restore that was killed has noted, once: another one may settle it meanwhile.
  init(database: String) {
    self.database = database
    since = UnfinishedRestore.time(of: Self.path(of: database))
    do {
      (aside, companions, free, earlier) = try Self.read(of: database)
      problem = nil
    } catch {
      (aside, companions, free, earlier) = (nil, [], [], [])
      problem = OperationError(error)
    }
  }

  private typealias Note = (
    aside: String?, companions: [(from: String, to: String)], free: [String], earlier: [String]
  )

  private static func read(of database: String) throws -> Note {
    let note = path(of: database)
    let bytes: [UInt8]
    do {
      // Who may write it decides what is moved.
      guard let found = try StateFiles.read(note, limit: 64 << 20, of: [0, geteuid()]) else { return (nil, [], [], []) }
      bytes = found
    } catch { throw unusable(note, of: database, error.message) }
    let line = bytes.prefix(lineLength(bytes, of: database))
    let (name, lines) = (String(decoding: line, as: UTF8.self), bytes.dropFirst(line.count + 1))
    let paths = lines.split(separator: 0, omittingEmptySubsequences: false)
    guard Core.Member.isSafe(name), !name.contains("/"),
      paths.allSatisfy({ $0.isEmpty || Core.Member.isSafe(String(decoding: $0, as: UTF8.self)) })
    else { throw unusable(note, of: database, "it names what no restore moves") }
    let folder = PathSteps.folder(of: database)
    let start = folder == "/" ? "/" : "\(folder)/"
    let own = MemberPath.components(database).last ?? ""
    let time = String(name.dropFirst("\(own).before-".count))
    let moved = paths.prefix { !$0.isEmpty }
    let companions = moved.map { path in
      let from = start + String(decoding: path, as: UTF8.self)
      return (from: from, to: CompanionsPlace.aside(from, time))
    }
    let rest = paths.dropFirst(moved.count + 1)
    let free = rest.prefix { !$0.isEmpty }
    let earlier = rest.dropFirst(free.count + 1).filter { !$0.isEmpty }
    func absolute(_ path: some Collection<UInt8>) -> String { start + String(decoding: path, as: UTF8.self) }
    return (start + name, companions, free.map(absolute), earlier.map(absolute))
  }

  /// The database's own name may have line breaks in it.
  private static func lineLength(_ bytes: [UInt8], of database: String) -> Int {
    let own = Array("\(MemberPath.components(database).last ?? "").before-".utf8)
    let known = bytes.starts(with: own) ? own.count : 0
    return known + bytes.dropFirst(known).prefix { $0 != UInt8(ascii: "\n") }.count
  }

  private static func unusable(_ note: String, of database: String, _ why: String) -> OperationError {
    OperationError(
      .failed, code: "unfinishedReplace",
      "an earlier restore of \(database) did not end, and what it noted in \(note) cannot be used: \(why)",
      hint:
        "Restore as the user who did then. Or \(lookingBeside).")
  }

  /// Where a note cannot be gone by.
  static let lookingBeside =
    "look beside the database for what was moved aside, as NAME.before-<time>, put it back where it is missing, and delete "
    + "that note"

  /// Never taken for a leftover: it stays until the matter is settled.
  static func path(of database: String, _ mode: String = "replace") -> String {
    let name = MemberPath.components(database).last ?? ""
    return "\(PathSteps.folder(of: database))/.\(shortName(name)).sealift.\(mode)"
  }

  /// What stands now where nothing stood: that restore has put it there, or somebody who used what it had put. Beside a
  /// database that it has not moved it is that one's own, and does not count.
  var added: [String] {
    let untouched = companions.filter { !CompanionsPlace.stands($0.to) }.map(\.from)
    let own = Set(untouched.flatMap { path in SideFiles.endings.map { MemberPath.key(path + $0) } })
    return free.filter { CompanionsPlace.stands($0) && !own.contains(MemberPath.key($0)) }
  }

  /// Durable when it returns. What was read before stays as it was read.
  /// - Parameters:
  ///   - companions: paths below the database's folder, of what is moved aside.
  ///   - free: others, where nothing stands.
  ///   - earlier: of what others have left; `since`: when the first of them was noted.
  func note(
    _ aside: String, companions: [String] = [], free: [String] = [], earlier: [String] = [], since: timespec? = nil
  ) throws {
    let folder = PathSteps.folder(of: database)
    let start = folder == "/" ? 1 : folder.utf8.count + 1
    var bytes = Array("\(MemberPath.components(aside).last ?? aside)\n".utf8)
    for path in companions + [""] + free + (earlier.isEmpty ? [] : [""] + earlier) {
      bytes += path.utf8.dropFirst(start)
      bytes.append(0)
    }
    // A leftover of the same name as that of a restored file is removed by the next restore.
    try RestoredFile.write(bytes, to: path, of: database, modified: since)
  }

  /// The same of another restore, which goes on with this one or takes its place: what is still to be told is noted as well.
  func noteNext(_ aside: String, companions: [String], free: [String]) throws {
    let left = standing.old + standing.new
    var isResumed = false
    if case .inBetween = state { isResumed = true }
    let carried = isResumed ? earlier.filter(CompanionsPlace.stands) : left
    try note(
      aside, companions: companions, free: free, earlier: carried,
      since: isResumed || !left.isEmpty ? since : nil)
  }

  func remove() throws {
    guard unlink(path) == 0 || errno == ENOENT else {
      throw OperationError.fileSystem("cannot remove \(path)", errno)
    }
  }

  /// What a restore that was killed left.
  enum State {
    case settled
    /// There is a note that cannot be gone by.
    case unusable(OperationError)
    /// The old database is in its place; perhaps it has the other name as well.
    case notBegun(aside: String)
    /// Nothing is in its place; the old database is at `aside`.
    case inBetween(aside: String)
    /// Another database is in its place already.
    case done(aside: String)
  }

  var state: State {
    if let problem { return .unusable(problem) }
    guard let aside else { return .settled }
    guard let old = FileIdentity(at: aside) else { return .notBegun(aside: aside) }
    guard let now = FileIdentity(at: database) else { return .inBetween(aside: aside) }
    return now == old ? .notBegun(aside: aside) : .done(aside: aside)
  }

  /// Said where a database stands in the place: it may be another one than what it stands beside. Where nothing that was
  /// moved, or put, is left there, nothing is to be said.
  var remark: String? {
    switch state {
    case .settled, .inBetween: return nil
    case .unusable(let problem): return problem.message
    case .notBegun, .done: break
    }
    let standing = standing
    guard !standing.old.isEmpty || !standing.new.isEmpty else { return nil }
    let old = standing.old.isEmpty ? nil : "what was there is \(standing.old.joined(separator: ", "))"
    let new = standing.new.isEmpty ? nil : "it has put \(standing.new.joined(separator: ", ")) where nothing was"
    return "an earlier restore of \(database) did not end: \([old, new].compactMap { $0 }.joined(separator: "; and "))"
  }

  /// What has another name now, and what stands where nothing stood.
  private var standing: (old: [String], new: [String]) {
    var old = (companions.map(\.to) + earlier).filter(CompanionsPlace.stands)
    if case .done(let aside) = state { old.insert(aside, at: 0) }
    return (old, added)
  }

  /// Another restore has ended: what was read is written again, as far as it is of other files, which are as they were.
  /// - Parameter isResumed: that one went on with this one, and settled all but what others had left before.
  func settle(_ put: PutPlaces, isResumed: Bool = false) throws {
    guard problem == nil else { return }
    // Where the old database has both names, the next restore takes away the second one, by this note.
    if case .notBegun(let aside) = state, CompanionsPlace.stands(aside) { return }
    let moved = isResumed ? [] : companions.filter { CompanionsPlace.stands($0.to) && !put.covers($0.from) }
    let new = isResumed ? [] : added.filter { !put.covers($0) }
    let earlier = earlier.filter { CompanionsPlace.stands($0) && !put.covers($0) }
    guard let aside, !moved.isEmpty || !new.isEmpty || !earlier.isEmpty else { return try remove() }
    try note(aside, companions: moved.map(\.from), free: new, earlier: earlier, since: since)
  }

  /// There is a note that cannot be gone by.
  var isUnusable: Bool { problem != nil }

  /// - Throws: where there is a note that cannot be gone by.
  func demandUsable() throws {
    if let problem { throw problem }
  }

  /// Refuses to make a new file where an old database waits to be put back.
  func demandSettled() throws {
    try demandUsable()
    guard case .inBetween(let aside) = state else { return }
    let earlier = SetAside(database, continuing: aside)
    let along = earlier.wentAlong
    let moved = companions.filter { CompanionsPlace.stands($0.to) }
    let old = [aside] + along.map(\.to) + moved.map(\.to)
    // What stands where something was that went along gives way to it.
    let new = added.filter { path in !along.contains { MemberPath.isSame($0.from, path) } }
    let remark = new.isEmpty ? "" : "; and it has put \(new.joined(separator: ", ")) where nothing was"
    // What stands in those places later is of no restore.
    let commands = CompanionsPlace.backCommands(moved, taking: new) + [earlier.back, "rm -f \(shellQuoted(path))"]
    throw OperationError(
      .failed, code: "unfinishedReplace",
      "an earlier restore of \(database) did not end: what was there is \(old.joined(separator: ", "))\(remark)",
      hint: "Restore again with --replace to go on, or put it back with: \(commands.joined(separator: " && "))")
  }
}
