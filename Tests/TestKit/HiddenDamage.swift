/// Damage that a vacuum leaves behind: the database fails SQLite's check, and its vacuumed copy passes it.
package enum HiddenDamage: String, CaseIterable, Sendable {
  /// The root page of the table names one child less: its rows are gone, their page is in no tree and no list.
  case lostChild
  /// The list of free pages names the root page of the table.
  case usedPageIsFree

  /// - Parameter path: of a database in rollback mode that nobody has open, with a table `t(…, body)` of so many rows that
  ///   its root page is no leaf, and has a page to spare.
  package func inflict(on path: String) throws {
    if self == .usedPageIsFree {
      try SQLite.run("CREATE TABLE gone(x); INSERT INTO gone SELECT body FROM t; DROP TABLE gone", on: path)
    }
    let database = try TestDatabase(path, readOnly: true)
    let root = try database.number("SELECT rootpage FROM sqlite_schema WHERE name = 't'")
    database.close()
    var bytes = try fileBytes(path)
    let pageSize = number(bytes, at: 16, length: 2)
    switch self {
    case .lostChild:
      let page = (root - 1) * pageSize
      let cells = number(bytes, at: page + 3, length: 2)
      guard bytes[page] == 5, cells > 1 else { throw SQLite.Failure(description: "the table is too small") }
      put(cells - 1, into: &bytes, at: page + 3, length: 2)
    case .usedPageIsFree:
      let trunk = (number(bytes, at: 32, length: 4) - 1) * pageSize
      guard trunk >= 0, number(bytes, at: trunk + 4, length: 4) > 0 else {
        throw SQLite.Failure(description: "no page is free")
      }
      put(root, into: &bytes, at: trunk + 8, length: 4)
    }
    try writeFile(path, bytes)
  }

  private func number(_ bytes: [UInt8], at offset: Int, length: Int) -> Int {
    bytes[offset..<offset + length].reduce(0) { $0 << 8 | Int($1) }
  }

  private func put(_ value: Int, into bytes: inout [UInt8], at offset: Int, length: Int) {
    for index in 0..<length {
      bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * (length - 1 - index)))
    }
  }
}
