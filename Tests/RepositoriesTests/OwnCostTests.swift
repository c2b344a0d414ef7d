import Sealing
import TestKit
import Testing

@testable import Repositories

/// What a version adds depends on what changed, not on how large the database is.
@Suite struct OwnCostTests {
  /// Pages of 512 bytes, of which there are 512 kinds: first each of them, then eight in a row from anywhere, so that maps
  /// say something and content costs nothing.
  private struct Image: Sendable {
    static let pageSize = 512
    private static let row = 8 * pageSize
    private static let kinds = 512
    /// Whole rows.
    let pages: Int
    private let content: [UInt8]
    private var changed: (page: Int, content: [UInt8])?

    init(pages: Int) {
      var random = SeededRandom(1)
      self.pages = pages
      content = random.bytes(Self.kinds * Self.pageSize)
    }

    mutating func change(page: Int) {
      var random = SeededRandom(2)
      changed = (page, random.bytes(Self.pageSize))
    }

    /// - Parameter range: whole rows.
    func read(_ range: Range<Int>) -> [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(range.count)
      for row in range.lowerBound / Self.row..<range.upperBound / Self.row {
        var random = SeededRandom(UInt64(row))
        let anywhere = Int(random.next() % UInt64(Self.kinds - 8))
        let first = (row < Self.kinds / 8 ? 8 * row : anywhere) * Self.pageSize
        bytes += content[first..<first + Self.row]
      }
      if let changed, range.contains(changed.page * Self.pageSize) {
        let start = changed.page * Self.pageSize - range.lowerBound
        bytes.replaceSubrange(start..<start + Self.pageSize, with: changed.content)
      }
      return bytes
    }
  }

  @Test func `a page that changed costs as much in a large database as in a small one`() async throws {
    var costs: [Int] = []
    for pages in [2000, 40_000] {
      let home = try await Home()
      var image = Image(pages: pages)
      let first = try await push(image, at: home, time: 1)
      #expect(first.bytesNew > Image.pageSize * 512)
      image.change(page: 1500)
      let second = try await push(image, at: home, time: 2)
      costs.append(second.bytesNew + second.manifest.name.length)
      guard pages == 2000 else { continue }
      #expect(try await home.read(second.manifest) == image.read(0..<pages * Image.pageSize))
    }
    #expect(costs[1] <= 2 * costs[0], "\(costs)")
    #expect(costs[1] <= 16_384, "\(costs)")
  }

  private func push(_ image: Image, at home: Home, time: UInt64) async throws -> PushSession.Result {
    var session = try await PushSession(
      home.repository, chain: home.chain, state: home.state, policy: .init(now: { time }))
    let member = MemberSource(
      content: .image(pageSize: Image.pageSize), path: "app.db", mode: 0o600, modified: 1,
      length: image.pages * Image.pageSize, read: { image.read($0) })
    let draft = VersionDraft(
      chain: home.chain, sequence: session.next.sequence, previous: session.next.previous, time: time, host: "host",
      database: "app", method: .pages, flags: [], members: [member], tags: [], note: "", compressionLevel: 1)
    return try await session.push(draft, skipEqual: true, dryRun: false, onProgress: { _ in })
  }
}
