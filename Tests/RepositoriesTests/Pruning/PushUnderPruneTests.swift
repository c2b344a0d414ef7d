import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// What prunes leave to pushes that have not ended, and what pushes need of a target.
@Suite struct PushUnderPruneTests {
  /// After every pack, whole prunes without a minimum age come between: as bad as it gets. The push stores anew what they
  /// condemned, and comes to an end; also where what was condemned stays there, because deleting is not allowed.
  @Test(arguments: [true, false])
  func `a push of many packs ends while prunes run all the time`(mayDelete: Bool) async throws {
    let home = try await PruneHome(versions: 1)
    let scratch = try Scratch()
    let state = try StateFolder(scratch.path, repository: home.home.repository.id)
    let refusing = StagedStore(home.home.store) {
      $0.beforeDelete = { _ async throws(StoreError) in
        if !mayDelete { throw StoreError(.forbidden, "not allowed") }
      }
    }
    let prunes = Locked(0)
    @Sendable func pruneTwice() async {
      for _ in 0..<2 {
        _ = try? await home.prune(at: refusing, state: state)
        prunes.withLock { $0 += 1 }
      }
    }
    let store = StagedStore(home.home.store) {
      $0.afterPut = { name async throws(StoreError) in if name.text.hasPrefix("packs/") { await pruneTwice() } }
      $0.beforePut = { name async throws(StoreError) in if name.text.hasPrefix("versions/") { await pruneTwice() } }
    }
    let manifest = try await home.push(home.home.image(pages: 8000, seed: 5), at: store)
    #expect(manifest.name.revision >= 1)
    #expect(prunes.withLock { $0 } > 8)
    #expect(home.count(below: "gone/") >= 1)
    try await home.expectAllSafe()
    // What was condemned on the way is of no use any more, and the next push and prune say so.
    try await home.push()
    try await home.prune()
    try await home.expectAllSafe()
    #expect(home.count(below: "versions/") == 3)
  }

  @Test func `the packs of a push that was cut stay, as far as a partial manifest lists them`() async throws {
    let home = try await PruneHome(versions: 1)
    let image = home.home.image(pages: 8000, seed: 6)
    // Two packs and the partial manifest of the first one or of both.
    let cut = StagedStore(home.home.store) {
      $0.beforePut = { name async throws(StoreError) in
        if home.count(below: "versions/") > 1 { throw StoreError(.unavailable, "the line was cut") }
      }
    }
    await #expect(throws: StoreError.self) { try await home.home.push(image, at: cut, packsPerPartial: 1) }
    #expect(home.count(below: "versions/") == 2)
    let partial = try #require(try await partials(home).first)
    let listed = try await PackTable(of: partial, repository: home.home.repository, state: nil).all.map(\.name)
    #expect(!listed.isEmpty)
    home.home.store.content[Layout.pack(.sha256(of: [9]), of: home.home.chain)] = [1]
    try await home.prune()
    #expect(Set(home.home.packs()).isSuperset(of: listed))
    #expect(!home.home.packs().contains(.sha256(of: [9])))

    // The push goes on with them, and then the partial manifest is of no use any more.
    let manifest = try await home.push(image)
    let used = try await PackTable(of: manifest, repository: home.home.repository, state: nil).all.map(\.name)
    #expect(!Set(listed).isDisjoint(with: used))
    #expect(try await home.prune().freed.objects >= 1)
    #expect(try await partials(home).isEmpty)
    try await home.expectAllSafe()
  }

  private func partials(_ home: PruneHome) async throws -> [StoredManifest] {
    let listing = ChainListing(chain: home.home.chain, objects: try await home.home.store.list(prefix: "versions/"))
    var partials: [StoredManifest] = []
    for name in listing.versions {
      let manifest = try await home.home.repository.readManifest(name)
      if !manifest.isComplete { partials.append(manifest) }
    }
    return partials
  }

  @Test func `a push whose own manifest was condemned writes it anew`() async throws {
    let home = try await PruneHome(versions: 1)
    let once = Once()
    let store = StagedStore(home.home.store) {
      $0.afterPut = { name async throws(StoreError) in
        guard let version = VersionName(name), once() else { return }
        try? await home.home.condemn([version.digest])
      }
    }
    #expect(try await home.push(at: store).name.revision == 1)
    try await home.prune()
    try await home.expectAllSafe()
    #expect(home.count(below: "versions/") == 2)
  }

  /// A companion may be another one by then; or what it was in the version before.
  @Test(arguments: [100, 7] as [UInt64])
  func `what changed between two attempts takes no place that is taken`(seed: UInt64) async throws {
    let home = try await PruneHome(versions: 1)
    let once = Once()
    let images = [home.image(41), home.image(seed)]
    let turn = Locked(0)
    let store = StagedStore(home.home.store) {
      $0.afterPut = { name async throws(StoreError) in
        guard let version = VersionName(name), once() else { return }
        try? await home.home.condemn([version.digest])
        turn.withLock { $0 = 1 }
      }
    }
    let error = await #expect(throws: RepositoryError.self) {
      try await home.home.push(
        length: images[0].count, at: store, read: { range in Array(images[turn.withLock { $0 }][range]) })
    }
    #expect(error?.code == .conflict && error?.hint?.contains("Push again") == true)
    #expect(home.count(below: "versions/") == 2)
    // Whoever pushes next goes on behind it.
    #expect(try await home.push(images[1]).name.sequence == 3)
    try await home.expectAllSafe()
    let listing = ChainListing(chain: home.home.chain, objects: try await home.home.store.list(prefix: "versions/"))
    #expect(try await home.home.repository.history(of: listing).problems.isEmpty)
  }

  /// Credentials that cannot delete are enough for every push, also for one that a prune was in the way of.
  @Test func `a push needs no right to delete`() async throws {
    let home = try await PruneHome()
    let asked = Locked(0)
    let once = Once()
    let store = StagedStore(home.home.store) {
      $0.beforeDelete = { _ async throws(StoreError) in
        asked.withLock { $0 += 1 }
        throw StoreError(.forbidden, "not allowed")
      }
      $0.afterPut = { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), once() else { return }
        try? await home.home.condemn(home.home.packs())
      }
    }
    for _ in 0..<3 { try await home.push(at: store) }
    let image = home.home.image(pages: 4000, seed: 3)
    let result = try await home.home.push(image, at: store, packsPerPartial: 1)
    #expect(try await home.home.read(result.manifest) == image)
    #expect(asked.withLock { $0 } == 0)
    try await home.expectAllSafe()
  }
}
