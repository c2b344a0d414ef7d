import Testing

@testable import Repositories
@testable import Sealing

/// A delta tells by 16 bits which pack it rests on, and one of those numbers is the pack that it lies in.
@Suite struct BasePacksTests {
  private static let most = 65_535

  private func pack(_ number: Int) -> Digest { .sha256(of: Array("\(number)".utf8)) }

  /// A delta on a page of each of these packs. What it holds does not matter: it is sealed as it is.
  private func frame(on packs: Range<Int>) -> MadeFrame {
    let encoded = EncodedFrame(
      codec: .zstdWithPrefix, type: .page, unitLengths: UnitLengths([4096]),
      fingerprints: [Fingerprint(high: UInt64(packs.lowerBound), low: UInt64(packs.upperBound))], payload: [1])
    let bases = packs.map { number in
      MadeFrame.Base(pack: pack(number), ordinal: 0, frame: 0, firstUnit: 0, count: 1)
    }
    return MadeFrame(encoded, bases: bases)
  }

  /// Of each frame the packs that it rests on, as its directory names them.
  private func named(_ directory: Directory) -> [[Digest]] {
    directory.frames.map { frame in frame.bases.compactMap { run in run.pack.map { directory.basePacks[Int($0)] } } }
  }

  @Test func `a pack rests on as many others as it can list, and one more goes to the next`() async throws {
    let home = try await Home()
    var packs = PackStream(
      home.repository, chain: home.chain, state: try home.state, firstNumber: 1, dryRun: false, keepsUnits: false,
      packLength: .max, onStored: { _ in })
    var ranges = stride(from: 0, to: Self.most, by: 64).map { $0..<min($0 + 64, Self.most) }
    // One that rests on nothing new, and one more pack.
    ranges += [0..<64, (Self.most - 1)..<(Self.most + 1)]
    for range in ranges { try await packs.append(frame(on: range)) }
    let placed = packs.placed
    try await packs.close()
    try await packs.settle()
    let stored = packs.stored.sorted { $0.number < $1.number }

    try #require(stored.count == 2)
    let first = try await home.repository.directory(of: stored[0], chain: home.chain, state: nil)
    let second = try await home.repository.directory(of: stored[1], chain: home.chain, state: nil)
    #expect(first.basePacks.count == Self.most && second.basePacks.count == 2)
    #expect(first.frames.flatMap(\.bases).compactMap(\.pack).max() == 0xFFFE)
    let expected = ranges.map { range in range.map(pack) }
    let isWhole = named(first) + named(second) == expected
    #expect(isWhole)
    #expect(placed.dropLast().allSatisfy { $0.pack == 1 })
    #expect(placed.last == UnitLocation(pack: 2, frame: 0, unit: 0))
  }
}
