import Sealing
import TestKit

/// Pages of databases that were worked with and never vacuumed: free blocks, fragments, overflow chains, interior pages
/// of tables and indexes, a table without rowids.
enum LivePages {
  /// - Returns: the whole file, page size `pageSize`.
  static func file(pageSize: Int, seed: UInt64) throws -> [UInt8] {
    let scratch = try Scratch()
    let path = scratch.file("live.db")
    var random = SeededRandom(seed)
    let database = try TestDatabase(path)
    try database.run("PRAGMA page_size=\(pageSize); PRAGMA secure_delete=\(seed % 2); PRAGMA journal_mode=MEMORY")
    try database.run(
      """
      CREATE TABLE rows(id INTEGER PRIMARY KEY, word TEXT, body BLOB); CREATE INDEX words ON rows(word, body);
      CREATE TABLE pairs(a TEXT, b INT, c BLOB, PRIMARY KEY(a, b)) WITHOUT ROWID;
      """)
    try database.run("BEGIN")
    for step in 0..<900 { try database.run(statement(step, &random, pageSize)) }
    try database.run("COMMIT")
    database.close()
    return try fileBytes(path)
  }

  private static func statement(_ step: Int, _ random: inout SeededRandom, _ pageSize: Int) -> String {
    func number(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
    let blob = number(40) == 0 ? number(3 * pageSize) : number(min(200, pageSize / 5))
    let word = String(random.next() % 100_000, radix: 36)
    let row = number(900)
    // Not SQLite's randomblob: the same seed makes the same pages.
    func chance() -> String { "x'\(Hex.encode(random.bytes(blob)))'" }
    return switch number(8) {
    case 0: "DELETE FROM rows WHERE id = \(row) OR id = \(row + 3)"
    case 1: "DELETE FROM pairs WHERE b % 97 = \(row % 97)"
    case 2: "UPDATE rows SET body = \(chance()) WHERE id % 50 = \(row % 50)"
    case 3, 4:
      "INSERT OR REPLACE INTO pairs VALUES('\(word)', \(row), zeroblob(\(blob))), ('\(word)x', \(step), 'constant')"
    default:
      "INSERT OR REPLACE INTO rows VALUES(\(row), '\(word)', \(chance())), (\(row * 1000), 'a', NULL)"
    }
  }

  static func pages(of file: [UInt8], pageSize: Int) -> [[UInt8]] {
    stride(from: 0, to: file.count, by: pageSize).map { Array(file[$0..<$0 + pageSize]) }
  }
}
