import CSQLite

/// A small database whose kind a number decides: every page size, encoding and kind of journal, in ever new mixtures of
/// what schemas have. The same number makes the same database.
package struct GeneratedDatabase: Sendable, CustomStringConvertible {
  package enum Journal: String, CaseIterable, Sendable {
    case rollback
    case persist
    case walClosed
    case walWithContent
  }

  package let number: Int
  package let pageSize: Int
  package let encoding: String
  package let autoVacuum: String
  package let journal: Journal
  /// Bytes left free at the end of each page.
  package let reserved: Int
  /// The schema format of before 2006.
  package let isLegacy: Bool
  package let features: [DatabaseFeature]

  package init(_ number: Int) {
    self.number = number
    var random = SeededRandom(UInt64(number) &* 7919)
    pageSize = 512 << (number % 8)
    encoding = ["UTF-8", "UTF-16le", "UTF-16be"][number % 3]
    autoVacuum = ["NONE", "FULL", "INCREMENTAL"][number / 8 % 3]
    journal = Journal.allCases[number % 5 % 4]
    reserved = number % 6 == 5 ? [8, 24, 32, 48, 80][number / 6 % 5] : 0
    let isLegacy = number % 11 == 7
    self.isLegacy = isLegacy
    let all = DatabaseFeature.allCases
    var features = [all[number % all.count]]
    for other in all where other != features[0] && Int.random(in: 0..<7, using: &random) == 0 { features.append(other) }
    self.features = features.filter { !(isLegacy && $0.needsNewFormat) }
  }

  package var description: String {
    let journal = isLegacy ? "\(journal) legacy" : "\(journal)"
    return "\(number): \(pageSize) \(encoding) \(autoVacuum) \(journal) \(reserved) \(features.map(\.rawValue))"
  }

  /// Asks for every byte of what all of them have.
  package static let question = "SELECT id, hex(a), hex(b), hex(c) FROM things ORDER BY id"

  /// It cannot be copied by `VACUUM INTO` without the application's own code.
  package var needsApplicationCode: Bool { features.contains { $0.needsApplicationCode } }

  /// It is copied page by page by any method: it needs that code, or a vacuum would not heed its DESC as its format does.
  package var needsPages: Bool { needsApplicationCode || (isLegacy && features.contains(.withoutRowid)) }

  /// Writes the database to `path` and closes it; side files are left where the kind has them.
  package func make(at path: String) throws {
    var random = SeededRandom(UInt64(number) &* 104_729)
    let database = try TestDatabase(path)
    try database.run(
      "PRAGMA synchronous=OFF; PRAGMA page_size=\(pageSize); PRAGMA encoding='\(encoding)'; PRAGMA auto_vacuum=\(autoVacuum)"
    )
    if isLegacy { sl_db_config_int(database.handle, SQLITE_DBCONFIG_LEGACY_FILE_FORMAT, 1, nil) }
    if reserved > 0 {
      var count = Int32(reserved)
      sqlite3_file_control(database.handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &count)
      try database.run("VACUUM")
    }
    try database.run(
      journal == .persist ? "PRAGMA journal_mode=PERSIST" : journal == .rollback ? "" : "PRAGMA journal_mode=WAL")
    let identity = Int32(truncatingIfNeeded: random.next())
    try database.run("PRAGMA user_version=\(identity); PRAGMA application_id=\(identity ^ 0x5a5a)")
    try database.run("BEGIN")
    try addRows(to: database, &random)
    for feature in features where feature.isAlteration { try feature.add(to: database, &random, pageSize: pageSize) }
    for feature in features where feature.comesFirst && !feature.isAlteration {
      try feature.add(to: database, &random, pageSize: pageSize)
    }
    try database.run("COMMIT")
    for feature in features where !feature.comesFirst { try feature.add(to: database, &random, pageSize: pageSize) }
    guard journal == .walWithContent else { return database.close() }
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    try database.run("INSERT INTO things(a) VALUES('only in the -wal'); DELETE FROM things WHERE id % 7 = 3")
    database.closeKeepingWal()
  }

  /// What every one of them has: values of each type, short and long.
  private func addRows(to database: TestDatabase, _ random: inout SeededRandom) throws {
    try database.run("CREATE TABLE things(id INTEGER PRIMARY KEY, a, b, c); CREATE INDEX things_by_b ON things(b, a)")
    for _ in 0..<Int.random(in: 1...60, using: &random) {
      let values = (0..<3).map { _ in SQLValue.any(&random) }.joined(separator: ", ")
      try database.run("INSERT INTO things(a, b, c) VALUES(\(values))")
    }
  }
}

/// Values as they are written in SQL.
enum SQLValue {
  static func any(_ random: inout SeededRandom) -> String {
    switch Int.random(in: 0..<9, using: &random) {
    case 0: "NULL"
    case 1: "\(Int64(bitPattern: random.next()))"
    case 2: "\(Int.random(in: -200...200, using: &random))"
    case 3: "\(Double.random(in: -1e9...1e9, using: &random))"
    case 4: blob(&random, upTo: 300)
    case 5: "zeroblob(\(Int.random(in: 0...2000, using: &random)))"
    case 6: "CAST(\(blob(&random, upTo: 20)) AS TEXT)"
    case 7: "'Zoë 數據 🦭 ' || char(\(Int.random(in: 1...0xd7ff, using: &random))) || 'it''s'"
    default: "'\(String(repeating: "word ", count: Int.random(in: 0...40, using: &random)))'"
    }
  }

  static func blob(_ random: inout SeededRandom, upTo most: Int) -> String {
    blob(&random, of: Int.random(in: 0...most, using: &random))
  }

  static func blob(_ random: inout SeededRandom, of count: Int) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(2 * count)
    for byte in random.bytes(count) {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return "x'\(String(decoding: text, as: UTF8.self))'"
  }
}
