import Repositories
import Sealing

/// Two listings of the same companions, made before and after a snapshot, as one.
struct JoinedListing {
  /// Ascending by the bytes of the paths; files with what holds them, if anything.
  private(set) var entries: [(entry: CompanionEntry, file: HeldFiles.Held?)] = []
  /// What was there before, is gone, and was not held, nor went into a database that is.
  private(set) var vanished: [String] = []
  /// Something is kept that is not there any more, or was replaced: the second listing does not tell what is kept.
  private(set) var keepsEarlier = false
  /// What is kept of them was replaced, at a time that another machine's clock tells: it may have been before the snapshot
  /// began, and its rows may be of what is there now.
  private(set) var unsettled: [String] = []
  /// Folders that took the place of what is kept.
  private var replaced: [String] = []

  /// - Parameters:
  ///   - held: files of the first listing.
  ///   - snapshotBegan: milliseconds since 1970.
  ///   - hasOwnClock: whether its times are by the clock of this machine, as the snapshot's is; asked of what was replaced.
  init(
    _ before: CompanionListing, _ after: CompanionListing,
    held: [[UInt8]: (file: HeldFiles.Held, status: FileStatus)], snapshotBegan: Int64,
    hasOwnClock: (CompanionEntry) -> Bool
  ) {
    let old = Dictionary(before.entries.map { (MemberPath.key($0.path), $0) }, uniquingKeysWith: { first, _ in first })
    let now = Dictionary(after.entries.map { (MemberPath.key($0.path), $0) }, uniquingKeysWith: { first, _ in first })
    func cameBefore(_ entry: CompanionEntry) -> Bool { Self.tookName(entry, old, now) / 1_000_000 < snapshotBegan }
    for entry in after.entries {
      let key = MemberPath.key(entry.path)
      guard let earlier = old[key], earlier.kind != .folder else {
        entries.append((entry, nil))
        continue
      }
      guard entry.kind == .file, let file = held[key] else {
        let isDoubtful = entry.kind != earlier.kind && !hasOwnClock(entry)
        let isKept = take(entry, insteadOf: earlier, held[key]?.file, !isDoubtful && cameBefore(entry))
        if isKept, isDoubtful { unsettled.append(earlier.path) }
        continue
      }
      if entry.status.isSameFile(as: file.status) {
        entries.append((entry, file.file))
        continue
      }
      // Some file systems give a file another number each time that it is looked at.
      let isDoubtful = !entry.status.isAlike(file.status) && !hasOwnClock(entry)
      if !isDoubtful, cameBefore(entry) {
        // It took the name before the snapshot began.
        entries.append((entry, nil))
      } else {
        entries.append((earlier, file.file))
        keepsEarlier = true
        if isDoubtful { unsettled.append(earlier.path) }
      }
    }
    for entry in before.entries where now[MemberPath.key(entry.path)] == nil {
      let file = held[MemberPath.key(entry.path)]?.file
      let isKept = Self.hasRoom(entry.path, among: now) && (entry.kind != .file || file != nil)
      if isKept {
        entries.append((entry, file))
      } else if !Self.isInDatabase(entry.path, held, now) {
        vanished.append(entry.path)
      }
      keepsEarlier = keepsEarlier || isKept
    }
    entries.removeAll { entry, _ in replaced.contains { MemberPath.isAbove($0, entry.path) } }
    entries.sort { $0.entry.path.utf8.lexicographicallyPrecedes($1.entry.path.utf8) }
  }

  /// What SQLite keeps beside a database is gone when it was checkpointed or committed: that database is held, and read as it
  /// is now.
  private static func isInDatabase(
    _ path: String, _ held: [[UInt8]: (file: HeldFiles.Held, status: FileStatus)], _ now: [[UInt8]: CompanionEntry]
  ) -> Bool {
    guard let database = ReadTogether.database(of: path).map({ MemberPath.key($0) }), let known = held[database],
      let entry = now[database]
    else { return false }
    return entry.kind == .file && entry.status.isSameFile(as: known.status)
  }

  /// A file or a link that is a link or a folder now, or a link that leads elsewhere: it is what it was when the snapshot
  /// began. Where that was a file which was not held, nobody has it any more.
  /// - Returns: whether the earlier one is kept.
  private mutating func take(
    _ entry: CompanionEntry, insteadOf earlier: CompanionEntry, _ file: HeldFiles.Held?, _ cameBefore: Bool
  ) -> Bool {
    let isAsItWas = entry.kind == earlier.kind || cameBefore
    guard !isAsItWas, earlier.kind != .file || file != nil else {
      entries.append((entry, nil))
      if !isAsItWas { vanished.append(earlier.path) }
      return false
    }
    // What lies below a folder that took its place is not of that moment either.
    if entry.kind == .folder { replaced.append(entry.path) }
    entries.append((earlier, file))
    keepsEarlier = true
    return true
  }

  /// When it took its name, at the latest: by its own time of change, and by that of each folder on the way which has taken
  /// the place of another one, with all that is in it.
  /// - Returns: nanoseconds since 1970.
  private static func tookName(
    _ entry: CompanionEntry, _ old: [[UInt8]: CompanionEntry], _ now: [[UInt8]: CompanionEntry]
  ) -> Int64 {
    MemberPath.ancestors(of: entry.path).reduce(entry.status.changed) { latest, key in
      guard let folder = now[key]?.status, let earlier = old[key]?.status, !folder.isSameFile(as: earlier) else {
        return latest
      }
      return max(latest, folder.changed)
    }
  }

  /// Nothing can lie below what is no folder any more.
  private static func hasRoom(_ path: String, among now: [[UInt8]: CompanionEntry]) -> Bool {
    MemberPath.ancestors(of: path).allSatisfy { (now[$0]?.kind ?? .folder) == .folder }
  }
}
