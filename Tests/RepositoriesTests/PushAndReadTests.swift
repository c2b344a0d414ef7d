import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

@Suite struct PushAndReadTests {
  @Test func `a version comes back as it was`() async throws {
    let home = try await Home()
    let image = home.image(pages: 300, seed: 1)
    let result = try await home.push(image)
    #expect(!result.unchanged)
    #expect(try await home.read(result.manifest) == image)
  }

  /// That of whole units is computed once for many.
  @Test(arguments: [MemberSource.Content.image(pageSize: 4096), .file])
  func `zeros have the fingerprint that they have by themselves`(content: MemberSource.Content) async throws {
    let home = try await Home()
    var source = MemberSource(content: content, path: "app.db", mode: 0o600, modified: 0, length: 0, read: { _ in [] })
    let size = source.unitSize
    let zeros = [UInt8](repeating: 0, count: 2 * size)
    let bytes = zeros + home.noise(size, seed: 1) + zeros.dropLast(size - 512)
    source.read = { Array(bytes[$0]) }
    let keys = home.repository.keys
    let block = try BlockPipeline.fingerprint(
      0..<bytes.count, of: source, WorkerPool { Fingerprinter(keys) }, samples: nil, sums: nil)
    #expect(block.zeros == [true, true, false, true, false])
    for unit in block.fingerprints.indices {
      let alone = bytes[block.range(of: unit)].withUnsafeBytes { Fingerprinter(keys).fingerprint(source.unitType, $0) }
      #expect(block.fingerprints[unit] == alone)
    }
  }

  @Test(arguments: [0, 1, 2, 63, 64, 65, 1023, 1024, 1025, 2500]) func `any number of pages comes back`(pages: Int)
    async throws
  {
    let home = try await Home()
    let image = home.image(pages: pages, seed: UInt64(pages))
    #expect(try await home.read(home.push(image).manifest) == image)
  }

  @Test func `only what changed is stored again`() async throws {
    let home = try await Home()
    var image = home.image(pages: 2000, seed: 3)
    let first = try await home.push(image)
    image.replaceSubrange(4096 * 700..<4096 * 701, with: home.noise(4096, seed: 9))
    let before = home.store.content.values.reduce(0) { $0 + $1.count }
    let second = try await home.push(image)
    let added = home.store.content.values.reduce(0) { $0 + $1.count } - before
    #expect(first.bytesNew > 1_000_000)
    #expect(added < 65_536)
    #expect(try await home.read(second.manifest) == image)
    #expect(second.manifest.core?.previous == first.manifest.id)
  }

  @Test func `the same content again is no new version`() async throws {
    let home = try await Home()
    let image = home.image(pages: 100, seed: 4)
    let first = try await home.push(image)
    let objects = home.store.content.count
    let second = try await home.push(image)
    #expect(second.unchanged)
    #expect(second.manifest.id == first.manifest.id)
    #expect(home.store.content.count == objects)
  }

  @Test func `a lost state folder costs bytes only`() async throws {
    let home = try await Home()
    let image = home.image(pages: 900, seed: 5)
    let first = try await home.push(image)
    home.forgetState()
    let second = try await home.push(image + home.noise(4096, seed: 6))
    #expect(second.manifest.core?.sequence == 2)
    #expect(second.manifest.core?.previous == first.manifest.id)
    #expect(second.bytesNew < 65_536 + 4096)
    #expect(try await home.read(second.manifest).count == image.count + 4096)
  }

  @Test func `a target that went back is noticed`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 10, seed: 1))
    let older = home.store.content
    _ = try await home.push(home.image(pages: 11, seed: 2))
    home.store.content = older
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 12, seed: 3)) }
    #expect(error?.code == .rolledBack)
  }

  @Test func `two machines that push as one are told`() async throws {
    let home = try await Home()
    _ = try await home.push(home.image(pages: 10, seed: 1))
    let shared = home.store.content
    _ = try await home.push(home.image(pages: 11, seed: 2))
    let twin = try await Home(sharing: home, content: shared)
    _ = try await twin.push(home.image(pages: 12, seed: 3))
    home.store.content.merge(twin.store.content) { first, _ in first }
    let error = await #expect(throws: RepositoryError.self) { try await home.push(home.image(pages: 13, seed: 4)) }
    #expect(error?.code == .forked)
  }

  @Test func `packs condemned meanwhile are stored anew under other names`() async throws {
    let home = try await Home()
    let image = home.image(pages: 800, seed: 7)
    let first = try await home.push(image)
    let packs = home.packs()
    try await home.condemn(packs)
    let second = try await home.push(image + home.noise(4096, seed: 8))
    let table = try await PackTable(of: second.manifest, repository: home.repository, state: nil)
    #expect(Set(table.all.map(\.name)).isDisjoint(with: packs))
    for name in packs { try await home.store.delete(Layout.pack(name, of: home.chain)) }
    #expect(try await home.read(second.manifest).count == image.count + 4096)
    #expect(first.manifest.id != second.manifest.id)
  }

  @Test func `a push that was cut is continued from its journal and its partial manifest`() async throws {
    for keepsState in [true, false] {
      let home = try await Home()
      let image = home.image(pages: 12_000, seed: 11)
      let cut = CutStore(home.store, puts: 4)
      await #expect(throws: StoreError.self) { try await home.push(image, at: cut, packsPerPartial: 1) }
      let stored = Set(home.packs())
      #expect(!stored.isEmpty)
      if !keepsState { home.forgetState() }
      let result = try await home.push(image, packsPerPartial: 1)
      let used = try await PackTable(of: result.manifest, repository: home.repository, state: nil).all.map(\.name)
      #expect(!stored.isDisjoint(with: used))
      #expect(try await home.read(result.manifest) == image)
    }
  }
}
