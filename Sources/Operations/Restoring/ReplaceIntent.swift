import FoundationEssentials
import Glibc
import Repositories
import Sealing

/// What a restore that replaces a database is about to do, written beside it before anything is moved: whoever comes
/// after a restore that was killed knows from it where the old database is.
///
/// One line: the name that the old database gets, without its folder. Then the paths, from that folder on, of what is moved
/// aside with it for companions of the version, each ended by a zero byte: it gets a name of the same time.
struct ReplaceIntent {
  /// The database's real path.
  let database: String
  private var path: String { Self.path(of: database) }

  /// Never taken for a leftover: it stays until the matter is settled.
  static func path(of database: String, _ mode: String = "replace") -> String {
    let name = MemberPath.components(database).last ?? ""
    let short = name.utf8.count <= 100 ? name : String(Digest.sha256(of: Array(name.utf8)).hex.prefix(32))
    return "\(RestoredFile.folder(of: database))/.\(short).sealift.\(mode)"
  }

  /// The path that the old database has, or was to get; `nil` when no restore is unfinished.
  var aside: String? {
    guard let line = bytes.split(separator: UInt8(ascii: "\n")).first.map({ String(decoding: $0, as: UTF8.self) }),
      !line.isEmpty, !line.contains("/"), line != ".", line != ".."
    else { return nil }
    return "\(RestoredFile.folder(of: database))/\(line)"
  }

  private var bytes: [UInt8] { ((try? StateFiles.read(path, limit: 1 << 20)) ?? nil) ?? [] }

  /// What was to be moved aside beside the database, and the names that it has then.
  var companions: [(from: String, to: String)] {
    guard let aside, let line = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return [] }
    let (folder, time) = (RestoredFile.folder(of: database), SetAside(database, time: "", continuing: aside).time)
    return bytes[(line + 1)...].split(separator: 0).map { path in
      let from = "\(folder == "/" ? "" : folder)/\(String(decoding: path, as: UTF8.self))"
      return (from, CompanionsPlace.aside(from, time))
    }
  }

  /// Durable when it returns.
  /// - Parameter companions: paths below the database's folder.
  func note(_ aside: String, companions: [String] = []) throws {
    let name = MemberPath.components(aside).last ?? aside
    let folder = RestoredFile.folder(of: database)
    let start = folder == "/" ? 1 : folder.utf8.count + 1
    let rest = companions.flatMap { $0.utf8.dropFirst(start) + [0] }
    // A leftover of the same name as that of a restored file is removed by the next restore.
    try RestoredFile.write(Array("\(name)\n".utf8) + rest, to: path, of: database)
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
    let moved = companions.filter { CompanionsPlace.stands($0.to) }
    let back = moved.map { CompanionsPlace.backCommand(from: $0.to, to: $0.from) }
    let commands = (back + [SetAside.backCommand(from: aside, to: database)]).joined(separator: "; ")
    throw OperationError(
      .failed, code: "unfinishedReplace",
      "an earlier restore of \(database) did not end: what was there is \(([aside] + moved.map(\.to)).joined(separator: ", "))",
      hint: "Restore again with --replace to go on, or put it back with: \(commands)")
  }
}
