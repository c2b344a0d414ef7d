import Testing

@testable import Repositories
@testable import Sealing

/// Before a pack leaves, it is opened again as a reader would: memory fails, and so do compressors.
@Suite struct PackProofTests {
  private func frame(_ payload: [UInt8]) -> EncodedFrame {
    EncodedFrame(
      codec: .raw, type: .page, unitLengths: UnitLengths([payload.count]),
      fingerprints: [Fingerprint(high: 1, low: 2)], payload: payload)
  }

  @Test func `a pack that holds other bytes than were put in does not leave`() async throws {
    let home = try await Home()
    let whole = home.noise(4096, seed: 1)
    var spoilt = whole
    spoilt[1000] ^= 1
    var builder = ObjectBuilder(kind: .pack, keys: home.repository.keys, basePacks: [], random: systemRandom)
    builder.add(frame(spoilt))
    let keys = home.repository.keys
    let opened = try OpenedObject.open(try builder.finish().bytes, kind: .pack, name: nil, keys: keys)
    try opened.demand(holding: [frame(spoilt)], keys)
    let error = #expect(throws: RepositoryError.self) { try opened.demand(holding: [frame(whole)], keys) }
    #expect(error?.code == .damaged)
  }
}
