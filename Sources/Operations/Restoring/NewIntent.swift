import Glibc
import Repositories
import Sealing
import Storage

/// What a restore is about to put beside a new file, written there before anything gets its place, and removed when the file
/// has its name: what stands there without the file was put by one that was killed in between, and is in nobody's way.
///
/// Of each place its path from the folder on, and the inode that it gets, each ended by a zero byte. A name alone would be
/// that of whatever somebody puts there later.
struct NewIntent {
  /// As it is about to be called.
  let database: String
  private let places: [(path: String, inode: UInt64)]
  private var folder: String { PathSteps.folder(of: database) }
  private var path: String { ReplaceIntent.path(of: database, "new") }

  /// Reads what a restore that was killed has noted. What cannot be read, or is another user's, says nothing: then what stands
  /// there is in the way, as anything else is.
  init(database: String) {
    self.database = database
    let note = ReplaceIntent.path(of: database, "new")
    let bytes = (try? StateFiles.read(note, limit: 64 << 20, of: [0, geteuid()])) ?? nil
    let words = (bytes ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    places = stride(from: 0, to: words.count - words.count % 2, by: 2).compactMap { index in
      guard Core.Member.isSafe(words[index]), let inode = UInt64(words[index + 1]) else { return nil }
      return (path: words[index], inode: inode)
    }
  }

  /// Absolute where the database is: what of it stands there, without the database.
  var left: [String] {
    guard !places.isEmpty, !CompanionsPlace.stands(database) else { return [] }
    return places.compactMap { place in
      let path = RestoredFile.path(place.path, in: folder)
      return HeldPlace(path, below: folder).flatMap { Self.isLeft($0, place.inode) ? path : nil }
    }
  }

  /// Whether that stands at a place.
  func isLeft(_ place: String) -> Bool {
    guard !places.isEmpty else { return false }
    let own = RestoredFile.path(fromFolder(place), in: folder)
    return left.contains { MemberPath.isSame($0, own) }
  }

  private static func isLeft(_ place: HeldPlace, _ inode: UInt64) -> Bool {
    guard let status = place.folder.status(place.name) else { return false }
    if UInt64(status.st_ino) == inode { return true }
    // One that was killed between making a folder's place and filling it leaves an empty one.
    guard status.st_mode & S_IFMT == S_IFDIR, let found = place.folder.folder(place.name)?.names() else { return false }
    return found.names.isEmpty && found.unreadable.isEmpty
  }

  private func fromFolder(_ place: String) -> String {
    let start = RestoredFile.path("", in: folder)
    guard place.utf8.starts(with: start.utf8) else { return place }
    return String(decoding: place.utf8.dropFirst(start.utf8.count), as: UTF8.self)
  }

  /// Durable when it returns. What was read before stays as it was read.
  fileprivate func note(_ claims: [StagedCompanions.Claim]) throws {
    var bytes: [UInt8] = []
    for word in claims.flatMap({ [fromFolder($0.place), "\($0.inode)"] }) {
      bytes += word.utf8
      bytes.append(0)
    }
    try RestoredFile.write(bytes, to: path, of: database)
  }

  /// Moves away what is left: nobody has opened it together with a database.
  fileprivate func moveAway(_ time: String, _ reporter: any Reporter) throws {
    for path in left {
      guard let away = try HeldPlace(path, below: folder)?.moveAway(time) else { continue }
      reporter.notice(
        "moved away what an earlier restore of \(database) that did not end had put there: \(path) is \(away), and may be "
          + "deleted")
    }
  }

  fileprivate func remove() { unlink(path) }

  /// Where the database has its name, whatever was noted is of no use any more.
  func tidy() { if CompanionsPlace.stands(database) { remove() } }
}

/// Held while what comes with a new file gets its places, and the file then its name.
struct NewNaming {
  private let database: String
  private let lock: FolderLock?

  /// Makes room from whatever a restore that was killed has left there, and notes what is about to be put.
  /// - Parameter claims: none where nothing comes with the file.
  static func begin(
    _ database: String, _ claims: [StagedCompanions.Claim], within patience: Duration, _ world: World
  ) async throws -> NewNaming {
    guard !claims.isEmpty else { return NewNaming(database: database, lock: nil) }
    // One that is at work in this very moment has put what stands there.
    let lock = try await FolderLock.take(of: database, within: patience, world.reporter)
    do {
      // Where there are no locks, such a one has named its file by then.
      if !lock.isHeld, !NewIntent(database: database).left.isEmpty { try await Task.sleep(for: .seconds(30)) }
      let intent = NewIntent(database: database)
      try intent.moveAway(Times.compact(world.now()), world.reporter)
      try intent.note(claims)
      return NewNaming(database: database, lock: lock)
    } catch {
      lock.release()
      throw error
    }
  }

  /// The file has its name, or what came with it was taken back. Where that could not be, it stays noted.
  func end() {
    guard let lock else { return NewIntent(database: database).tidy() }
    let intent = NewIntent(database: database)
    if intent.left.isEmpty { intent.remove() }
    lock.release()
  }
}

extension StagedCompanions {
  /// A place that is about to be taken, and by what.
  struct Claim {
    let place: String
    let inode: UInt64
  }

  func claims(beside path: String, _ layout: CompanionsPlace.Layout) throws -> [Claim] {
    try CompanionsPlace(self, beside: path, layout).places.map { place in
      Claim(place: place.path, inode: try inode(of: place.member))
    }
  }
}
