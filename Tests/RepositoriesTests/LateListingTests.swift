import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A target whose listings show some time later what was stored there: no prune has taken anything away.
@Suite struct LateListingTests {
  /// What comes from now on to be below `packs/` is there, and the first listings do not show it.
  private func late(_ home: Home, listings most: Int) -> StagedStore {
    let before = Set(home.store.content.keys)
    let hidden = Locked(0)
    return StagedStore(home.store) {
      $0.listed = { _, listed async throws(StoreError) in
        let shown = listed.filter { !$0.name.text.hasPrefix("packs/") || before.contains($0.name) }
        guard shown.count < listed.count else { return listed }
        let isLate = hidden.withLock { count in
          count += 1
          return count <= most
        }
        return isLate ? shown : listed
      }
    }
  }

  private func manifests(_ home: Home) -> Int {
    home.store.content.keys.count { $0.text.hasPrefix("versions/") }
  }

  @Test func `packs that no listing shows are stored once, and no prune is blamed`() async throws {
    let home = try await Home()
    let image = home.noise(512 * 4096, seed: 1)
    let store = late(home, listings: .max)
    let error = await #expect(throws: RepositoryError.self) { try await home.push(image, at: store) }
    #expect(error?.code == .conflict)
    #expect(error?.message.contains("does not list what was stored") == true)
    #expect(error?.message.contains("prunes") == false)
    #expect(home.waits.waits.count == 4)
    let sent = home.packs()
    #expect(sent.count == 1 && manifests(home) == 1)
    // Who comes back too early sends nothing again.
    let again = await #expect(throws: RepositoryError.self) { try await home.push(image, at: store) }
    #expect(again?.code == .conflict && again?.message == error?.message)
    #expect(home.waits.waits.count == 8)
    #expect(home.packs() == sent && manifests(home) == 1)
    // Once it is listed it is used.
    let result = try await home.push(image)
    #expect(home.packs() == sent && manifests(home) == 1)
    #expect(try await home.read(result.manifest) == image)
  }

  @Test func `a version counts as soon as a listing shows all of it`() async throws {
    let home = try await Home()
    _ = try await home.push(home.noise(64 * 4096, seed: 2))
    let image = home.noise(512 * 4096, seed: 3)
    let result = try await home.push(image, at: late(home, listings: 2))
    #expect(result.manifest.name.sequence == 2 && result.manifest.name.revision == 0)
    #expect(home.waits.waits.count == 2)
    #expect(home.packs().count == 2 && manifests(home) == 2)
    #expect(try await home.read(result.manifest) == image)
  }

  @Test func `a repair waits for listings as a push does`() async throws {
    let home = try await Home()
    let scratch = try Scratch()
    let image = home.noise(60 * 4096, seed: 4)
    let version = try await home.push(image).manifest
    let lost = home.packs()
    for pack in lost { try await home.store.delete(Layout.pack(pack, of: home.chain)) }
    var damaged = try DamagedPacks(of: home.chain, in: try home.state)
    try damaged.add(lost, of: home.chain, in: try home.state)
    try writeFile(scratch.file("image"), image)
    let local = try LocalPages(
      [scratch.file("image")], pageSize: 4096, keys: home.repository.keys, tables: scratch.path)
    let repository = Repository(
      store: late(home, listings: 1), keys: home.repository.keys, random: home.repository.random,
      slot: home.repository.slot)
    var rewrite = VersionRewrite(repository, chain: home.chain, state: try home.state, tables: scratch.path)
    rewrite.clock = home.waits.storeClock
    #expect(try await rewrite.run(version, from: local, dryRun: false))
    #expect(home.waits.waits.count == 1)
    #expect(home.packs().count == 1 && manifests(home) == 2)
  }

  @Test func `what is there and not listed is asked for once`() async throws {
    let home = try await Home()
    var packs: [PackEntry] = []
    for seed in 1...5 {
      let version = try await home.push(home.noise(64 * 4096, seed: UInt64(seed))).manifest
      packs += try #require(try await home.repository.packs(of: version, state: nil))
    }
    #expect(packs.count == 5)
    let asked = Locked(0)
    let store = StagedStore(home.store) {
      $0.listed = { _, listed async throws(StoreError) in listed.filter { !$0.name.text.hasPrefix("packs/") } }
      $0.beforeHead = { _ async throws(StoreError) in asked.withLock { $0 += 1 } }
    }
    let repository = Repository(
      store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let listings = LateListing(
      repository: repository, chain: home.chain, state: try home.state, clock: home.waits.storeClock)
    let error = await #expect(throws: RepositoryError.self) {
      _ = try await listings.presence(of: packs, own: Set(packs.map(\.name)))
    }
    #expect(error?.code == .conflict)
    #expect(home.waits.waits.count == 4)
    #expect(asked.withLock { $0 } == 5)
  }

  /// What is gone is stored again at once, however late listings are.
  @Test func `what is neither listed nor there was taken away`() async throws {
    let home = try await Home()
    let image = home.noise(512 * 4096, seed: 5)
    let once = Once()
    let store = StagedStore(home.store) {
      $0.afterPut = { name async throws(StoreError) in
        guard name.text.hasPrefix("versions/"), once() else { return }
        for pack in home.packs() { try await home.store.delete(Layout.pack(pack, of: home.chain)) }
      }
    }
    let result = try await home.push(image, at: store)
    #expect(result.manifest.name.revision == 1 && home.waits.waits.isEmpty)
    #expect(try await home.read(result.manifest) == image)
  }
}
