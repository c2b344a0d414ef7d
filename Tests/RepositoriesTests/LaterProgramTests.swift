import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Versions of a later program: what it said of them where this one may pass over it outlives a repair by this one.
@Suite struct LaterProgramTests {
  /// A type that nobody knows yet, with two bytes.
  private static let unknown: [UInt8] = [0, 1, 0, 9, 0, 0, 0, 2, 0xAB, 0xCD]

  /// Its only pack is lost, and its pages are on this machine.
  private struct LostVersion {
    let home: Home
    let scratch: Scratch
    let image: [UInt8]
    let version: StoredManifest

    init(coreExtensions: [UInt8] = [0, 0], bodyExtensions: [UInt8] = [0, 0]) async throws {
      let home = try await Home()
      let pages = [UInt64(1), 2, 3].map { home.noise(4096, seed: $0) }
      let made = HandmadeVersion(home)
      let pack = try await made.pack([made.raw(pages)])
      made.place(pack: 1, frame: 0, count: pages.count)
      image = Array(pages.joined())
      version = try await made.manifest(
        image: image, coreExtensions: coreExtensions, bodyExtensions: bodyExtensions)
      try await home.store.delete(Layout.pack(pack.name, of: home.chain))
      var damaged = try DamagedPacks(of: home.chain, in: try home.state)
      try damaged.add([pack.name], of: home.chain, in: try home.state)
      scratch = try Scratch()
      try writeFile(scratch.file("image"), image)
      self.home = home
    }

    /// - Returns: the manifest that counts for it then.
    func repaired() async throws -> StoredManifest {
      let local = try LocalPages(
        [scratch.file("image")], pageSize: 4096, keys: home.repository.keys, tables: scratch.path)
      let rewrite = VersionRewrite(home.repository, chain: home.chain, state: try home.state, tables: scratch.path)
      #expect(try await rewrite.run(version, from: local, dryRun: false))
      let objects = try await home.store.list(prefix: Layout.versions)
      let history = try await home.repository.history(of: ChainListing(chain: home.chain, objects: objects))
      #expect(history.versions.count == 1)
      return try await home.repository.readManifest(try #require(history.newest).name)
    }
  }

  @Test func `a core that says more than is known keeps its bytes, and so its id`() async throws {
    let lost = try await LostVersion(coreExtensions: Self.unknown)
    let now = try await lost.repaired()
    #expect(now.name.revision == 1 && now.id == lost.version.id)
    #expect(now.body.core == lost.version.body.core && Array(now.body.core.suffix(10)) == Self.unknown)
    #expect(try await lost.home.read(now) == lost.image)
  }

  @Test func `remarks that are not known, or of another shape, are those of the next revision`() async throws {
    // Rows of another shape, an origin as it is, and a type that nobody knows.
    let parts: [[UInt8]] = [
      [0, 3], [0, 1, 0, 0, 0, 3, 1, 2, 3], [0, 2, 0, 0, 0, 48], [UInt8](repeating: 5, count: 48),
      [0, 9, 0, 0, 0, 1, 7],
    ]
    let extensions = Array(parts.joined())
    let lost = try await LostVersion(bodyExtensions: extensions)
    let now = try await lost.repaired()
    #expect(now.name.revision == 1 && now.id == lost.version.id)
    #expect(Array(now.object.directory.meta.suffix(extensions.count)) == extensions)
    #expect(now.body.remarks == lost.version.body.remarks && now.body.remarks.origin != nil)
    #expect(try await lost.home.read(now) == lost.image)
  }

  @Test func `nothing but what is not known may differ from the core that is expected`() async throws {
    let home = try await Home()
    let pushed = try #require(try await home.push(home.image(pages: 3, seed: 1)).manifest.core)
    var draft = VersionDraft(
      chain: pushed.chain, sequence: pushed.sequence, previous: pushed.previous, time: pushed.time, host: pushed.host,
      database: pushed.database, method: pushed.method, flags: pushed.flags, members: [], tags: [], note: "",
      compressionLevel: 1)
    let core = Self.core(pushed, host: "\u{E9}")
    #expect(draft.bytes(of: core) == core.encode())
    let expected = Array(core.encode().dropLast(2)) + Self.unknown
    draft.expectedCore = expected
    #expect(draft.bytes(of: core) == expected)
    // The second looks the same to people.
    for other in ["other", "e\u{301}"] { #expect(draft.bytes(of: Self.core(pushed, host: other)) == nil) }
  }

  private static func core(_ core: Core, host: String) -> Core {
    Core(
      chain: core.chain, sequence: core.sequence, previous: core.previous, time: core.time, host: host,
      database: core.database, method: core.method, flags: core.flags, members: core.members)
  }
}
