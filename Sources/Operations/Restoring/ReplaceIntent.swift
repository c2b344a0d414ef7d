import FoundationEssentials
import Glibc
import Repositories
import Sealing

/// What a restore that replaces a database is about to do, written beside it before anything is moved: whoever comes
/// after a restore that was killed knows from it where the old database is.
///
/// One line: the name that the old database gets, without its folder.
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
    let bytes = (try? StateFiles.read(path, limit: 4096)) ?? nil
    guard let line = bytes.map({ String(decoding: $0, as: UTF8.self) })?.split(separator: "\n").first,
      !line.isEmpty, !line.contains("/"), line != ".", line != ".."
    else { return nil }
    return "\(RestoredFile.folder(of: database))/\(line)"
  }

  /// Durable when it returns.
  func note(_ aside: String) throws {
    let name = MemberPath.components(aside).last ?? aside
    // A leftover of the same name as that of a restored file is removed by the next restore.
    try RestoredFile.write(Array("\(name)\n".utf8), to: path, of: database)
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
    throw OperationError(
      .failed, code: "unfinishedReplace",
      "an earlier restore of \(database) did not end: the database that was there is \(aside), and companions have names of the same kind",
      hint:
        "Restore again with --replace to go on, or put it back with: \(SetAside.backCommand(from: aside, to: database))"
    )
  }
}
