import FoundationEssentials
import Glibc
import Repositories
import Sealing
import Storage

/// What a live restore is about to move aside, or, where nothing is in the way, to put there: written beside the database
/// before, and removed when the transaction has ended. Whoever comes after one that was killed in between learns where the
/// old files are. SQLite takes back the rows of such a one; nobody takes back the files.
///
/// Paths from the database's folder on, each ended by a zero byte.
struct LiveIntent {
  /// The database's real path.
  let database: String
  var path: String { ReplaceIntent.path(of: database, "live") }
  private var folder: String { PathSteps.folder(of: database) }

  /// Absolute paths: what was moved aside, and the copy of the old content, as far as they are there. A person is told to
  /// put them back: none that somebody else has noted, nor any outside the folder.
  var left: [String] {
    let bytes = (try? read()) ?? nil
    return (bytes ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
      .filter(Core.Member.isSafe).map { RestoredFile.path($0, in: folder) }.filter(CompanionsPlace.stands)
  }

  private func read() throws -> [UInt8]? { try StateFiles.read(path, limit: 1 << 20, of: [0, geteuid()]) }

  /// Durable when it returns.
  /// - Parameter paths: below the database's folder. None is no note.
  func note(_ paths: [String]) throws {
    guard !paths.isEmpty else { return try remove() }
    let start = folder == "/" ? 1 : folder.utf8.count + 1
    let bytes = paths.reduce(into: [UInt8]()) { bytes, path in
      bytes += path.utf8.dropFirst(start)
      bytes.append(0)
    }
    // Since when rows and files may be of two moments, the first one has said.
    let since = left.isEmpty ? nil : UnfinishedRestore.time(of: path)
    try RestoredFile.write(bytes, to: path, of: database, modified: since)
  }

  func remove() throws {
    guard unlink(path) == 0 || errno == ENOENT else {
      throw OperationError.fileSystem("cannot remove \(path)", errno)
    }
  }

  /// There is a note, and what it says is not known.
  var isUnknown: Bool { UnfinishedRestore.isUnknown(path, read) }

  /// Another restore has ended: what this one has left of other files is as it was, and stays noted. So does what nobody knows.
  /// - Parameter left: what was left before that one began; by default what is noted now.
  func settle(_ put: PutPlaces, left: [String]? = nil) {
    guard !isUnknown else { return }
    try? note((left ?? self.left).filter { !put.covers($0) })
  }

  /// Said before another restore of the database begins; `nil` when there is nothing to say.
  var remark: String? {
    if isUnknown {
      return
        "\(path) cannot be read, or is another user's: if an earlier live restore of \(database) did not end, what it left is not known"
    }
    let left = left
    guard !left.isEmpty else { return nil }
    return
      "an earlier live restore of \(database) did not end: its rows are the old ones or the new ones, and the files beside it "
      + "may be the others; it has left \(left.joined(separator: ", "))"
  }
}
