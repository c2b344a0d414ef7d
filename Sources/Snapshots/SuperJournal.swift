import Platform

/// The file that a -journal names where one transaction changes several databases.
///
/// Whoever rolls such a journal back ends with it: SQLite takes it for a list of journals, and removes it where none of
/// them names it in turn, whatever it was. So who may write beside a database could have root remove any file. What SQLite
/// makes lies beside the first of those databases, and there its owner could remove it as well.
///
/// Who exchanges the journal right after it was looked at is not kept from it: only a user who owns no more than the
/// database is safe from that.
package enum SuperJournal {
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
    return try record(in: file, journal)?.name
  }

  /// What a journal ends with that names one.
  private struct Record {
    var name: [UInt8]
    /// Where in the journal it begins.
    var start: Int
    /// SQLite passes over one whose sum is another one: the journal is rolled back as if it named nothing.
    var isHeeded: Bool
  }

  private static func record(in file: Int32, _ journal: String) throws(SnapshotError) -> Record? {
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let end = Int(status.st_size) - tail
    guard end > 0 else { return nil }
    let bytes = try readBytes(file, journal, at: end, tail)
    guard bytes[8...].elementsEqual(magic) else { return nil }
    let length = bytes[..<4].reduce(0) { ($0 << 8) | Int($1) }
    guard length <= min(end, Int(PATH_MAX)) else { return nil }
    let stored = try readBytes(file, journal, at: end - length, length)
    // To SQLite it is a text of C.
    let name = Array(stored.prefix { $0 != 0 })
    guard !name.isEmpty else { return nil }
    let sum = bytes[4..<8].reduce(UInt32(0)) { ($0 << 8) | UInt32($1) }
    // The number of a page stands before the name.
    return Record(name: name, start: end - length - 4, isHeeded: sums(of: stored).contains(sum))
  }

  /// SQLite adds what C calls `char`, which has a sign on one processor and none on another.
  private static func sums(of name: [UInt8]) -> [UInt32] {
    [
      name.reduce(UInt32(0)) { $0 &+ UInt32($1) },
      name.reduce(UInt32(0)) { $0 &+ UInt32(truncatingIfNeeded: Int8(bitPattern: $1)) },
    ]
  }

  /// Whether SQLite makes such a name for a database in the same folder: `app.db-mj01ABCD9EF`.
  private static func isOwn(_ name: [UInt8], beside database: String) -> Bool {
    let parent = folder(of: database)
    let place = Array((parent == "/" ? parent : parent + "/").utf8)
    guard name.starts(with: place) else { return false }
    let last = Array(name[place.count...])
    guard !last.contains(UInt8(ascii: "/")), isMadeUp(last) else { return false }
    guard (fileSize(String(decoding: name, as: UTF8.self)) ?? 0) <= longestList else { return false }
    return isFileOrNothing(name[...]) && listed(in: name).allSatisfy { isFileOrNothing($0) }
  }

  /// - Parameter name: without its folder.
  private static func isMadeUp(_ name: [UInt8]) -> Bool {
    let ending = Array(name.suffix(12))
    return name.count > 12 && ending.starts(with: "-mj".utf8) && ending[9] == UInt8(ascii: "9")
      && (ending[3..<9] + ending[10...]).allSatisfy(isHexadecimal)
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

// MARK: - Away from it

extension SuperJournal {
  /// Has a journal roll back by itself that is about to get another name.
  ///
  /// A transaction over several databases is committed in the instant in which its super-journal goes, and whoever rolls back
  /// the last of their journals removes it. A journal that is moved aside is none of those any more: it would pass for
  /// that of a committed transaction later, and with what it keeps the old content of the half-written database would go.
  /// As long as the super-journal is there, the transaction has to be rolled back whatever happens: without the name in it
  /// the journal says just that, also where the restore is cut off before anything is moved. Where the super-journal is
  /// gone, the transaction is committed, and the journal must go on to say so.
  ///
  /// Only for a database that nobody has open: what somebody is about to commit would be rolled back here alone. A push
  /// changes no journal, nor does anything else here but SQLite: this goes for what is moved out of its place anyway.
  /// - Throws: `.hotJournal` where it cannot be done, or nobody can tell.
  package static func makeIndependent(journalOf database: String) throws(SnapshotError) {
    let journal = database + "-journal"
    let flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    guard isFileOrNothing(Array(journal.utf8)[...]) else { return }
    var file = open(journal, O_RDWR | flags)
    if file < 0 { file = open(journal, O_RDONLY | flags) }
    guard file >= 0 else { return }
    defer { close(file) }
    // One that cannot be read was never looked at, and is moved as it is: its disk may be why the database is replaced.
    guard let found = try? record(in: file, journal), found.isHeeded, found.start > 0 else { return }
    // What SQLite has not made is none of its transactions, and nobody learns from us whether it is there.
    let last = found.name.split(separator: UInt8(ascii: "/")).last.map { Array($0) } ?? []
    guard found.name.first == UInt8(ascii: "/"), isMadeUp(last), try stands(found.name, journal) else { return }
    guard ftruncate(file, off_t(found.start)) == 0, fsync(file) == 0 else { throw inseparable(journal, errno) }
  }

  /// As SQLite asks: to it an empty file is none.
  private static func stands(_ superJournal: [UInt8], _ journal: String) throws(SnapshotError) -> Bool {
    var status = stat()
    guard stat(text(superJournal[...]), &status) == 0 else {
      guard [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) else { throw inseparable(journal, errno) }
      return false
    }
    return status.st_mode & S_IFMT != S_IFREG || status.st_size > 0
  }

  private static func inseparable(_ journal: String, _ number: Int32) -> SnapshotError {
    SnapshotError(
      .hotJournal,
      "\(journal) is that of a transaction over several databases, and cannot be moved away from them: \(words(number))",
      hint: "Let the application open all databases of this transaction once first.")
  }
}
