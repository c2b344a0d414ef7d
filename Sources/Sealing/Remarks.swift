/// What a manifest says of its version beside the core: the extensions of its body (`Docs/Format.md` §6.4). A reader that
/// does not know them, or cannot read one, passes over it, and the version is the same without.
package struct Remarks: Sendable, Equatable {
  /// The rows of one table when the version was pushed.
  package struct TableRows: Sendable, Equatable {
    package let table: String
    package let rows: UInt64

    package init(table: String, rows: UInt64) {
      self.table = table
      self.rows = rows
    }
  }

  /// The version, perhaps of another repository, that this one is a copy of.
  package struct Origin: Sendable, Equatable {
    package let repository: RepositoryID
    package let version: Digest

    package init(repository: RepositoryID, version: Digest) {
      self.repository = repository
      self.version = version
    }
  }

  /// Bytes of a table's name, at most; a table with a longer one is not noted.
  package static let longestName = 255

  /// Ascending by the bytes of the names; not every table need be there.
  package let rows: [TableRows]
  package let origin: Origin?
  /// What the database is to Core Data.
  package let store: Store?
  /// What happened to the companions while they were captured.
  package let capture: Capture?
  /// By type, what this program does not know or would not say in the same bytes, as a later program left it: whoever
  /// writes the version anew says it again.
  package private(set) var others: [UInt16: [UInt8]]

  package static let none = Remarks()

  /// - Parameter rows: in any order. What cannot be noted, and what stands there twice, is left out.
  package init(
    rows: [TableRows] = [], origin: Origin? = nil, store: Store? = nil, capture: Capture? = nil,
    others: [UInt16: [UInt8]] = [:]
  ) {
    var named: [[UInt8]: TableRows] = [:]
    for one in rows where (1...Self.longestName).contains(one.table.utf8.count) { named[Array(one.table.utf8)] = one }
    self.rows = named.values.sorted { $0.table.utf8.lexicographicallyPrecedes($1.table.utf8) }
    self.origin = origin
    self.store = store
    self.capture = capture.flatMap { $0.isEmpty ? nil : $0 }
    self.others = others
  }
}

extension Remarks {
  /// What earlier versions had of a companion is not in this one, all of it (`Docs/Format.md` §6.4, type 4: both not there
  /// and vanished, be it that no file of it can be read), or none of the external files that a Core Data store refers to.
  /// A file that vanished while a folder was read is none of it.
  package var lacksCompanions: Bool {
    if let store, store.missing > 0, store.missing == store.references { return true }
    guard let capture else { return false }
    let vanished = Set(capture.paths(.vanished).map { Array($0.utf8) })
    return capture.paths(.missing).contains { vanished.contains(Array($0.utf8)) }
  }
}

extension Remarks {
  private static let rowsType: UInt16 = 1
  private static let originType: UInt16 = 2
  private static let storeType: UInt16 = 3
  private static let captureType: UInt16 = 4

  func encode(into writer: inout ByteWriter) {
    Extensions.encode(extensions.merging(others) { $1 }, into: &writer)
  }

  /// What this program knows, in its own words.
  private var extensions: [UInt16: [UInt8]] {
    var extensions: [UInt16: [UInt8]] = [:]
    if !rows.isEmpty {
      var bytes = ByteWriter()
      bytes.write(UInt32(rows.count))
      for one in rows {
        bytes.write(string: one.table)
        bytes.write(one.rows)
      }
      extensions[Self.rowsType] = bytes.bytes
    }
    if let origin { extensions[Self.originType] = origin.repository.bytes + origin.version.bytes }
    if let store { extensions[Self.storeType] = store.encode() }
    if let capture { extensions[Self.captureType] = capture.encode() }
    return extensions
  }

  init(_ reader: inout ByteReader) throws(SealError) {
    let found = try Extensions.read(&reader)
    rows = found[Self.rowsType].flatMap { try? Self.readRows($0) } ?? []
    origin = found[Self.originType].flatMap { try? Self.readOrigin($0) }
    store = found[Self.storeType].flatMap { try? Store(decoding: $0) }
    capture = found[Self.captureType].flatMap { try? Capture(decoding: $0) }
    others = [:]
    let known = extensions
    others = found.filter { known[$0.key] != $0.value }
  }

  private static func readRows(_ bytes: [UInt8]) throws(SealError) -> [TableRows] {
    var reader = ByteReader(bytes, "list of tables")
    var rows: [TableRows] = []
    for _ in 0..<(try reader.readCount(UInt32.self, ofAtLeast: 10)) {
      let one = TableRows(table: try reader.readString(), rows: try reader.read())
      let isLater = rows.last.map { $0.table.utf8.lexicographicallyPrecedes(one.table.utf8) } ?? true
      guard (1...longestName).contains(one.table.utf8.count), isLater else {
        throw SealError(.malformed, "the list of tables is out of order")
      }
      rows.append(one)
    }
    guard !rows.isEmpty else { throw SealError(.malformed, "the list of tables is empty") }
    try reader.expectEnd()
    return rows
  }

  private static func readOrigin(_ bytes: [UInt8]) throws(SealError) -> Origin {
    var reader = ByteReader(bytes, "origin of a copy")
    guard let repository = RepositoryID(try reader.read(count: 16)) else {
      throw SealError(.malformed, "the origin of a copy is cut")
    }
    let origin = Origin(repository: repository, version: try reader.readDigest())
    try reader.expectEnd()
    return origin
  }
}
