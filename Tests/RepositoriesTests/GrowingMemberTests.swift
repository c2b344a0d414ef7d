import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

/// A member that is read while it is written: whatever changes after it was read, the version is what it became.
@Suite struct GrowingMemberTests {
  private static let page = 4096
  /// A block of the pipeline has 256 pages, a frame 64; at first 768 pages may be read.
  private static let readable = 768 * page

  @Test(arguments: [
    [0], [63, 64], [127, 128, 129], [255, 256], [0, 255, 256, 511, 512, 767], [767], Array(100..<400),
    Array(0..<768), Array(stride(from: 1, to: 768, by: 2)),
  ])
  func `pages that are written again after they were read`(_ rewritten: [Int]) async throws {
    let home = try await Home()
    let last = home.image(pages: 1000, seed: 1)
    var early = last
    for page in rewritten { early.replace(page, with: home.noise(Self.page, seed: UInt64(page))) }
    try await expectLast(home, Growing(early, becoming: last))
  }

  @Test func `one byte in the middle of a page`() async throws {
    let home = try await Home()
    let last = home.image(pages: 900, seed: 2)
    var early = last
    early[300 * Self.page + 1234] ^= 1
    try await expectLast(home, Growing(early, becoming: last))
  }

  @Test func `content that becomes zeros, zeros that become content, and pages that become equal`() async throws {
    let home = try await Home()
    var (early, last) = (home.image(pages: 900, seed: 3), home.image(pages: 900, seed: 3))
    let zeros = [UInt8](repeating: 0, count: Self.page)
    for page in [7, 8, 256, 600] { last.replace(page, with: zeros) }
    for page in 301..<420 { early.replace(page, with: zeros) }
    // What was one page twice is two pages, and the other way round.
    early.replace(62, with: Array(early[61 * Self.page..<62 * Self.page]))
    last.replace(64, with: Array(last[63 * Self.page..<64 * Self.page]))
    try await expectLast(home, Growing(early, becoming: last))
  }

  @Test(arguments: [1, 255, 256, 257, 500, 767, 768, 769, 1023, 1024, 2000])
  func `it may end anywhere, before what was read too`(_ pages: Int) async throws {
    let home = try await Home()
    let long = home.image(pages: 2000, seed: 4)
    var early = long
    early.replace(0, with: home.noise(Self.page, seed: 5))
    try await expectLast(home, Growing(early, becoming: Array(long.prefix(pages * Self.page))))
  }

  @Test func `the next version is a delta on it`() async throws {
    let home = try await Home()
    let last = home.image(pages: 1000, seed: 6)
    var early = last
    for page in 30..<90 { early.replace(page, with: home.noise(Self.page, seed: UInt64(page))) }
    _ = try await home.push(Growing(early, becoming: last))
    var next = last
    next.replace(50, with: home.noise(Self.page, seed: 7))
    let result = try await home.push(next)
    #expect(result.bytesNew == 0, "one page rides in the manifest")
    #expect(try await home.read(result.manifest) == next)
  }

  @Test func `what changes after the end is refused`() async throws {
    let home = try await Home()
    let last = home.image(pages: 900, seed: 8)
    var early = last
    early.replace(5, with: home.noise(Self.page, seed: 9))
    let growing = Growing(early, becoming: last)
    growing.spoilsSingleReads = true
    let error = await #expect(throws: RepositoryError.self) { try await home.push(growing) }
    #expect(error?.code == .damaged)
    #expect(!home.store.content.keys.contains { $0.text.hasPrefix("versions/") })
  }

  @Test func `a member that fails in the middle fails the push, and the next one succeeds`() async throws {
    struct Broken: Error {}
    let home = try await Home()
    let image = home.noise(16 << 20, seed: 10)
    let failed = await #expect(throws: Broken.self) {
      _ = try await home.push(length: image.count, read: { Array(image[$0]) }) { upTo in
        if upTo <= 14 << 20 { return nil }
        while home.packs().isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        throw Broken()
      }
    }
    #expect(failed != nil && !home.packs().isEmpty)
    #expect(!home.store.content.keys.contains { $0.text.hasPrefix("versions/") })
    let result = try await home.push(image)
    #expect(try await home.read(result.manifest) == image)
  }

  @Test func `sums tell units apart`() {
    let sums = UnitSums(unitSize: 512)
    var random = SeededRandom(11)
    let unit = random.bytes(512)
    let sum = unit.withUnsafeBytes(sums.sum)
    #expect(unit.withUnsafeBytes(sums.sum) == sum)
    let unseen = (0..<4096).filter { bit in
      var other = unit
      other[bit / 8] ^= 1 << (bit % 8)
      return other.withUnsafeBytes(sums.sum) == sum
    }
    #expect(unseen.isEmpty)
    let swapped = Array(unit[16..<32] + unit[0..<16] + unit[32...])
    #expect(swapped.withUnsafeBytes(sums.sum) != sum)
    #expect(unit.withUnsafeBytes(UnitSums(unitSize: 512).sum) != sum, "the key is another each time")
  }

  /// The version holds what the member became, and so do its digests: a plain push of the same finds nothing to do.
  private func expectLast(_ home: Home, _ growing: Growing) async throws {
    let result = try await home.push(growing)
    #expect(try await home.read(result.manifest) == growing.last)
    #expect(result.manifest.core?.members[0].file?.sha256 == Digest.sha256(of: growing.last))
    #expect(growing.wasReadEarly, "nothing was read before it was finished")
    #expect(try await home.push(growing.last).unchanged)
  }
}

extension [UInt8] {
  fileprivate mutating func replace(_ page: Int, with bytes: [UInt8]) {
    replaceSubrange(page * 4096..<(page + 1) * 4096, with: bytes)
  }
}

/// A member that shows one content until its first 3 MiB were read, and another from then on.
private final class Growing: @unchecked Sendable {
  static let readable = 768 * 4096
  let last: [UInt8]
  private let early: [UInt8]
  private let state = Locked((read: 0, isFinished: false))
  /// A single page is never twice the same.
  var spoilsSingleReads = false

  init(_ early: [UInt8], becoming last: [UInt8]) {
    self.early = early
    self.last = last
  }

  var length: Int { early.count }
  var wasReadEarly: Bool { state.withLock { $0.read >= Self.readable } }

  func grow(_ upTo: Int) async throws -> Int? {
    if upTo <= Self.readable { return state.withLock { $0.isFinished ? last.count : nil } }
    while state.withLock({ $0.read < Self.readable }) { try await Task.sleep(for: .milliseconds(1)) }
    state.withLock { $0.isFinished = true }
    return last.count
  }

  func read(_ range: Range<Int>) -> [UInt8] {
    let isFinished = state.withLock { state in
      if !state.isFinished { state.read += range.count }
      return state.isFinished
    }
    guard isFinished else { return Array(early[range]) }
    if spoilsSingleReads, range.count == 4096 { return (0..<4096).map { _ in UInt8.random(in: 0...255) } }
    return Array(last[range])
  }
}

extension Home {
  fileprivate func push(_ growing: Growing) async throws -> PushSession.Result {
    try await push(length: growing.length, read: { growing.read($0) }, growth: { try await growing.grow($0) })
  }
}
