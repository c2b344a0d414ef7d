import Sealing
import TestKit
import Testing

@testable import Repositories

/// A delta is made where it saves more than an eighth: whole frames can be rested on, and are read alone.
@Suite struct DeltaOrWholeTests {
  private let page = 4096
  private let pages = 16

  @Test func `pages that changed a little become a delta`() throws {
    let base = noise(1)
    var units = base
    for page in 0..<pages { units[page * self.page + 100] ^= 1 }
    let frame = try encode(units, on: base)
    #expect(frame.codec == .zstdWithPrefix && frame.payload.count < 2000)
  }

  @Test func `pages that have nothing in common with their base stay whole`() throws {
    let units = noise(2)
    let frame = try encode(units, on: noise(1))
    #expect(frame.codec == .raw && frame.payload == units)
  }

  /// Two pages in sixteen are an eighth.
  @Test(arguments: [0, 1, 2, 3, 4]) func `a delta that saves an eighth, or less, is not made`(shared: Int) throws {
    let base = noise(1)
    let units: [UInt8] = Array(base[..<(shared * page)]) + noise(2).dropFirst(shared * page)
    #expect(try encode(units, on: base).codec == (shared < 3 ? .raw : .zstdWithPrefix))
    // What it costs to name the bases counts like the rest.
    #expect(try encode(units, on: base, overhead: page).codec == (shared < 4 ? .raw : .zstdWithPrefix))
  }

  /// Pages of a page copy have the page in their place for a base, whatever it holds.
  @Test func `a version has deltas where pages changed, and whole frames where others took their place`() async throws {
    let home = try await Home()
    let scratch = try Scratch()
    let path = scratch.path + "/base"
    let first = home.noise(128 * page, seed: 1)
    let samples = BaseSamples(pages: 128, pageSize: page, in: scratch.path)
    _ = try await home.push(first, deltas: DeltaPlan(level: .anchor, samples: samples))
    try StateFiles.write(first, to: path)
    try samples.write(besides: path)

    var image: [UInt8] = home.noise(64 * page, seed: 2) + first.dropFirst(64 * page)
    for changed in 64..<128 { image[changed * page + 100] ^= 1 }
    let base = try #require(BaseImage(at: path, pageSize: page, in: scratch.path))
    let result = try await home.push(image, deltas: DeltaPlan(level: .middle, anchor: base, keepsPositions: true))
    let table = try await PackTable(of: result.manifest, repository: home.repository, state: nil)
    let pack = try #require(table.all.max { $0.number < $1.number })
    let frames = try await home.repository.directory(of: pack, chain: home.chain, state: nil).frames
    #expect(table.all.count == 2)
    #expect(frames.filter { $0.type == .page }.map(\.codec) == [.raw, .zstdWithPrefix])
    #expect(try await home.read(result.manifest) == image)
  }

  /// Slow levels look quickly first, and must not overlook what they would find.
  @Test(arguments: [1, 6, 7, 19] as [Int32])
  func `noise is stored raw at every level, and a little changed is a delta`(level: Int32) throws {
    let base = noise(1)
    #expect(try encode(noise(2), on: base, level: level).codec == .raw)
    var changed = base
    for index in 0..<pages { changed[index * page + 100] ^= 1 }
    let delta = try encode(changed, on: base, level: level)
    #expect(delta.codec == .zstdWithPrefix && delta.payload.count < pages * 64)
    let text = Array(String(repeating: "of the same words, ", count: pages * page / 19 + 1).utf8.prefix(pages * page))
    #expect(try encode(text, on: base, level: level).codec != .raw)
  }

  private func noise(_ seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed)
    return random.bytes(pages * page)
  }

  private func encode(_ units: [UInt8], on base: [UInt8], level: Int32 = 1, overhead: Int = 0) throws -> EncodedFrame {
    let encoder = FrameEncoder(level: level)
    let fingerprints = (0..<pages).map { Fingerprint(high: 1, low: UInt64($0)) }
    return try units.withUnsafeBytes { units in
      try base.withUnsafeBytes { prefix in
        try encoder.encode(
          type: .page, units: units, unitLengths: Array(repeating: page, count: pages), fingerprints: fingerprints,
          prefix: prefix, overhead: overhead)
      }
    }
  }
}
