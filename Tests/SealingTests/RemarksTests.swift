import TestKit
import Testing

@testable import Sealing

/// What a manifest says beside the core: extensions that readers may pass over.
@Suite struct RemarksTests {
  private static let rows = [
    Remarks.TableRows(table: "orders", rows: 720_000), .init(table: "Items", rows: 0), .init(table: "é", rows: .max),
  ]
  private static let origin = Remarks.Origin(repository: Fixed.repository, version: Fixed.digest("core 7"))

  private func body(_ remarks: Remarks) -> ManifestBody {
    let body = Samples.body
    return ManifestBody(
      state: body.state, chain: body.chain, sequence: body.sequence, revision: body.revision, core: body.core,
      bytesDecoded: body.bytesDecoded, bytesFetched: body.bytesFetched, newBytes: body.newBytes,
      nextPackNumber: body.nextPackNumber, tags: body.tags, note: body.note, packTable: body.packTable,
      maps: body.maps, remarks: remarks)
  }

  private func encoded(tail: [UInt8]) -> [UInt8] { Array(Samples.body.encode().dropLast(2)) + tail }

  /// It says nothing, and whoever writes the version anew says it again as it was.
  private func expectPassedOver(tail: [UInt8]) throws {
    let bytes = encoded(tail: tail)
    let read = try ManifestBody(decoding: bytes)
    let remarks = read.remarks
    #expect(remarks.rows.isEmpty && remarks.origin == nil && remarks.store == nil && remarks.capture == nil)
    #expect(read.core == Samples.body.core && read.encode() == bytes)
  }

  private static let store = Remarks.Store(
    uuid: "5E0B", type: "SQLite", hasHistory: true, supportFolder: ".A_SUPPORT", identifiers: ["Model 3", ""],
    hashes: [.init(entity: "Photo", hash: [1, 2, 3]), .init(entity: "Été", hash: [])], references: 7, missing: 2,
    orphaned: .max, missingNames: ["a", "b"], orphanedNames: ["c"])
  private static let capture = Remarks.Capture([
    .init(.vanished, "att/a"), .init(.missing, "b"), .init(.vanished, "att/a"), .init(.skipped, "e\u{301}"),
    .init(.skipped, "\u{E9}"),
  ])

  @Test(
    arguments: [
      Remarks(rows: rows), Remarks(origin: origin), Remarks(rows: rows, origin: origin), .none, Remarks(store: store),
      Remarks(capture: capture), Remarks(rows: rows, origin: origin, store: store, capture: capture),
    ])
  func `what is remarked comes back`(remarks: Remarks) throws {
    let bytes = body(remarks).encode()
    let again = try ManifestBody(decoding: bytes)
    #expect(again.remarks == remarks)
    #expect(again.core == Samples.body.core && again.encode() == bytes)
  }

  @Test func `without remarks the body is what it always was`() {
    #expect(body(.none).encode() == Samples.body.encode() && Samples.body.encode().suffix(2) == [0, 0])
  }

  @Test func `the bytes are those of the specification`() {
    let bytes = body(Remarks(rows: [.init(table: "b", rows: 258), .init(table: "a", rows: 1)], origin: Self.origin))
      .encode()
    let rows: [UInt8] = [0, 0, 0, 2, 0, 1, 0x61, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x62, 0, 0, 0, 0, 0, 0, 1, 2]
    let origin = Fixed.repository.bytes + Fixed.digest("core 7").bytes
    let expected: [UInt8] = [0, 2, 0, 1, 0, 0, 0, 26] + rows + [0, 2, 0, 0, 0, 48] + origin
    #expect(Array(bytes.suffix(expected.count)) == expected)
  }

  @Test func `what cannot be noted is left out, and the same name is noted once`() {
    let long = String(repeating: "x", count: 256)
    // One character as people see it, two names as SQLite does.
    let (composed, apart) = ("\u{E9}", "e\u{301}")
    let rows = [long, "", composed, apart, "a", "a"].map { Remarks.TableRows(table: $0, rows: 1) }
    #expect(Remarks(rows: rows).rows.map { Array($0.table.utf8) } == ["a", apart, composed].map { Array($0.utf8) })
  }

