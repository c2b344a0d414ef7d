import CSQLite

/// What a Core Data store says of itself, and which files outside it its rows refer to.
package struct CoreDataStore: Sendable, Equatable {
  package var uuid = ""
  /// `SQLite`.
  package var type = ""
  package var identifiers: [String] = []
  /// By the entity's name: what its model was when the store was written.
  package var hashes: [String: [UInt8]] = [:]
  /// There are tables of persistent history.
  package var hasHistory = false
  /// Names of files in `_EXTERNAL_DATA` that rows refer to: distinct, ascending.
  package var references: [ExternalRecord] = []

  package init() {}
}

/// The name of an external file: a UUID, 36 characters in upper case.
package struct ExternalRecord: Sendable, Hashable, Comparable {
  private let high: UInt64
  private let low: UInt64

  /// - Returns: `nil` for what is no UUID as Core Data writes it.
  package init?(_ name: some StringProtocol) {
    let bytes = Array(name.utf8)
    guard bytes.count == 36 else { return nil }
    var digits: [UInt64] = []
    for (index, byte) in bytes.enumerated() {
      let isDash = [8, 13, 18, 23].contains(index)
      guard isDash == (byte == UInt8(ascii: "-")) else { return nil }
      if isDash { continue }
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(UInt64(byte - UInt8(ascii: "0")))
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(UInt64(byte - UInt8(ascii: "A")) + 10)
      default: return nil
      }
    }
    high = digits.prefix(16).reduce(0) { $0 << 4 | $1 }
    low = digits.dropFirst(16).reduce(0) { $0 << 4 | $1 }
  }

  package var name: String {
    let digits = [high, low].map { half in
      let text = String(half, radix: 16, uppercase: true)
      return String(repeating: "0", count: 16 - text.count) + text
    }.joined()
    var name = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { name.append("-") }
      name.append(digit)
    }
    return name
  }

  package static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

/// Looks at a private, finished image. Whoever has tables `Z_METADATA` and `Z_PRIMARYKEY` is taken for a store of Core
/// Data; what it says of itself that cannot be read is left out.
/// - Returns: `nil` for any other database.
/// - Throws: `.missing`, `.unreadable`, `.damaged`, `.cancelled`.
package func readCoreDataStore(at path: String) async throws -> CoreDataStore? {
  try await onOwnThread { stop in
    guard exists(path) else { throw SnapshotError(.missing, "there is no file \(path)") }
    let watch = Watch(stop, busyTimeout: .seconds(1))
    do {
      let connection = try openImage(path, watch)
      let tables = try connection.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0", limit: mostTables)
      guard tables.contains("Z_METADATA"), tables.contains("Z_PRIMARYKEY") else { return nil }
      var store = CoreDataStore()
      store.hasHistory = tables.contains("ATRANSACTION") && tables.contains("ACHANGE")
      store.readMetadata(connection)
      var found: Set<ExternalRecord> = []
      for table in tables where table.hasPrefix("Z") {
        do throws(SQLiteFailure) {
          try connection.forEachReference(in: table) { found.insert($0) }
        } catch {
          if let refusal = watch.refusal { throw refusal }
        }
      }
      store.references = found.sorted()
      return store
    } catch let failure as SQLiteFailure {
      if let refusal = watch.refusal { throw refusal }
      throw failure.explained(ofCopy: path)
    }
  }
}

private let mostTables = 10_000

extension CoreDataStore {
  /// One row: a version, the store's UUID, and a property list.
  fileprivate mutating func readMetadata(_ connection: Connection) {
    uuid = (try? connection.rows("SELECT Z_UUID FROM Z_METADATA", limit: 1).first) ?? ""
    guard let bytes = try? connection.blob("SELECT Z_PLIST FROM Z_METADATA"),
      let list = PropertyList(binary: bytes)
    else { return }
    type = list["NSStoreType"]?.text ?? ""
    identifiers = list["NSStoreModelVersionIdentifiers"]?.elements.compactMap(\.text) ?? []
    for entry in list["NSStoreModelVersionHashes"]?.entries ?? [] {
      if case .data(let hash) = entry.value { hashes[entry.key] = hash }
    }
  }
}

extension Connection {
  private static let longestBlob = 16 << 20

  /// The first column of the first row; `nil` when there is none, or it is longer than any that is meant here.
  fileprivate func blob(_ sql: String) throws(SQLiteFailure) -> [UInt8]? {
    var statement: OpaquePointer?
    try demand(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
    defer { sqlite3_finalize(statement) }
    let code = sqlite3_step(statement)
    guard code == SQLITE_ROW else {
      try demand(code == SQLITE_DONE ? SQLITE_OK : code)
      return nil
    }
    let count = Int(sqlite3_column_bytes(statement, 0))
    guard count <= Self.longestBlob, let start = sqlite3_column_blob(statement, 0) else { return nil }
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// A blob that Core Data put outside is the byte 2, the file's name, a zero byte; one that it kept begins with the byte 1.
  /// SQLite looks at types and lengths first: of long blobs nothing but their beginning is read.
  fileprivate func forEachReference(in table: String, _ body: (ExternalRecord) -> Void) throws(SQLiteFailure) {
    let name = quoted(table, by: "\"")
    let columns = try rows(
      "SELECT name FROM pragma_table_info(?1) WHERE upper(type) = 'BLOB'", [table], limit: 2000)
    for column in columns {
      let cell = quoted(column, by: "\"")
      var statement: OpaquePointer?
      try demand(
        sqlite3_prepare_v2(
          handle,
          "SELECT \(cell) FROM main.\(name) WHERE typeof(\(cell)) = 'blob' AND length(\(cell)) = 38", -1, &statement,
          nil))
      defer { sqlite3_finalize(statement) }
      while true {
        let code = sqlite3_step(statement)
        guard code == SQLITE_ROW else {
          try demand(code == SQLITE_DONE ? SQLITE_OK : code)
          break
        }
        guard sqlite3_column_bytes(statement, 0) == 38, let start = sqlite3_column_blob(statement, 0) else { continue }
        let bytes = UnsafeRawBufferPointer(start: start, count: 38)
        guard bytes[0] == 2, bytes[37] == 0, let text = String(validating: bytes[1..<37], as: UTF8.self),
          let record = ExternalRecord(text)
        else { continue }
        body(record)
      }
    }
  }
}
