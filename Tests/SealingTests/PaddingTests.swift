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
