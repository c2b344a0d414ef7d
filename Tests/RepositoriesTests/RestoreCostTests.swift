import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What a version may cost whoever restores it, each bound by itself. There is no content: only lengths count.
@Suite struct RestoreCostTests {
  @Test func `no more than three times its length is decoded`() throws {
    // Sixteen MiB of deltas that take next to nothing.
    #expect(try Version(deltas: 64).isModest)
    #expect(try !Version(deltas: 65).isModest)
  }

  @Test func `not nearly twice what it would take whole is stored`() throws {
    #expect(try Version(packLength: 5_760_000).isModest)
    #expect(try !Version(packLength: 5_760_001).isModest)
  }

  @Test func `what members refer to again and again would be stored once`() throws {
    #expect(try Version(times: 3, packLength: 5_760_000).isModest)
    #expect(try !Version(times: 3, packLength: 5_760_001).isModest)
  }

  @Test func `its pages may say that it takes less whole, and never more`() throws {
    #expect(try Version(density: 0.3, packLength: 4_529_847).isModest)
    #expect(try !Version(density: 0.3, packLength: 4_529_848).isModest)
    #expect(try Version(density: 0.9, packLength: 5_760_000).isModest)
    #expect(try !Version(density: 0.9, packLength: 5_760_001).isModest)
  }

  @Test func `its pages are only looked at where that could matter`() throws {
    #expect(try !Version(packLength: 3_840_000).needs.areWorthALook)
    #expect(try Version(packLength: 3_840_001).needs.areWorthALook)
    #expect(try !Version(wholes: 16, sealedWhole: 17, packLength: 60_000_000).needs.areWorthALook)
  }

  @Test func `what takes less than a MiB whole counts like a MiB`() throws {
    #expect(try Version(sealedWhole: 17, packLength: 1_887_436).isModest)
    #expect(try !Version(sealedWhole: 17, packLength: 1_887_437).isModest)
  }

  @Test func `below 4 MiB anything goes`() throws {
    #expect(try Version(length: 4096, wholes: 16, sealedWhole: 250_000, packLength: 60_000_000).isModest)
    #expect(try !Version(length: 4096, wholes: 17, sealedWhole: 17, packLength: 4096).isModest)
  }
}

/// A version whose frames lie in one pack, each a quarter of a MiB: unless told otherwise 8 MiB that take 3,200,000 bytes.
private struct Version {
  private static let pageSize = 65_536
  var length = 8 << 20
  var wholes = 32
  var sealedWhole = 100_000
  /// They rest on the first frame.
  var deltas = 0
  /// So often all of them are referred to.
  var times = 1
  private let sealedDelta = 17
  /// Of its pages, where they were looked at.
  var density: Double?
  var packLength: UInt32 = 3_300_000

  var isModest: Bool { get throws { try needs.areModest(for: length) } }

  var needs: VersionNeeds {
    get throws {
      let scratch = try Scratch()
      defer { withExtendedLifetime(scratch) {} }
      let frames =
        (0..<wholes).map { frame($0, .zstd, sealedWhole) }
        + (0..<deltas).map { frame(wholes + $0, .zstdWithPrefix, sealedDelta) }
      let directory = try Directory(
        decoding: Directory.encode(basePacks: [], frames: frames, meta: []), kind: .pack,
        end: Header.length + wholes * sealedWhole + deltas * sealedDelta)
      let entry = PackEntry(
        number: 1, name: .zero, length: packLength, directoryLength: 0, version: 1, aead: 1, kem: 0, epoch: 1, salt: [])
      var known = try KnownPacks(in: scratch.path)
      try known.add(entry, directory, unitsOfDeltas: nil)
      var cost = RestoreCost()
      for _ in 0..<times {
        for ordinal in frames.indices {
          cost.add(known: UInt32(ordinal), bytes: ordinal < wholes ? frames[ordinal].plaintextLength : 0, known)
        }
      }
      return cost.needs(for: length, density: density, known)
    }
  }

  private func frame(_ number: Int, _ codec: Codec, _ sealedLength: Int) -> EncodedFrame {
    let units = 262_144 / Self.pageSize
    return EncodedFrame(
      codec: codec, type: .page, unitLengths: UnitLengths(uniform: Self.pageSize, count: units),
      fingerprints: (0..<units).map { Fingerprint(high: UInt64(number), low: UInt64($0)) },
      bases: codec.hasPrefix ? [BaseRun(pack: nil, frame: 0, firstUnit: 0, count: 1)] : [],
      payload: [UInt8](repeating: 0, count: sealedLength - 16))
  }
}
