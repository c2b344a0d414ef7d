import FoundationEssentials

/// A database shaped as Core Data shapes its stores: metadata, primary keys, a table of photos with data inside, and
/// outside in files of `.NAME_SUPPORT/_EXTERNAL_DATA`.
package struct CoreDataSample {
  package let path: String
  /// Of the external files, by their names.
  package private(set) var files: [String: [UInt8]] = [:]
  package static let uuid = "5E0B1E6C-9B1A-4C55-8D5E-0A4B7F1B2C3D"
  package static let hash = [UInt8](0..<32)
  package static let identifier = "Journal 3"

  /// Made by another implementation: `NSStoreType`, `NSStoreModelVersionIdentifiers`, `NSStoreModelVersionHashes` and a
  /// few values of other kinds.
  package static let metadata = Hexadecimal.bytes(
    """
    62706c6973743030d80102030405060708090a0f12131415165f101d4e5350657273697374656e63654672616d65776f726b \
    56657273696f6e5f10194e5353746f72654d6f64656c56657273696f6e4861736865735f101e4e5353746f72654d6f64656c \
    56657273696f6e4964656e746966696572735b4e5353746f7265547970655f10125f4e534175746f56616375756d4c657665 \
    6c536269675172517411052fd20b0c0d0e5550686f746f6300c9007400e94f1020000102030405060708090a0b0c0d0e0f10 \
    1112131415161718191a1b1c1d1e1f4f10200101010101010101010101010101010101010101010101010101010101010101 \
    a21011594a6f75726e616c2033505653514c69746551321400000000000000008000000000000000233ff800000000000009 \
    0008001900390055007600820097009b009d009f00a200a700ad00b400d700fa00fd01070108010f01110122012b00000000 \
    0000020100000000000000170000000000000000000000000000012c
    """)

  package var supportFolder: String {
    let name = path.split(separator: "/").last ?? ""
    let folder = path.dropLast(name.count)
    return "\(folder).\(name.split(separator: ".").first ?? name)_SUPPORT"
  }
  package var externalFolder: String { "\(supportFolder)/_EXTERNAL_DATA" }

  /// - Parameters:
  ///   - external: how many rows have their data outside.
  ///   - history: with the tables of persistent history.
  package init(_ path: String, external: Int, history: Bool = false) throws {
    self.path = path
    var sql = """
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
      CREATE TABLE ZPHOTO (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR, ZDATA BLOB, ZTHUMB BLOB);
      INSERT INTO Z_METADATA VALUES (1, '\(Self.uuid)', x'\(Hexadecimal.text(Self.metadata))');
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Photo', 0, \(external));
      INSERT INTO ZPHOTO VALUES (1000, 1, 1, 'inside', x'01\(Hexadecimal.text([UInt8](repeating: 7, count: 200)))', NULL);
      INSERT INTO ZPHOTO VALUES (1001, 1, 1, 'alike', x'02\(Hexadecimal.text([UInt8](repeating: 8, count: 37)))', NULL);
      """
    if history {
      sql += "CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, ZTIMESTAMP FLOAT);"
      sql += "CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, ZTRANSACTIONID INTEGER);"
    }
    try SQLite.run(sql, on: path)
    try FileManager.default.createDirectory(atPath: externalFolder, withIntermediateDirectories: true)
    var random = SeededRandom(11)
    for row in 0..<external { try addPhoto(row + 1, random.bytes(20_000 + row)) }
  }

  /// A row whose data lies outside, and its file.
  @discardableResult
  package mutating func addPhoto(_ row: Int, _ data: [UInt8]) throws -> String {
    let name = UUID().uuidString
    try Data(data).write(to: URL(filePath: "\(externalFolder)/\(name)"))
    files[name] = data
    try SQLite.run(
      "INSERT INTO ZPHOTO VALUES (\(row), 1, 1, 'outside', x'02\(Hexadecimal.text(Array(name.utf8)))00', NULL)",
      on: path)
    return name
  }
}

package enum Hexadecimal {
  package static func text(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  package static func bytes(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
