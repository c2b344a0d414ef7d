import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A pack with a bad sector in it: what lies there is lost, and nothing else of that pack.
@Suite struct BadSectorTests {
  private static func repository(_ home: Home, at store: any ObjectStore) -> Repository {
    Repository(
      store: store, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
  }

  private static func check(
    _ home: Home, _ subset: CheckSubset?, at store: any ObjectStore
  ) async throws -> CheckReport {
    let state = try home.state
    let repository = repository(home, at: store)
    return try await RepositoryCheck(repository, state: state, tables: state.path, subset: subset).run()
  }

  /// Ten frames of a page each in one pack; the first version needs all but one of them, the second all.
  private struct TwoVersions {
    static let left = 4
    let home: Home
    let pack: PackEntry
    let pages: [[UInt8]]
    let first: StoredManifest
    let second: StoredManifest
    let imageOfFirst: [UInt8]

    init() async throws {
      let home = try await Home()
      let made = HandmadeVersion(home)
      let pages = (1...10).map { home.noise(4096, seed: $0) }
      pack = try await made.pack(pages.map { made.raw([$0]) })
      let needed = pages.indices.filter { $0 != Self.left }
      for frame in needed { made.place(pack: 1, frame: UInt32(frame), count: 1) }
      let image = needed.flatMap { pages[$0] }
      let first = try await made.manifest(image: image)
      made.place(pack: 1, frame: UInt32(Self.left), count: 1)
      second = try await made.manifest(image: image + pages[Self.left], sequence: 2, previous: first.id)
      self.home = home
      self.pages = pages
      self.first = first
      imageOfFirst = image
    }

    func frames(at store: any ObjectStore) async throws -> TolerantFrames {
      let repository = BadSectorTests.repository(home, at: store)
      let table = try await PackTable(of: second, repository: repository, state: nil)
      let packs = try OpenPacks(table, repository: repository, chain: home.chain, state: nil)
      return try TolerantFrames(
        VersionFrames(manifest: second, packs: packs), from: nil, keeping: FetchedPacks(in: home.stateFolder),
        state: home.state, in: home.stateFolder)
    }
  }

  /// It is met before the whole pack is asked for, by that, and behind it.
  @Test(arguments: [0, 3, 8]) func `a repair finds every frame but the one that lies there`(lost: Int) async throws {
    let versions = try await TwoVersions()
    let store = try await BadSectorStore(versions.home, pack: versions.pack, frame: lost)
    var frames = try await versions.frames(at: store)
    for (index, page) in versions.pages.enumerated() {
      let found = try await frames.content(of: FramePlace(pack: 1, frame: UInt32(index)))
      #expect(found?.plain == (index == lost ? nil : page), "frame \(index)")
    }
  }

  /// Not even its first byte can be read.
  @Test func `of a pack that begins in it, a repair finds the frames behind it`() async throws {
    let versions = try await TwoVersions()
    let store = BadSectorStore(versions.home, pack: versions.pack, bytes: 0..<512)
    var frames = try await versions.frames(at: store)
    for (index, page) in versions.pages.enumerated() {
      let found = try await frames.content(of: FramePlace(pack: 1, frame: UInt32(index)))
      #expect(found?.plain == (index == 0 ? nil : page), "frame \(index)")
    }
  }

  @Test func `a repair saves a version that needs nothing of it`() async throws {
    let versions = try await TwoVersions()
    let home = versions.home
    let store = try await BadSectorStore(home, pack: versions.pack, frame: TwoVersions.left)
    let repository = Self.repository(home, at: store)
    func saved(_ manifest: StoredManifest) async throws -> [UInt8]? {
      let salvage = Salvage(manifest, repository, state: try home.state, tables: home.stateFolder)
      var spoilt: Set<Digest> = []
      let members = try await salvage.members(from: nil, noting: &spoilt)
      #expect(spoilt == (members == nil ? [versions.pack.name] : []))
      guard let member = members?.first else { return nil }
      return try member.read(0..<member.length)
    }
    #expect(try await saved(versions.first) == versions.imageOfFirst)
    #expect(try await saved(versions.second) == nil)
  }

  @Test func `a check that reads everything names the versions that need it, and no others`() async throws {
    let versions = try await TwoVersions()
    let home = versions.home
    let store = try await BadSectorStore(home, pack: versions.pack, frame: TwoVersions.left)
    let report = try await Self.check(home, .all, at: store)
    #expect(report.damaged == [Layout.pack(versions.pack.name, of: home.chain).text])
    #expect(report.harmed == [versions.second.id] && report.whole == [versions.first.id])
    #expect(report.chains.first?.damagedPacks == [versions.pack.name])
  }

  /// What the pack that is read rests on lies in another, on both sides of what nobody needs.
  @Test(arguments: [0, 1, 2]) func `of a pack that only bases are read of, it harms who needs them`(
    lost: Int
  ) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let pages = (1...3).map { home.noise(4096, seed: $0) }
    let base = try await made.pack(pages.map { made.raw([$0]) })
    let changed: [[UInt8]] = [0, 2].map { [1] + pages[$0].dropFirst() }
    let deltas = zip([0, 2], changed).map { frame, page in
      made.delta(
        [page], on: [BaseRun(pack: 0, frame: UInt32(frame), firstUnit: 0, count: 1)], prefix: pages[frame])
    }
    let top = try await made.pack(deltas, basePacks: [base.name])
    for frame: UInt32 in [0, 1] { made.place(pack: top.number, frame: frame, count: 1) }
    let manifest = try await made.manifest(image: changed.flatMap { $0 })
    let count = try #require(
      (2...999).first { CheckSubset.part(of: top.name, among: $0) != CheckSubset.part(of: base.name, among: $0) })
    let subset = CheckSubset.part(CheckSubset.part(of: top.name, among: count), of: count)
    let report = try await Self.check(home, subset, at: BadSectorStore(home, pack: base, frame: lost))
    #expect(report.damaged == [Layout.pack(base.name, of: home.chain).text])
    #expect(report.harmed == (lost == 1 ? [] : [manifest.id]))
  }

  /// A map, a page that no version needs, and a node that none needs.
  @Test(arguments: [0, 1]) func `a check of the structure finds maps beside it`(lost: Int) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let image = home.noise(4096, seed: 1)
    try await made.pack([made.raw([image])])
    made.place(pack: 1, frame: 0, count: 1)
    let other = home.noise(4096, seed: 2)
    let pack = try await made.pack([made.raw([try made.map()], .node), made.raw([other]), made.raw([other], .node)])
    let manifest = try await made.manifest(image: image, mapIn: pack)
    let report = try await Self.check(home, nil, at: BadSectorStore(home, pack: pack, frame: lost))
    #expect(report.damaged == [Layout.pack(pack.name, of: home.chain).text])
    #expect(report.harmed == (lost == 0 ? [manifest.id] : []))
  }

  /// One request takes in two frames that are wanted and one that is not.
  @Test(arguments: [0, 1, 2]) func `a restore needs nothing of what lies between`(lost: Int) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let pages = (1...3).map { home.noise(4096, seed: $0) }
    let pack = try await made.pack(pages.map { made.raw([$0]) })
    for frame: UInt32 in [0, 2] { made.place(pack: 1, frame: frame, count: 1) }
    let image = pages[0] + pages[2]
    let manifest = try await made.manifest(image: image)
    let store = try await BadSectorStore(home, pack: pack, frame: lost)
    if lost == 1 {
      #expect(try await home.read(manifest, from: store) == image)
    } else {
      let error = await #expect(throws: RepositoryError.self) { _ = try await home.read(manifest, from: store) }
      #expect(error?.code == .damaged && (error?.cause as? StoreError)?.code == .unreadable)
    }
  }
}
