import FoundationEssentials
import TestKit
import Testing

/// The parsers of the libFuzzer campaign, in every test run: seeds changed a little at random. A crash ends the run, and
/// `SEALIFT_FUZZ_INPUT` names a file that then holds the input.
@Suite struct MutationTests {
  private static let vectors = VectorSeeds("\(SourceTree.root)/Tests/SealingTests/Vectors")
  private static let inputs = Environment.value("SEALIFT_FUZZ_INPUTS").flatMap { Int($0) } ?? 800

  @Test(arguments: parsers.keys.sorted()) func `what was changed a little is refused or read`(name: String) throws {
    let parser = try #require(parsers[name])
    let seeds = Seeds.of(name, Self.vectors)
    try #require(!seeds.isEmpty, "a parser without seeds is hardly met")
    for seed in seeds { parser(seed) }
    var mutations = Mutations(of: seeds, SeededRandom(1))
    let kept = Environment.value("SEALIFT_FUZZ_INPUT")
    let slowest = try (0..<Self.inputs).map { _ in
      let input = mutations.next()
      if let kept { try Data(input).write(to: URL(filePath: kept)) }
      return ContinuousClock().measure { parser(input) }
    }.max()
    // Thousands of times what any input takes, so that a busy machine is no hang.
    #expect((slowest ?? .zero) < .seconds(10))
  }

  /// Else the first bytes are refused and nothing behind them is ever met.
  @Test func `seeds are what their parsers read`() throws {
    func seeds(_ name: String) -> [[UInt8]] { Seeds.of(name, Self.vectors) }
    let opened = seeds("forged").filter { seed in
      ForgedObject(seed).flatMap { forged in
        (try? forged.sealed()).map { Seeds.isWhole($0, forged.kind) }
      } ?? false
    }
    #expect(opened.count > 20)
    #expect(seeds("object").count > 100 && seeds("cells").count > 1 && seeds("zstd").count > 20)
    #expect(seeds("map").count > 2 && seeds("records").count > 2 && seeds("core").count > 1)
  }
}
