import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A repair over a bad line comes to an end: what it has stored when it is cut is not stored again.
@Suite struct CutRepairTests {
  /// A version whose packs are all lost, and whose content is on this machine.
  private struct LostVersion {
    let home: Home
    let scratch: Scratch
    let image: [UInt8]
    let version: StoredManifest

    init(pages: Int) async throws {
      home = try await Home()
      scratch = try Scratch()
      image = home.noise(pages * 4096, seed: 1)
      version = try await home.push(image).manifest
      let packs = home.packs()
      for pack in packs { try await home.store.delete(Layout.pack(pack, of: home.chain)) }
      var damaged = try DamagedPacks(of: home.chain, in: try home.state)
      try damaged.add(packs, of: home.chain, in: try home.state)
      try writeFile(scratch.file("image"), image)
    }

    /// - Parameter puts: so many objects can be stored, then the line is cut.
    func repair(puts: Int = .max) async throws -> Bool {
      let repository = Repository(
        store: CutStore(home.store, puts: puts), keys: home.repository.keys, random: home.repository.random,
        slot: home.repository.slot)
      let local = try LocalPages(
        [scratch.file("image")], pageSize: 4096, keys: home.repository.keys, tables: scratch.path)
      let rewrite = VersionRewrite(repository, chain: home.chain, state: try home.state, tables: scratch.path)
      return try await rewrite.run(version, from: local, dryRun: false)
    }

    /// Packs that repairs and pushes have noted, and not acknowledged.
    var noted: Set<Digest> { get throws { Set(try PushJournal(home.chain, in: home.state).entries.map(\.name)) } }

    func packs(of manifest: StoredManifest) async throws -> Set<Digest> {
      Set(try await PackTable(of: manifest, repository: home.repository, state: nil).all.map(\.name))
    }

    /// The manifest that counts for the version now.
    var now: StoredManifest {
      get async throws {
        let objects = try await home.store.list(prefix: Layout.versions)
        let history = try await home.repository.history(of: ChainListing(chain: home.chain, objects: objects))
        let facts = try #require(history.versions.first { $0.id == version.id })
        return try await home.repository.readManifest(facts.name)
      }
    }

    var packBytes: Int {
      home.store.content.filter { $0.key.text.hasPrefix("packs/") }.values.reduce(0) { $0 + $1.count }
    }
  }

  @Test func `a repair that was cut goes on from what it has stored`() async throws {
    // Three packs.
    let lost = try await LostVersion(pages: 5000)
    await #expect(throws: StoreError.self) { _ = try await lost.repair(puts: 2) }
    let first = Set(lost.home.packs())
    #expect(try first.count == 2 && lost.noted == first)
    #expect(try await lost.repair())
    let now = try await lost.now
    #expect(now.name.revision == 1)
    #expect(try await first.isSubset(of: lost.packs(of: now)))
    #expect(lost.packBytes < lost.image.count * 6 / 5, "\(lost.packBytes) bytes")
    #expect(try await lost.home.read(now) == lost.image)
    #expect(try lost.noted.isEmpty)
  }

  @Test func `a push goes on from what a repair has stored, and a repair from that`() async throws {
    let lost = try await LostVersion(pages: 5000)
    await #expect(throws: StoreError.self) { _ = try await lost.repair(puts: 2) }
    let first = Set(lost.home.packs())
    let pushed = try await lost.home.push(lost.image).manifest
    #expect(pushed.name.sequence == 2)
    #expect(try await first.isSubset(of: lost.packs(of: pushed)))
    #expect(try await lost.repair())
    #expect(lost.packBytes < lost.image.count * 6 / 5, "\(lost.packBytes) bytes")
    for manifest in [pushed, try await lost.now] { #expect(try await lost.home.read(manifest) == lost.image) }
  }

  @Test func `what a push that was cut has left is there for the next one after a repair`() async throws {
    let lost = try await LostVersion(pages: 60)
    // Three packs.
    let image = lost.home.noise(5000 * 4096, seed: 2)
    await #expect(throws: StoreError.self) {
      _ = try await lost.home.push(image, at: CutStore(lost.home.store, puts: 1))
    }
    let left = Set(lost.home.packs())
    #expect(left.count == 1)
    #expect(try await lost.repair())
    #expect(try await lost.home.read(lost.now) == lost.image)
    #expect(try left.isSubset(of: lost.noted))
    let pushed = try await lost.home.push(image).manifest
    #expect(try await left.isSubset(of: lost.packs(of: pushed)))
    #expect(lost.home.packs().count == 4)
    #expect(try await lost.home.read(pushed) == image)
    #expect(try lost.noted.isEmpty)
  }
}
