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
    let sealed = try builder.finish()
    try PackStream.demand(sealed.bytes, holds: [frame(spoilt)], home.repository.keys)
    let error = #expect(throws: RepositoryError.self) {
      try PackStream.demand(sealed.bytes, holds: [frame(whole)], home.repository.keys)
    }
    #expect(error?.code == .damaged)
  }
}
