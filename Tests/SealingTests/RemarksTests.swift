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

  private func decoded(tail: [UInt8]) throws -> ManifestBody {
    try ManifestBody(decoding: Array(Samples.body.encode().dropLast(2)) + tail)
  }

  @Test(arguments: [Remarks(rows: rows), Remarks(origin: origin), Remarks(rows: rows, origin: origin), .none])
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
    let tail: [UInt8] = [0, 1, 0, 1, 0, 0, 0, UInt8(bytes.count)] + bytes
    #expect(try decoded(tail: tail) == Samples.body)
  }

  @Test(arguments: [0, 47, 49]) func `an origin of another length is passed over`(length: Int) throws {
    let tail: [UInt8] = [0, 1, 0, 2, 0, 0, 0, UInt8(length)] + [UInt8](repeating: 1, count: length)
    #expect(try decoded(tail: tail) == Samples.body)
  }

  @Test func `no flipped bit of a remark makes the version another, or a reader crash`() throws {
    let remarks = Remarks(rows: Self.rows, origin: Self.origin)
    let whole = body(remarks).encode()
    let begin = Samples.body.encode().count - 2
    for bit in 8 * begin..<8 * whole.count {
      var bytes = whole
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      guard let read = try? ManifestBody(decoding: bytes) else { continue }
      #expect(read.core == Samples.body.core && read.maps == Samples.body.maps)
      #expect(read.remarks != remarks)
    }
  }
}
