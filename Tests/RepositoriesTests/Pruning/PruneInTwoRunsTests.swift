import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Targets whose listings may be late, and targets that do not let go of what they have.
@Suite struct PruneInTwoRunsTests {
  private let day: UInt64 = 86_400_000
  /// Soon after the pushes of `PruneHome`, which are a minute apart.
  private let soon: UInt64 = 1_700_000_000_000 + 3 * 60_000 + 1000

  @Test func `one run condemns, one a day and a version later deletes`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    let first = try await home.prune(twoRuns: true, now: soon)
    #expect(first.condemned.objects == 4 && first.waiting == first.condemned && first.freed.objects == 0)
    #expect(home.count(below: "packs/") == 3 && home.count(below: "gone/") == 1)

    // A day alone is not enough: a push that began before may not have ended.
    let late = try await home.prune(twoRuns: true, now: soon + 2 * day)
    #expect(late.freed.objects == 0 && late.waiting.objects == 4 && late.condemned.objects == 0)
    // Nor is a version alone; nor a clock that went back.
    try await home.push()
    for now in [soon + 60_000, soon + day - 1, soon - day] {
      let early = try await home.prune(twoRuns: true, now: now)
      #expect(early.freed.objects == 0 && early.waiting.objects == 4)
    }
    #expect(home.count(below: "packs/") == 4)
    let said = try await home.prune(twoRuns: true, dryRun: true, now: soon + day)
    let last = try await home.prune(twoRuns: true, now: soon + day)
    #expect(last.freed.objects == 4 && last.waiting.objects == 0 && said.freed == last.freed)
    #expect(home.count(below: "gone/") == 1)
    try await home.expectAllSafe()
  }

  @Test func `where no version comes any more, that is told, and one run frees what waits`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    #expect(try await home.prune(twoRuns: true, now: soon).waitsForVersion.objects == 0)
    #expect(try await home.prune(twoRuns: true, now: soon + 6 * day).waitsForVersion.objects == 0)
    for days: UInt64 in [15, 30] {
      let now = soon + days * day
      let said = try await home.prune(twoRuns: true, dryRun: true, now: now)
      let late = try await home.prune(twoRuns: true, now: now)
      #expect(late.freed.objects == 0 && late.waiting.objects == 4)
      #expect(late.waitsForVersion == late.waiting && said.waitsForVersion == late.waiting)
    }
    let last = try await home.prune(now: soon + 30 * day)
    #expect(last.freed.objects == 4 && last.waiting.objects == 0 && last.waitsForVersion.objects == 0)
    try await home.expectAllSafe()
  }

  @Test func `what a version has come for waits for no other`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    try await home.prune(twoRuns: true, now: soon)
    try await home.push()
    let late = try await home.prune(twoRuns: true, dryRun: true, now: soon + 30 * day)
    #expect(late.freed.objects == 4 && late.waitsForVersion.objects == 0)
  }

  /// A machine that boots in 1970 condemns; a minute later its clock is set.
  @Test func `a clock that was years behind does not skip the pause`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    #expect(try await home.prune(twoRuns: true, now: 1).condemned.objects == 4)
    #expect(try await home.prune(twoRuns: true, now: 3_600_000).freed.objects == 0)
    for now in [soon, soon + day - 1] {
      #expect(try await home.prune(twoRuns: true, now: now).freed.objects == 0)
    }
    #expect(home.count(below: "packs/") == 3)
    #expect(try await home.prune(twoRuns: true, now: soon + day).freed.objects == 4)
    try await home.expectAllSafe()
  }

  @Test func `a clock that was years ahead once puts a deletion off once, not for years`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    #expect(try await home.prune(twoRuns: true, now: 4_000_000_000_000).condemned.objects == 4)
    #expect(try await home.prune(twoRuns: true, now: soon).condemned.objects == 4)
    try await home.push()
    #expect(try await home.prune(twoRuns: true, now: soon + day - 1).freed.objects == 0)
    #expect(try await home.prune(twoRuns: true, now: soon + day).freed.objects == 4)
    try await home.expectAllSafe()
  }

  /// In the year 2100.
  private static let ahead = 4_102_444_800

  /// Where the store tells times, its clock counts, whatever this machine believes. One object of a time that has not come
  /// says nothing of what has gone by.
  @Test(arguments: [false, true])
  func `the pause goes by on the store's clock too`(hasOneAhead: Bool) async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    let newest = try #require(home.safe.withLock { $0[3] }).name.objectName
    let clock = Locked(1000)
    let stored = Locked<[ObjectName: Int]>([:])
    let timed = StagedStore(home.home.store) {
      $0.listed = { _, listed async throws(StoreError) in
        listed.map { info in
          let time = stored.withLock { stored in
            if stored[info.name] == nil { stored[info.name] = clock.withLock { $0 } }
            return stored[info.name]
          }
          let isAhead = hasOneAhead && info.name == newest
          return ObjectInfo(name: info.name, size: info.size, stored: isAhead ? Self.ahead : time)
        }
      }
    }
    try await home.prune(at: timed, twoRuns: true, now: 1)
    for (seconds, freed) in [(1060, 0), (1000 + 86_399, 0), (1060 + 86_400, 4)] {
      clock.withLock { $0 = seconds }
      try await home.push()
      #expect(try await home.prune(at: timed, twoRuns: true, now: PruneHome.now).freed.objects == freed)
    }
    try await home.expectAllSafe()
  }

  @Test(arguments: ["", "gone/"])
  func `where the store's times are years ahead this machine's clock counts`(prefix: String) async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    let ahead = StagedStore(home.home.store) {
      $0.listed = { _, listed async throws(StoreError) in
        listed.map { info in
          ObjectInfo(
            name: info.name, size: info.size, stored: info.name.text.hasPrefix(prefix) ? Self.ahead : 1000)
        }
      }
    }
    #expect(try await home.prune(at: ahead, twoRuns: true, now: soon).condemned.objects == 4)
    try await home.push()
    #expect(try await home.prune(at: ahead, twoRuns: true, now: soon + day - 1).freed.objects == 0)
    #expect(try await home.prune(at: ahead, twoRuns: true, now: soon + day).freed.objects == 4)
    try await home.expectAllSafe()
  }

  /// The lid is closed in the middle of a look: what was listed before is days old then.
  @Test func `a look that took days proves no pause`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    try await home.prune(twoRuns: true, now: soon)
    try await home.push()
    let clock = Locked(soon + 60_000)
    let asleep = StagedStore(home.home.store) {
      $0.listed = { [day] prefix, listed async throws(StoreError) in
        if prefix.hasPrefix("packs/") { clock.withLock { $0 += 2 * day } }
        return listed
      }
    }
    let policy = PrunePolicy(twoRuns: true, now: { clock.withLock { $0 } })
    let pruned = try await home.repository(at: asleep).prune(home.home.chain, policy, state: home.home.state)?.whole()
    #expect(pruned?.freed.objects == 0 && pruned?.waiting.objects == 4)
    #expect(home.count(below: "packs/") == 4)
  }

  /// The same between the two looks of a run that may delete something: of what was condemned later nothing is ripe yet.
  @Test func `nor does a second look that took days`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...1)
    try await home.prune(twoRuns: true, now: soon)
    try await home.push()
    try await home.forget(2...2)
    try await home.prune(twoRuns: true, now: soon + 120_000)
    for _ in 0..<2 { try await home.push() }
    let looks = Locked(0)
    let asleep = StagedStore(home.home.store) {
      $0.listed = { prefix, listed async throws(StoreError) in
        if prefix.hasPrefix("packs/") { looks.withLock { $0 += 1 } }
        return listed
      }
    }
    let policy = PrunePolicy(
      twoRuns: true, now: { [soon, day] in soon + day + (looks.withLock { $0 } > 1 ? 2 * day : 0) })
    let pruned = try await home.repository(at: asleep).prune(home.home.chain, policy, state: home.home.state)?.whole()
    #expect(pruned?.freed.objects == 2 && pruned?.waiting.objects == 2)
    try await home.expectAllSafe()
  }

  @Test func `one run takes what an earlier one condemned`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    try await home.prune(twoRuns: true, now: soon)
    #expect(try await home.prune(now: soon).freed.objects == 4)
    #expect(home.count(below: "gone/") == 1)
    try await home.expectAllSafe()
  }

  /// Listings that are an hour late, on both sides: one run loses the version that is pushed
  /// meanwhile (so this test can see a loss), two runs do not.
  @Test(arguments: [false, true])
  func `late listings are survived by two runs only`(twoRuns: Bool) async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    let shown = home.home.store.content
    let isLate = Locked(true)
    let packs = Locked<[ObjectInfo]>([])
    // The manifest and the record each come after this; neither side sees the other's.
    @Sendable func late(_ listed: [ObjectInfo], own: String) -> [ObjectInfo] {
      guard isLate.withLock({ $0 }) else { return listed }
      return listed.filter { info in
        shown[info.name] != nil || !["gone/", "versions/"].contains { info.name.text.hasPrefix($0) }
          || info.name.text.hasPrefix(own)
      }
    }
    let pushing = StagedStore(home.home.store) {
      $0.listed = { prefix, listed async throws(StoreError) in
        let before = packs.withLock { $0 }
        return prefix.hasPrefix("packs/") && !before.isEmpty ? before : late(listed, own: "versions/")
      }
      $0.beforePut = { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/") else { return }
        let pruning = StagedStore(home.home.store) {
          $0.listed = { _, listed async throws(StoreError) in late(listed, own: "gone/") }
        }
        let there = try await home.home.store.list(prefix: Layout.packs(of: home.home.chain))
        packs.withLock { $0 = there }
        _ = try? await home.prune(at: pruning, twoRuns: twoRuns, now: self.soon)
      }
    }
    let manifest = try await home.push(at: pushing)
    #expect(manifest.name.revision == 0)
    isLate.withLock { $0 = false }
    if twoRuns {
      try await home.push()
      #expect(try await home.prune(twoRuns: true, now: soon + day).freed.objects >= 4)
      try await home.expectAllSafe()
    } else {
      await #expect(throws: (any Error).self) { try await home.home.read(manifest) }
    }
  }

  @Test func `what may not be deleted is reported, and its packs stay with it`() async throws {
    let home = try await PruneHome(versions: 4)
    let first = try #require(home.safe.withLock { $0[1] })
    try await home.forget(1...2)
    let locked = StagedStore(home.home.store) {
      $0.beforeDelete = { name async throws(StoreError) in
        if name == first.name.objectName { throw StoreError(.forbidden, "the server does not allow it") }
      }
    }
    let pruned = try await home.prune(at: locked)
    #expect(pruned.freed.objects == 2 && pruned.retained.objects == 1 && pruned.waiting.objects == 1)
    #expect(pruned.retainedBecause?.code == .forbidden && pruned.failures.isEmpty)
    // A manifest that stays keeps what it needs.
    #expect(try await home.home.read(home.home.repository.readManifest(first.name)) == first.image)
    try await home.expectAllSafe()
    #expect(try await home.prune().freed.objects == 2)
    try await home.expectAllSafe()
  }

  @Test func `what cannot be deleted is a failure, and is tried again by the next run`() async throws {
    let home = try await PruneHome(versions: 3)
    try await home.forget(1...2)
    let broken = StagedStore(home.home.store) {
      $0.beforeDelete = { name async throws(StoreError) in
        if name.text.hasPrefix("packs/") { throw StoreError(.unavailable, "the line was cut") }
      }
    }
    let pruned = try await home.prune(at: broken)
    #expect(pruned.failures.count == 2 && pruned.freed.objects == 2 && pruned.retained.objects == 2)
    #expect(pruned.retainedBecause == nil)
    #expect(try await home.prune().freed.objects == 2)
    try await home.expectAllSafe()
  }

  /// What counts is what is listed afterwards.
  @Test func `a deletion whose answer was lost is none that failed`() async throws {
    let home = try await PruneHome(versions: 2)
    try await home.forget(1...1)
    let lossy = StagedStore(home.home.store) {
      $0.afterDelete = { _ async throws(StoreError) in throw StoreError(.unavailable, "the line was cut") }
    }
    let pruned = try await home.prune(at: lossy)
    #expect(pruned.freed.objects == 2 && pruned.retained.objects == 0 && pruned.failures.isEmpty)
    #expect(home.count(below: "packs/") == 1)
    try await home.expectAllSafe()
  }
}
