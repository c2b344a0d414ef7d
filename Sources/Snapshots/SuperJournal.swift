import Platform

/// The file that a -journal names where one transaction changes several databases.
///
/// Whoever rolls such a journal back ends with it: SQLite takes it for a list of journals, and removes it where none of
/// them names it in turn, whatever it was. So who may write beside a database could have root remove any file. What SQLite
/// makes lies beside the first of those databases, and there its owner could remove it as well.
///
/// Who exchanges the journal right after it was looked at is not kept from it: only a user who owns no more than the
/// database is safe from that.
enum SuperJournal {
  /// What a journal ends with that names one: the name, its length and a sum in four bytes each, and this.
  private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
  private static let tail = 16
  /// Bytes. SQLite attaches 125 databases at most.
  private static let longestList = 128 * Int(PATH_MAX)
  private static let leastPatience: Duration = .milliseconds(100)

  /// - Parameter patience: how long a transaction that is being committed is waited for.
  /// - Throws: `.hotJournal` where SQLite would remove what it has not made beside this database; `.unreadable` for a
  ///   journal that is a link; `.cancelled`.
  static func demandOwn(beside database: String, _ watch: Watch, patience: Duration) throws(SnapshotError) {
    let journal = database + "-journal"
    let end = SuspendingClock.now + max(patience, leastPatience)
    while true {
      guard let name = try named(in: journal), !isOwn(name, beside: database) else { return }
      guard SuspendingClock.now >= end else {
        // While a transaction of databases of several folders is being committed, its journal says so.
        try watch.check()
        usleep(25_000)
        continue
      }
      let file = String(decoding: name, as: UTF8.self)
      throw SnapshotError(
        .hotJournal, "whoever rolls back \(journal) removes \(file), which SQLite has not made there",
        hint:
          "Try again when no transaction is running, or let the application open its database once, as its own user. A restore also goes with --replace."
      )
    }
  }

  /// - Returns: nil where it names none, and where it cannot be read: then SQLite rolls nothing back either. The sum is not
  ///   looked at: to refuse one too many is safe.
  private static func named(in journal: String) throws(SnapshotError) -> [UInt8]? {
    let file = open(journal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      guard errno != ELOOP else {
        throw SnapshotError(
          .unreadable, "\(journal) is a link, which is not followed",
          hint: "SQLite has not made it. Where it leads to the journal of this database, put that in its place.")
      }
      return nil
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let end = Int(status.st_size) - tail
    guard end > 0 else { return nil }
    let bytes = try readBytes(file, journal, at: end, tail)
    guard bytes[8...].elementsEqual(magic) else { return nil }
    let length = bytes[..<4].reduce(0) { ($0 << 8) | Int($1) }
    guard length <= min(end, Int(PATH_MAX)) else { return nil }
    // To SQLite it is a text of C.
    let name = try readBytes(file, journal, at: end - length, length).prefix { $0 != 0 }
    return name.isEmpty ? nil : Array(name)
  }

  /// Whether SQLite makes such a name for a database in the same folder: `app.db-mj01ABCD9EF`.
  private static func isOwn(_ name: [UInt8], beside database: String) -> Bool {
    let parent = folder(of: database)
    let place = Array((parent == "/" ? parent : parent + "/").utf8)
    guard name.starts(with: place) else { return false }
    let last = Array(name[place.count...])
    let ending = Array(last.suffix(12))
    guard last.count > 12, !last.contains(UInt8(ascii: "/")), ending.starts(with: "-mj".utf8),
      ending[9] == UInt8(ascii: "9"), (ending[3..<9] + ending[10...]).allSatisfy(isHexadecimal)
    else { return false }
    guard (fileSize(String(decoding: name, as: UTF8.self)) ?? 0) <= longestList else { return false }
    return isFileOrNothing(name[...]) && listed(in: name).allSatisfy { isFileOrNothing($0) }
  }

  /// A pipe would hold SQLite for ever, here as well.
  private static func isFileOrNothing(_ path: ArraySlice<UInt8>) -> Bool {
    var status = stat()
    guard lstat(text(path), &status) == 0 else { return true }
    return status.st_mode & S_IFMT == S_IFREG
  }

  /// The journals that SQLite opens in order to see whether one of them names it in turn.
  private static func listed(in superJournal: [UInt8]) -> [ArraySlice<UInt8>] {
    let file = open(text(superJournal[...]), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return [] }
    defer { close(file) }
    let list = try? readBytes(file, "", at: 0, longestList)
    return list?.split(separator: 0) ?? []
  }

  private static func text(_ path: ArraySlice<UInt8>) -> [CChar] { path.map { CChar(bitPattern: $0) } + [0] }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
  }
}
