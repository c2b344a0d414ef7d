import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

@Suite struct MemberWriterTests {
  /// Keeps where something was written.
  private final class Places: MemberDestination {
    let offsets = Locked<[Int]>([])
    func write(_ bytes: ArraySlice<UInt8>, at offset: Int) { offsets.withLock { $0.append(offset) } }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {}
  }

  @Test func `units of a frame that lie scattered in the member are reported together`() async throws {
    let home = try await Home()
    let scratch = try Scratch()
    let count = 64
    let plain = home.noise(512 * count, seed: 1)
    let record = FrameRecord(
      offset: 0, sealedLength: 1, codec: .raw, type: .page, unitLengths: UnitLengths(uniform: 512, count: count),
      frameID: .zero, fingerprints: [], bases: [])
    // Twice as many units as are written: no block is complete, and nothing is proved.
    let file = Core.FileContent(
      unitType: .page, unitSize: 512, unitCount: UInt64(2 * count), length: UInt64(1024 * count), imageDigest: .zero,
      sha256: .zero)
    let places = Places()
    let proofs = try UnitProofs(of: file, in: places, keys: home.repository.keys, tables: scratch.path)
    let demands = (0..<count).map { unit in
      RestorePlan.Demand(pack: 1, frame: 0, firstUnit: UInt16(unit), count: 1, memberUnit: UInt32(2 * unit))
    }
    var reports: [Int] = []
    try MemberWriter(file: file, destination: places).write(
      DecodedFrame(record: record, plain: plain), demands, noting: proofs
    ) { reports.append($0) }
    #expect(reports == [512 * count])
    #expect(places.offsets.withLock { $0 } == (0..<count).map { 1024 * $0 })
  }
}
