import CSQLite

/// The pages that a database says are free, and whether they are.
///
/// SQLite's check compares the list of free pages with the pages of tables and indexes, but only where it can look at all
/// of them. Where one needs code of its application it looks table by table, and compares nothing. Then this does, with
/// SQLite's own table of pages, which needs no such code (<https://sqlite.org/dbstat.html>; `Docs/Decisions/0032`).
enum FreePages {
  /// Our SQLite has that table.
  static let canBeCompared = sqlite3_compileoption_used("ENABLE_DBSTAT_VTAB") != 0

  /// In a damaged database a "free" page may be a live one. Where nobody has looked yet, `quickCheck` is still to come.
  static func mayBecomeZeros(after check: CheckOutcome?) -> Bool {
    switch check {
    case .ok: true
    case .damaged: false
    case .notCheckable, nil: canBeCompared
    }
  }

  /// The trunk pages of the list from the first one on, each with the leaves that it names, until `body` says no
  /// (<https://sqlite.org/fileformat2.html#the_freelist>).
  /// - Parameter page: reads one by its number.
  /// - Returns: false when it said so, or when a trunk lies outside the file or names too many leaves.
  @discardableResult
  static func eachTrunk<Failure>(
    from first: Int, pageSize: Int, pageCount: Int, reading page: (Int) throws(Failure) -> [UInt8],
    _ body: (_ trunk: Int, _ leaves: [Int]) throws(Failure) -> Bool
  ) throws(Failure) -> Bool {
    var trunk = first
    while trunk != 0 {
      guard trunk <= pageCount else { return false }
      let content = try page(trunk)
      guard content.count == pageSize else { return false }
      let leafCount = bigEndian(content, at: 4)
      guard leafCount <= pageSize / 4 - 2 else { return false }
      let leaves = (0..<leafCount).map { bigEndian(content, at: 8 + 4 * $0) }
      guard try body(trunk, leaves) else { return false }
      trunk = bigEndian(content, at: 0)
    }
    return true
  }
}

/// Numbers of pages, a bit for each.
struct PageSet {
  private var bits: [UInt8]

  init(upTo pageCount: Int) { bits = [UInt8](repeating: 0, count: pageCount / 8 + 1) }

  func contains(_ page: Int) -> Bool {
    bits.indices.contains(page >> 3) && bits[page >> 3] & 1 << (page & 7) != 0
  }

  /// - Returns: whether it was not in there. The page has to be in the file.
  mutating func insert(_ page: Int) -> Bool {
    guard !contains(page) else { return false }
    bits[page >> 3] |= 1 << (page & 7)
    return true
  }
}

extension Connection {
  /// Of an image: a page that is said to be free, and belongs to a table or an index.
  func freePageInUse() throws(SQLiteFailure) -> Int? {
    guard FreePages.canBeCompared, let header = DatabaseHeader(try bytes(at: 0, DatabaseHeader.size)),
      let pageSize = header.pageSize, header.freelistCount > 0
    else { return nil }
    let pageCount = try integer("PRAGMA page_count")
    var free = PageSet(upTo: pageCount)
    try FreePages.eachTrunk(
      from: header.firstFreelistTrunk, pageSize: pageSize, pageCount: pageCount,
      reading: { (page) throws(SQLiteFailure) in try self.bytes(at: (page - 1) * pageSize, pageSize) }
    ) { (trunk, leaves) throws(SQLiteFailure) in
      for leaf in leaves where leaf <= pageCount { _ = free.insert(leaf) }
      // One that comes again leads round and round.
      return free.insert(trunk)
    }
    return try firstNumber("SELECT pageno FROM dbstat", where: free.contains)
  }

  /// The first number of a column that is looked for.
  private func firstNumber(_ sql: String, where isWanted: (Int) -> Bool) throws(SQLiteFailure) -> Int? {
    var statement: OpaquePointer?
    try demand(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
    defer { sqlite3_finalize(statement) }
    while true {
      let code = sqlite3_step(statement)
      guard code == SQLITE_ROW else {
        try demand(code == SQLITE_DONE ? SQLITE_OK : code)
        return nil
      }
      let number = Int(sqlite3_column_int64(statement, 0))
      if isWanted(number) { return number }
    }
  }
}
