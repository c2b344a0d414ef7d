import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

/// A version of many files has a long manifest, and every push reads that of the version before.
@Suite struct LongManifestTests {
  @Test func `a push does not fetch the manifest that this machine stored, however long`() async throws {
    let home = try await Home()
    let companions = Self.folders(2000)
    let fetched = Locked(0)
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix(Layout.versions) { fetched.withLock { $0 += 1 } }
      })
    func push(_ seed: UInt64) async throws -> PushSession.Result {
      let image = home.image(pages: 4, seed: seed)
      return try await home.push(length: image.count, at: store, companions: companions, read: { Array(image[$0]) })
    }
    func keeps(_ result: PushSession.Result) throws -> Bool {
      try home.state.kept(result.manifest.name.digest.hex) != nil
    }
    let first = try await push(1)
    #expect(first.manifest.name.length > Repository.largestKept)
    #expect(try keeps(first))
    let second = try await push(2)
    #expect(fetched.withLock { $0 } == 0)
    #expect(try !second.unchanged && keeps(second) && !keeps(first))
    // A machine that has lost its state fetches it once.
    home.forgetState()
    for _ in 1...2 {
      let again = try await push(2)
      #expect(try again.unchanged && keeps(again))
    }
    #expect(fetched.withLock { $0 } == 1)
  }

  /// Folders with long names that do not shrink: nothing but the manifest grows by them.
  private static func folders(_ count: Int) -> [CompanionSource] {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var random = SeededRandom(1)
    return (0..<count).map { number in
      let name = random.bytes(220).map { letters[Int($0 & 63)] }
      return CompanionSource(
        path: "\(10_000 + number)\(String(decoding: name, as: UTF8.self))", mode: 0o700, modified: 1, content: .folder)
    }
  }
}
