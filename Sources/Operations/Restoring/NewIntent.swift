import Glibc
import Repositories
import Sealing
import Storage

/// What a restore is about to put beside a new file, written there before anything gets its place, and removed when the file
/// has its name: what stands there without the file, and is as it was then, was put by one that was killed in between, and
/// is in nobody's way.
///
/// Of each place its path from the folder on, and the stamp of what it gets, each ended by a zero byte. A name alone would
/// be that of whatever somebody puts there later, and the folder alone may hold by now what exists nowhere else: a database
/// that was restored into it, or what an application has written.
struct NewIntent {
  private typealias Noted = (path: String, stamp: PlaceStamp)

  /// As it is about to be called.
  let database: String
  private let places: [Noted]
  /// There is a note, and it cannot be read.
  let isUnknown: Bool
  private var folder: String { PathSteps.folder(of: database) }
  var path: String { ReplaceIntent.path(of: database, "new") }

  /// Reads what a restore that was killed has noted. What cannot be read, or is another user's, says nothing: then what stands
  /// there is in the way, as anything else is.
  init(database: String) {
    self.database = database
    let note = ReplaceIntent.path(of: database, "new")
    func read() throws -> [UInt8]? { try StateFiles.read(note, limit: 64 << 20, of: [0, geteuid()]) }
    isUnknown = UnfinishedRestore.isUnknown(note, read)
    let bytes = (try? read()) ?? nil
    let words = (bytes ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    places = stride(from: 0, to: words.count - words.count % 2, by: 2).compactMap { index in
      guard Core.Member.isSafe(words[index]) else { return nil }
      return (path: words[index], stamp: PlaceStamp(noted: words[index + 1]))
    }
  }

  /// Where the database stands, nothing of it was left.
  private var noted: [Noted] { CompanionsPlace.stands(database) ? [] : places }

  /// Absolute where the database is: what of it stands there, without the database, and as it was put.
  var left: [String] { noted.compactMap { heldIfLeft($0)?.path } }

  /// Whether that stands at a place.
  func isLeft(_ place: String) -> Bool { notes(at: place).contains { heldIfLeft($0) != nil } }

  /// Whether something was put, or about to be put, at a place.
  func isNoted(_ place: String) -> Bool { !notes(at: place).isEmpty }

  private func notes(at place: String) -> [Noted] {
    let own = RestoredFile.path(fromFolder(place), in: folder)
    return noted.filter { MemberPath.isSame(RestoredFile.path($0.path, in: folder), own) }
  }

  private func heldIfLeft(_ noted: Noted) -> HeldPlace? {
    let place = HeldPlace(RestoredFile.path(noted.path, in: folder), below: folder)
    guard let place, Self.isLeft(place, noted.stamp), isAsPutWithIt(place) else { return nil }
    return place
  }

  /// A database and what SQLite keeps beside it go together, or stay: what was committed may stand in either alone.
  private func isAsPutWithIt(_ place: HeldPlace) -> Bool {
    let database = ReadTogether.database(of: place.path) ?? place.path
    return ([""] + SideFiles.endings).map { place.named(database + $0) }.allSatisfy { one in
      !one.stands || notes(at: one.path).contains { Self.isLeft(one, $0.stamp) }
    }
  }

  private static func isLeft(_ place: HeldPlace, _ stamp: PlaceStamp) -> Bool {
    if PlaceStamp(of: place.name, in: place.folder) == stamp { return true }
    // One that was killed between making a folder's place and filling it leaves an empty one.
    guard let found = place.folder.folder(place.name)?.names() else { return false }
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
    for claim in claims {
      // Of what nobody can look through it could not be told later whether it is as it was: it is in the way then.
      guard let stamp = claim.stamp else { continue }
      for word in [fromFolder(claim.place), stamp.text] {
        bytes += word.utf8
        bytes.append(0)
      }
    }
    try RestoredFile.write(bytes, to: path, of: database)
  }

  /// Moves away what is left. Nobody has it open, and each is looked at once more right before it goes: what the notice says
  /// of it must be true.
  fileprivate func moveAway(_ time: String, _ reporter: any Reporter) throws {
    try demandNobody()
    for place in noted {
      guard let held = heldIfLeft(place), let away = try held.moveAway(time) else { continue }
      reporter.notice(
        "moved away what an earlier restore of \(database) that did not end had put there: \(held.path) is \(away), and "
          + "may be deleted")
    }
  }

  fileprivate func remove() { unlink(path) }

  /// Where a database stands all the same: what was put beside it, or is an empty place for that, may not be its own.
  var remark: String? {
    guard CompanionsPlace.stands(database) else { return nil }
    if isUnknown {
      return
        "\(path) cannot be read, or is another user's: if an earlier restore of \(database) did not end, what it left is not known"
    }
    let standing = standing
    guard !standing.isEmpty else { return nil }
    return
      "an earlier restore of \(database) did not end: it has put \(standing.joined(separator: ", ")) beside it, and the "
      + "database there now may be another one"
  }

  private var standing: [String] {
    places.map { RestoredFile.path($0.path, in: folder) }.filter(CompanionsPlace.stands)
  }

  /// Where the database has its name, and nothing stands that was noted, the note is of no use any more.
  func tidy() { if standing.isEmpty { settle() } }

  /// Another restore has ended: what this one has put in places of other files may still be of another version.
  func settle(_ put: PutPlaces) {
    if remark == nil || !isUnknown && standing.allSatisfy(put.covers) { settle() }
  }

  /// Of a restore that has ended.
  func settle() { if CompanionsPlace.stands(database) { remove() } }
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
    /// `nil` where that cannot be told.
    let stamp: PlaceStamp?
  }

  func claims(beside path: String, _ layout: CompanionsPlace.Layout) throws -> [Claim] {
    try CompanionsPlace(self, beside: path, layout).places.map { place in
      Claim(place: place.path, stamp: try stamp(of: place.member))
    }
  }
}
