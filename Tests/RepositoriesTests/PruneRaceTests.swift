import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A prune that runs while a push does: whatever it takes, an acknowledged version restores.
@Suite struct PruneRaceTests {
  /// Does something to the target right after the first manifest was put: the moment the protocol is made for.
  private final class Meddled: ObjectStore {
    let base: any ObjectStore
    let traits: StoreTraits
    private let meddle: @Sendable () async -> Void
    private let done = Locked(false)

    init(_ base: any ObjectStore, _ meddle: @escaping @Sendable () async -> Void) {
      self.base = base
      self.meddle = meddle
      traits = base.traits
    }

    func put(_ body: ObjectBody, at name: ObjectName, ifAbsent: Bool) async throws(StoreError) {
      try await base.put(body, at: name, ifAbsent: ifAbsent)
      let first =
        name.text.hasPrefix("versions/")
        && done.withLock { done in
          defer { done = true }
          return !done
        }
      if first { await meddle() }
    }

    func get(_ name: ObjectName, range: Range<Int>?) async throws(StoreError) -> [UInt8] {
      try await base.get(name, range: range)
    }
    func head(_ name: ObjectName) async throws(StoreError) -> ObjectInfo? { try await base.head(name) }
    func list(prefix: String) async throws(StoreError) -> [ObjectInfo] { try await base.list(prefix: prefix) }
    func delete(_ name: ObjectName) async throws(StoreError) { try await base.delete(name) }
  }

  @Test func `packs condemned after the manifest are noticed before the acknowledgement`() async throws {
    let home = try await Home()
    let image = home.image(pages: 500, seed: 1)
    let store = Meddled(home.store) { try? await home.condemn(home.packs()) }
    let result = try await home.push(image, at: store)
    #expect(result.manifest.name.revision == 1)
    for record in try await home.repository.condemnedRecords(of: home.chain, state: nil) {
      for name in record.record.packs { try await home.store.delete(Layout.pack(name, of: home.chain)) }
    }
    #expect(try await home.read(result.manifest) == image)
  }

  @Test func `a revision that never became whole hides no whole one below it`() async throws {
    let home = try await Home()
    let image = home.image(pages: 500, seed: 9)
    let first = Locked<[Digest]>([])
    let store = Meddled(home.store) {
      first.withLock { $0 = home.packs() }
      try? await home.condemn(home.packs())
    }
    let result = try await home.push(image, at: store)
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let history = try await home.repository.history(of: listing)
    let newest = try #require(history.newest)
    #expect(newest.revision == 1 && history.superseded.map(\.revision) == [0])
    #expect(try await home.repository.readable(newest, in: history, state: nil) == newest)

    for name in home.packs() where !first.withLock({ $0.contains(name) }) {
      try await home.store.delete(Layout.pack(name, of: home.chain))
    }
    let below = try await home.repository.readable(newest, in: history, state: nil)
    #expect(below.revision == 0 && below.id == result.manifest.id)
    #expect(try await home.read(home.repository.readManifest(below.name)) == image)
  }

  @Test func `packs deleted after the manifest are noticed before the acknowledgement`() async throws {
    let home = try await Home()
    let image = home.image(pages: 500, seed: 2)
    let store = Meddled(home.store) {
      for name in home.packs() { try? await home.store.delete(Layout.pack(name, of: home.chain)) }
    }
    let result = try await home.push(image, at: store)
    #expect(result.manifest.name.revision == 1)
    #expect(try await home.read(result.manifest) == image)
  }

  /// The packs were stored anew, and the machine died before the manifest that names them had left.
  @Test(arguments: [true, false])
  func `what was being stored anew is whole after the next push, or as it was`(hasPacks: Bool) async throws {
    let home = try await Home()
    let image = home.image(pages: 500, seed: 10)
    let late = LateStore(home.store, holding: "\(Layout.versions(of: home.chain))000000000001-0001")
    let store = Meddled(late) { try? await home.deletePacks() }
    await #expect(throws: StoreError.self) { try await home.push(image, at: store) }
    #expect(late.names.count == 1)
    if !hasPacks { try await home.deletePacks() }
    let next = try await home.push(image + home.noise(4096, seed: 11))
    #expect(next.manifest.name.sequence == 2)
    #expect(Array(try await home.read(next.manifest).prefix(image.count)) == image)
    let listing = ChainListing(chain: home.chain, objects: try await home.store.list(prefix: Layout.versions))
    let first = try #require(try await home.repository.history(of: listing).versions.first)
    #expect(first.sequence == 1 && first.revision == (hasPacks ? 1 : 0))
    if hasPacks { #expect(try await home.read(home.repository.readManifest(first.name)) == image) }
    #expect(try await home.repository.tombstones(of: home.chain, state: nil).isEmpty)
    #expect(try ManifestAttempt(of: home.chain, in: home.state) == nil)
  }

  @Test func `an older version's packs taken meanwhile are stored anew`() async throws {
    let home = try await Home()
    let image = home.image(pages: 500, seed: 3)
    _ = try await home.push(image)
    let old = home.packs()
    let store = Meddled(home.store) {
      for name in old { try? await home.store.delete(Layout.pack(name, of: home.chain)) }
    }
    let result = try await home.push(image + home.noise(4096, seed: 4), at: store)
    #expect(Array(try await home.read(result.manifest).prefix(image.count)) == image)
  }

  @Test func `an unreadable condemned record stops a push`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 10, seed: 5))
    try await home.condemn([Digest.sha256(of: [1])])
    for (name, bytes) in home.store.content where name.text.hasPrefix("gone/") {
      var broken = bytes
      broken[2000] ^= 1
      home.store.content[name] = broken
    }
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 11, seed: 6)) }
    #expect(error?.code == .damaged)
  }

  @Test func `a condemned record that was cut condemns nothing`() async throws {
    let home = try await Home()
    let image = home.image(pages: 200, seed: 7)
    _ = try await home.push(image)
    try await home.condemn(home.packs())
    for (name, bytes) in home.store.content where name.text.hasPrefix("gone/") {
      home.store.content[name] = Array(bytes.dropLast())
    }
    let result = try await home.push(image + home.noise(4096, seed: 8))
    #expect(result.bytesNew < 65_536)
  }
}

extension Home {
  fileprivate func deletePacks() async throws {
    for name in packs() { try await store.delete(Layout.pack(name, of: chain)) }
  }
}
