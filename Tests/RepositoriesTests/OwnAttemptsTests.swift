import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Whose push the newest version is, where manifests arrive late: this machine's own are not another's.
@Suite struct OwnAttemptsTests {
  /// A push that was told that its manifest did not arrive. It still may.
  private func failedPush(_ home: PruneHome, _ seed: UInt64) async throws -> LateStore {
    let late = LateStore(home.home.store, holding: Layout.versions)
    await #expect(throws: StoreError.self) { try await home.home.push(home.image(seed), at: late) }
    #expect(late.names.count == 1)
    return late
  }

  private func isFromElsewhere(_ home: Home, settles: Bool = true) async throws -> Bool {
    var policy = PushSession.Policy(now: { PruneHome.now })
    policy.settles = settles
    return try await PushSession(home.repository, chain: home.chain, state: home.state, policy: policy)
      .newestIsFromElsewhere
  }

  @Test func `another machine's is known, also at a place that this one tried to take`() async throws {
    let home = try await PruneHome(versions: 1)
    #expect(try await !isFromElsewhere(home.home))
    let shared = home.home.store.content
    _ = try await failedPush(home, 50)
    let clone = try await Home(sharing: home.home, content: shared)
    _ = try await clone.push(clone.image(pages: 60, seed: 60))
    home.home.store.content.merge(clone.store.content) { old, _ in old }
    for settles in [false, true] { #expect(try await isFromElsewhere(home.home, settles: settles)) }
    #expect(try await home.push().name.sequence == 3)
    #expect(try await !isFromElsewhere(home.home))
  }

  @Test func `what this machine tried to store is its own, whenever it arrives`() async throws {
    let home = try await PruneHome(versions: 2)
    let first = try await failedPush(home, 50)
    first.deliver()
    #expect(try await !isFromElsewhere(home.home, settles: false))

    // The next one takes the place of its note, and comes to nothing.
    let before = Set(home.home.packs())
    let second = try await failedPush(home, 51)
    let kept = home.home.store.content
    let lost = Set(home.home.packs()).subtracting(before)
    #expect(!lost.isEmpty)
    for pack in lost { home.home.store.content[Layout.pack(pack, of: home.home.chain)] = nil }
    #expect(try await !isFromElsewhere(home.home))
    #expect(home.count(below: "tomb/") == 1)

    // Given up, it arrives after all.
    home.home.store.content.merge(kept) { now, _ in now }
    second.deliver()
    #expect(try await !isFromElsewhere(home.home))
    #expect(try await home.push(home.image(52)).name.sequence == 5)
  }
}
