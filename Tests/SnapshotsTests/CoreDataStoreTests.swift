import TestKit
import Testing

@testable import Snapshots

/// What a Core Data store says of itself is read, whoever wrote it, and no byte of it makes the reader stumble.
@Suite struct CoreDataStoreTests {
  @Test func `a property list of another writer is read`() throws {
    let list = try #require(PropertyList(binary: CoreDataSample.metadata))
    #expect(list["NSStoreType"] == .text("SQLite"))
    #expect(list["NSStoreModelVersionIdentifiers"] == .array([.text(CoreDataSample.identifier), .text("")]))
    #expect(list["NSStoreModelVersionHashes"]?["Photo"] == .data(CoreDataSample.hash))
    #expect(list["NSStoreModelVersionHashes"]?["Été"] == .data([UInt8](repeating: 1, count: 32)))
    #expect(list["NSPersistenceFrameworkVersion"] == .integer(1327) && list["big"] == .integer(.min))
    #expect(list["r"] == .real(1.5) && list["t"] == .bool(true) && list["nothing"] == nil)
  }

  @Test func `a property list that is cut, or has any bit flipped, is read or refused`() {
    let whole = CoreDataSample.metadata
    for length in 0..<whole.count { _ = PropertyList(binary: Array(whole.prefix(length))) }
    for bit in 0..<8 * whole.count {
      var bytes = whole
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      _ = PropertyList(binary: bytes)
    }
    var random = SeededRandom(4)
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 8..<bytes.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
      }
      _ = PropertyList(binary: bytes)
    }
  }

  @Test func `lists that hold themselves, or grow without end, are refused`() {
    func list(_ objects: [UInt8], _ offsets: [UInt8]) -> [UInt8] {
      let table = 8 + objects.count
      let trailer: [UInt8] =
        [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(offsets.count)] + [UInt8](repeating: 0, count: 8)
        + [0, 0, 0, 0, 0, 0, 0, UInt8(table)]
      return Array("bplist00".utf8) + objects + offsets + trailer
    }
    #expect(PropertyList(binary: list([0x09], [8])) == .bool(true))
    #expect(PropertyList(binary: list([0xA1, 0], [8])) == nil)
    // Each level twice the one below: 2^30 in the end.
    let levels: [UInt8] = (0..<30).flatMap { level -> [UInt8] in [0xA2, UInt8(level + 1), UInt8(level + 1)] }
    #expect(PropertyList(binary: list(levels + [0x09], (0..<31).map { UInt8(8 + 3 * $0) })) == nil)
    // Lengths beyond the end, and of absurd size.
    #expect(PropertyList(binary: list([0x4F, 0x13, 0x7F] + [UInt8](repeating: 0xFF, count: 7), [8])) == nil)
    #expect(PropertyList(binary: list([0xAF, 0x13] + [UInt8](repeating: 0xFF, count: 8), [8])) == nil)
  }

  @Test func `references are those that Core Data writes, and no others`() async throws {
    let scratch = try Scratch()
    let sample = try CoreDataSample(scratch.file("A.sqlite"), external: 4)
    let store = try #require(try await readCoreDataStore(at: sample.path))
    #expect(store.references.map(\.name) == sample.files.keys.sorted())
    #expect(store.uuid == CoreDataSample.uuid && store.type == "SQLite" && !store.hasHistory)
    #expect(store.hashes["Photo"] == CoreDataSample.hash)
    #expect(try names(in: scratch.path) == [".A_SUPPORT", "A.sqlite"])
  }

  @Test func `any other database is none, and a broken list is left out`() async throws {
    let scratch = try Scratch()
    try SQLite.run("CREATE TABLE Z_METADATA(a)", on: scratch.file("a.db"))
    #expect(try await readCoreDataStore(at: scratch.file("a.db")) == nil)
    let sample = try CoreDataSample(scratch.file("B.sqlite"), external: 1)
    try SQLite.run("UPDATE Z_METADATA SET Z_PLIST = x'00'; DROP TABLE ZPHOTO", on: sample.path)
    let store = try #require(try await readCoreDataStore(at: sample.path))
    #expect(store.uuid == CoreDataSample.uuid && store.type.isEmpty && store.references.isEmpty)
  }

  @Test func `names of external files are UUIDs in upper case`() {
    let name = "00F0E1D2-C3B4-4A59-8877-665544332211"
    #expect(ExternalRecord(name)?.name == name)
    for wrong in [name.lowercased(), String(name.dropLast()), name + "0", "00F0E1D2+C3B4-4A59-8877-665544332211", ""] {
      #expect(ExternalRecord(wrong) == nil)
    }
  }
}