  @Test(
    arguments: [
      // No table; more than are there; a table without name; out of order; doubled; something behind.
      [0, 0, 0, 0], [0, 0, 0, 2, 0, 1, 0x61, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
      [0, 0, 0, 2, 0, 1, 0x62, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x61, 0, 0, 0, 0, 0, 0, 0, 1],
      [0, 0, 0, 2, 0, 1, 0x61, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x61, 0, 0, 0, 0, 0, 0, 0, 1],
      [0, 0, 0, 1, 0, 1, 0x61, 0, 0, 0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 1, 0xFF, 0, 0, 0, 0, 0, 0, 0, 1],
      [0xFF, 0xFF, 0xFF, 0xFF], [],
    ] as [[UInt8]])
  func `a list of tables that cannot be one is passed over`(bytes: [UInt8]) throws {
    try expectPassedOver(tail: [0, 1, 0, 1, 0, 0, 0, UInt8(bytes.count)] + bytes)
  }

  @Test(arguments: [0, 47, 49]) func `an origin of another length is passed over`(length: Int) throws {
    let tail: [UInt8] = [0, 1, 0, 2, 0, 0, 0, UInt8(length)] + [UInt8](repeating: 1, count: length)
    try expectPassedOver(tail: tail)
  }

  @Test func `the bytes of the later remarks are those of the specification`() {
    let store = Remarks.Store(
      uuid: "u", type: "t", hasHistory: true, supportFolder: "s", identifiers: ["i"],
      hashes: [.init(entity: "e", hash: [9])], references: 1, missing: 2, orphaned: 3, missingNames: ["m"],
      orphanedNames: ["o"])
    let bytes = body(Remarks(store: store, capture: .init([.init(.vanished, "v")]))).encode()
    let three: [UInt8] =
      [0, 1, 0x75, 0, 1, 0x74, 1, 0, 1, 0x73, 0, 1, 0, 1, 0x69, 0, 1, 0, 1, 0x65, 0, 1, 9]
      + [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3]
      + [0, 1, 0, 1, 0x6D, 0, 1, 0, 1, 0x6F]
    let four: [UInt8] = [0, 1, 2, 0, 0, 0, 1, 0, 1, 2, 0, 1, 0x76]
    let expected: [UInt8] = [0, 2, 0, 3, 0, 0, 0, UInt8(three.count)] + three + [0, 4, 0, 0, 0, 13] + four
    #expect(Array(bytes.suffix(expected.count)) == expected)
  }

  @Test func `what happened to companions is counted once, and named up to a bound`() {
    #expect(Self.capture.counts == [.vanished: 1, .missing: 1, .skipped: 2] && Self.capture.entries.count == 4)
    let many = Remarks.Capture((0..<1500).map { .init(.unreadable, "f\($0)") })
    #expect(many.counts == [.unreadable: 1500] && many.entries.count == 1000)
    #expect(Remarks(capture: .init([])).capture == nil)
  }

  @Test(arguments: [3, 4] as [UInt8], 0..<30) func `a later remark that is cut is passed over`(type: UInt8, length: Int)
    throws
  {
    let whole = type == 3 ? Self.store.encode() : Self.capture.encode()
    let cut = Array(whole.prefix(min(length, whole.count - 1)))
    let tail: [UInt8] = [0, 1, 0, type, 0, 0, 0, UInt8(cut.count)] + cut
    try expectPassedOver(tail: tail)
    let long: [UInt8] = [0, 1, 0, type, 0, 0, 0, UInt8(whole.count + 1)] + whole + [0]
    try expectPassedOver(tail: long)
  }

  // MARK: of later programs

  @Test func `what is not known is said again as it was, in its place`() throws {
    let parts: [[UInt8]] = [
      [0, 5],
      // A type below all others, and rows in a shape that is not known.
      [0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 2, 0xAB, 0xCD],
      [0, 2, 0, 0, 0, 48], Self.origin.repository.bytes, Self.origin.version.bytes,
      [0, 7, 0, 0, 0, 1, 9], [0x7F, 0xFF, 0, 0, 0, 3, 1, 2, 3],
    ]
    let bytes = encoded(tail: Array(parts.joined()))
    let read = try ManifestBody(decoding: bytes)
    #expect(read.remarks.origin == Self.origin && read.remarks.rows.isEmpty)
    let others: [UInt16: [UInt8]] = [0: [], 1: [0xAB, 0xCD], 7: [9], 0x7FFF: [1, 2, 3]]
    #expect(read.remarks.others == others)
    #expect(read.encode() == bytes)
  }

  @Test func `what is known in other bytes is understood, and stays in those`() throws {
    // Events in another order than this program writes them.
    let capture: [UInt8] = [0, 2, 2, 0, 0, 0, 1, 1, 0, 0, 0, 3, 0, 0]
    let bytes = encoded(tail: [0, 1, 0, 4, 0, 0, 0, UInt8(capture.count)] + capture)
    let read = try ManifestBody(decoding: bytes)
    let counts = try #require(read.remarks.capture).counts
    #expect(counts[.vanished] == 1 && counts[.missing] == 3)
    #expect(read.encode() == bytes)
  }

  @Test func `types ascend, whoever said what`() throws {
    let remarks = Remarks(rows: Self.rows, capture: Self.capture, others: [9: [1], 0: [2], 2: [3], 0x7FFF: []])
    let bytes = body(remarks).encode()
    let read = try ManifestBody(decoding: bytes)
    #expect(read.remarks == remarks && read.encode() == bytes)
  }

  @Test func `what must be known is refused beside what need not be`() {
    let tail: [UInt8] = [0, 2, 0, 7, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0]
    #expect(failure { _ = try ManifestBody(decoding: encoded(tail: tail)) } == .unsupported)
  }

  @Test func `no flipped bit of a remark makes the version another, or a reader crash`() throws {
    let remarks = Remarks(rows: Self.rows, origin: Self.origin, store: Self.store, capture: Self.capture)
    let whole = body(remarks).encode()
    let begin = Samples.body.encode().count - 2
    for bit in 8 * begin..<8 * whole.count {
      var bytes = whole
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      guard let read = try? ManifestBody(decoding: bytes) else { continue }
      #expect(read.core == Samples.body.core && read.maps == Samples.body.maps)
      // Nothing that was read is lost, or becomes something else, when it is said again.
      #expect(body(read.remarks).encode() == bytes)
    }
  }
}
