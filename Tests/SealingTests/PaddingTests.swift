import Testing

@testable import Sealing

@Suite struct PaddingTests {
  @Test(arguments: [
    (1, 4096), (4095, 4096), (4096, 4096), (4097, 8192), (8192, 8192), (8193, 16_384), (32_769, 65_536),
    (65_535, 65_536), (65_536, 65_536), (65_537, 67_584), (67_584, 67_584), (67_585, 69_632), (131_071, 131_072),
    (1_000_000, 1_015_808), (16_777_217, 17_301_504), (67_108_863, 67_108_864), (67_108_864, 67_108_864),
  ])
  func `Lengths are padded as the format's formula says`(length: Int, padded: Int) {
    #expect(Padding.padded(length) == padded)
  }

  @Test func `Padding never shrinks, never grows by an eighth above 64 KiB, and leaves few lengths`() {
    var lengths = Set<Int>()
    for length in stride(from: 65_536, through: 67_108_864, by: 4099) {
      let padded = Padding.padded(length)
      #expect(padded >= length && padded - length < length / 16 && padded <= 67_108_864)
      #expect(Padding.padded(padded) == padded)
      lengths.insert(padded)
    }
    #expect(lengths.count < 330)
  }

  @Test(arguments: [4096, 16_384, 65_536, 67_584, 131_072, 1_015_808, 8_650_752, 17_301_504])
  func `The mean is that of all lengths that are padded to one`(padded: Int) {
    let lengths = (1...padded).reversed().prefix { Padding.padded($0) == padded }
    let paddings = lengths.reduce(0) { $0 + padded - $1 }
    #expect(abs(Padding.mean(in: padded) - paddings / lengths.count) <= 1)
  }

  /// Directories of 8 MiB are 33 KiB of fingerprints, and their padding up to 256.
  @Test func `How many units many packs have is guessed from the lengths of their directories`() {
    let units = 2048
    let entries = (0..<200).map { number in
      let length = 8 << 20 + 40_503 * number % (1 << 20)
      let padded = Padding.padded(length)
      return PackEntry(
        number: UInt32(number), name: .zero, length: UInt32(padded),
        directoryLength: UInt32(17 * units + padded - length), version: 1, aead: 1, kem: 0, epoch: 0, salt: [])
    }
    let guess = PackEntry.likelyUnits(in: entries)
    #expect(abs(guess - 200 * units) < 20 * units)
    #expect(PackEntry.likelyUnits(in: []) == 0)
  }

  @Test func `Objects of nearly the same content have the same length`() throws {
    let lengths = try (1...40).map { count in
      try Samples.object(
        .condemned,
        CondemnedRecord(
          chain: Fixed.chain, time: 0, packs: (0..<count).map { Fixed.digest("\($0)") }
        ).encode()
      ).bytes.count
    }
    #expect(Set(lengths) == [4096])
  }
}
