import FoundationEssentials
import Glibc
import Repositories

/// What a restore that replaces a database is about to do, written beside it before anything is moved: whoever comes
/// after a restore that was killed knows from it where the old database is.
///
/// One line: the name that the old database gets, without its folder. Then paths from that folder on, each ended by a
/// zero byte: of what is moved aside with it for companions of the version, to a name of the same time; behind an empty
/// one, of what is about to be put where nothing stands. Earlier builds said nothing of the latter.
struct ReplaceIntent {
  /// The database's real path.
  let database: String
  /// The path that the old database has, or was to get; `nil` when no restore is unfinished.
  let aside: String?
  /// What was to be moved aside beside the database, and the names that it has then.
  let companions: [(from: String, to: String)]
  /// Where nothing stood that was about to be put there.
  private let free: [String]
  private var path: String { Self.path(of: database) }

  /// Reads what a restore that was killed has noted, once: another one may settle it meanwhile.
  init(database: String) {
    self.database = database
    let bytes: [UInt8] = ((try? StateFiles.read(Self.path(of: database), limit: 64 << 20)) ?? nil) ?? []
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    let name = String(decoding: line, as: UTF8.self)
    guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
      aside = nil
      companions = []
      free = []
      return
    }
    let folder = RestoredFile.folder(of: database)
    let start = folder == "/" ? "/" : "\(folder)/"
    let own = MemberPath.components(database).last ?? ""
    let time = String(name.dropFirst("\(own).before-".count))
    let paths = bytes.dropFirst(line.count + 1).split(separator: 0, omittingEmptySubsequences: false)
    let moved = paths.prefix { !$0.isEmpty }
    aside = start + name
    companions = moved.map { path in
      let from = start + String(decoding: path, as: UTF8.self)
      return (from: from, to: CompanionsPlace.aside(from, time))
    }
    free = paths.dropFirst(moved.count + 1).filter { !$0.isEmpty }.map { start + String(decoding: $0, as: UTF8.self) }
  }

  /// Never taken for a leftover: it stays until the matter is settled.
  static func path(of database: String, _ mode: String = "replace") -> String {
    let name = MemberPath.components(database).last ?? ""
    return "\(RestoredFile.folder(of: database))/.\(shortName(name)).sealift.\(mode)"
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
  func note(_ aside: String, companions: [String] = [], free: [String] = []) throws {
    let folder = RestoredFile.folder(of: database)
    let start = folder == "/" ? 1 : folder.utf8.count + 1
    var bytes = Array("\(MemberPath.components(aside).last ?? aside)\n".utf8)
    for path in companions + [""] + free {
      bytes += path.utf8.dropFirst(start)
      bytes.append(0)
    }
    // A leftover of the same name as that of a restored file is removed by the next restore.
    try RestoredFile.write(bytes, to: path, of: database)
  }

  func remove() throws {
    guard unlink(path) == 0 || errno == ENOENT else {
      throw OperationError(.failed, code: "fileSystem", "cannot remove \(path): \(String(cString: strerror(errno)))")
    }
  }

  /// What a restore that was killed left.
  enum State {
    case settled
    /// The old database is in its place; perhaps it has the other name as well.
    case notBegun(aside: String)
    /// Nothing is in its place; the old database is at `aside`.
    case inBetween(aside: String)
    /// Another database is in its place already.
    case done(aside: String)
  }

  var state: State {
    guard let aside else { return .settled }
    guard let old = FileIdentity(at: aside) else { return .notBegun(aside: aside) }
    guard let now = FileIdentity(at: database) else { return .inBetween(aside: aside) }
    return now == old ? .notBegun(aside: aside) : .done(aside: aside)
  }

  /// Refuses to make a new file where an old database waits to be put back.
  func demandSettled() throws {
    guard case .inBetween(let aside) = state else { return }
    let earlier = SetAside(database, continuing: aside)
    let along = earlier.wentAlong
    let moved = companions.filter { CompanionsPlace.stands($0.to) }
    let old = [aside] + along.map(\.to) + moved.map(\.to)
    // What stands where something was that went along gives way to it.
    let new = added.filter { path in !along.contains { MemberPath.isSame($0.from, path) } }
    let remark = new.isEmpty ? "" : "; and it has put \(new.joined(separator: ", ")) where nothing was"
    let commands = CompanionsPlace.backCommands(moved, taking: new) + [earlier.back]
    throw OperationError(
      .failed, code: "unfinishedReplace",
      "an earlier restore of \(database) did not end: what was there is \(old.joined(separator: ", "))\(remark)",
      hint: "Restore again with --replace to go on, or put it back with: \(commands.joined(separator: " && "))")
  }
}
