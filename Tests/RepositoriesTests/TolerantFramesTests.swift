import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// A repair reads what it can: one bad answer says nothing of a frame, and of a pack of which it needs little it fetches little.
@Suite struct TolerantFramesTests {
  /// Twelve frames of four pages each, in one pack.
  private func version(_ home: Home) async throws -> (StoredManifest, [[UInt8]]) {
    let made = HandmadeVersion(home)
    let pages = (0..<48).map { home.noise(4096, seed: UInt64($0 + 1)) }
    let frames: [[[UInt8]]] = (0..<12).map { Array(pages[$0 * 4..<$0 * 4 + 4]) }
    try await made.pack(frames.map { made.raw($0) })
    for frame in frames.indices { made.place(pack: 1, frame: UInt32(frame), count: 4) }
    let contents = frames.map { $0.flatMap { $0 } }
    return (try await made.manifest(image: contents.flatMap { $0 }), contents)
  }

  private func frames(
    of manifest: StoredManifest, _ home: Home, at store: any ObjectStore, state: StateFolder? = nil,
    keeping fetched: FetchedPacks? = nil
  ) async throws -> TolerantFrames {
    let keys = home.repository
    let repository = Repository(store: store, keys: keys.keys, random: keys.random, slot: keys.slot)
    let table = try await PackTable(of: manifest, repository: repository, state: nil)
    let packs = try OpenPacks(table, repository: repository, chain: home.chain, state: state)
    return try TolerantFrames(
      VersionFrames(manifest: manifest, packs: packs), from: nil,
      keeping: fetched ?? FetchedPacks(in: home.stateFolder), state: home.state, in: home.stateFolder)
  }

  @Test(arguments: SpoilingStore.Spoilt.allCases) func `one bad answer loses no frame`(
    spoilt: SpoilingStore.Spoilt
  ) async throws {
    let home = try await Home()
    let (manifest, contents) = try await version(home)
    var number = 0
    while true {
      let store = SpoilingStore(home.store, spoilt) { [number] in $0 == number }
      var frames = try await frames(of: manifest, home, at: store)
      for (index, content) in contents.enumerated() {
        let found = try await frames.content(of: FramePlace(pack: 1, frame: UInt32(index)))
        #expect(found?.plain == content, "frame \(index), answer \(number)")
      }
      guard store.met == 1 else { break }
      number += 1
    }
    #expect(number > 4)
  }

  /// What lies in a delta frame is told by a list that this machine kept, for good or for the next push.
  @Test(arguments: [UnitList.name, UnitList.passingName]) func `what a lost delta held is known by its list`(
    name: @Sendable (Digest) -> String
  ) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let (old, new) = (home.noise(4096, seed: 1), home.noise(4096, seed: 2))
    try await made.pack([made.raw([old])])
    let delta = made.delta([new], on: [BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)], prefix: old)
    let entry = try await made.pack([delta], basePacks: [made.packs[0].name])
    made.place(pack: 2, frame: 0, count: 1)
    var frames = try await frames(of: made.manifest(image: new), home, at: home.store)
    let unknown = try await frames.fingerprints(of: FramePlace(pack: 2, frame: 0))
    #expect(unknown == nil)
    try home.state.keep(#require(UnitList.bytes(of: [delta])), as: name(entry.name))
    let known = try await frames.fingerprints(of: FramePlace(pack: 2, frame: 0))
    #expect(known == made.fingerprints([new]))
  }

  /// As of a WebDAV server that lists it: with its directory kept on this machine, and without.
  @Test(arguments: [true, false]) func `a pack of which nothing is given costs no more with every frame`(
    isDirectoryKept: Bool
  ) async throws {
    let home = try await Home()
    let (manifest, contents) = try await version(home)
    let state = try home.state
    if isDirectoryKept {
      let table = try await PackTable(of: manifest, repository: home.repository, state: nil)
      let pack = try #require(table.numbered.first)
      _ = try await home.repository.directory(of: pack, chain: home.chain, state: state)
    }
    let asked = Locked(0)
    let store = HookedStore(
      home.store,
      beforeGet: { name async throws(StoreError) in
        guard name.text.hasPrefix("packs/") else { return }
        asked.withLock { $0 += 1 }
        throw StoreError(.unreadable, "it is listed, and not given")
      })
    var frames = try await frames(of: manifest, home, at: store, state: state)
    var costs: [Int] = []
    for index in contents.indices {
      let place = FramePlace(pack: 1, frame: UInt32(index))
      let found = try await frames.content(of: place)
      #expect(found?.plain == nil)
      _ = try await frames.fingerprints(of: place)
      costs.append(asked.withLock { $0 })
    }
    #expect(costs.count == 12 && costs.first == costs.last)
  }

  @Test func `few frames are fetched by themselves, many with their pack`() async throws {
    let home = try await Home()
    let (manifest, _) = try await version(home)
    let whole = Locked(0)
    let store = CountingStore(home.store) { _ in whole.withLock { $0 += 1 } }
    var frames = try await frames(of: manifest, home, at: store)
    for index: UInt32 in 0..<3 { _ = try await frames.content(of: FramePlace(pack: 1, frame: index)) }
    #expect(whole.withLock { $0 } == 0)
    for index: UInt32 in 3..<12 { _ = try await frames.content(of: FramePlace(pack: 1, frame: index)) }
    #expect(whole.withLock { $0 } == 1)
  }

  /// Six packs of five frames each, read across, as the bases of deltas are.
  private func across(_ home: Home) async throws -> StoredManifest {
    let made = HandmadeVersion(home)
    let pages = (0..<30).map { home.noise(4096, seed: UInt64($0 + 1)) }
    for pack in 0..<6 { try await made.pack((0..<5).map { made.raw([pages[pack * 5 + $0]]) }) }
    for pack in 1...6 as ClosedRange<UInt32> {
      for frame: UInt32 in 0..<5 { made.place(pack: pack, frame: frame, count: 1) }
    }
    return try await made.manifest(image: pages.flatMap { $0 })
  }

  private func readAcross(_ frames: inout TolerantFrames) async throws -> Int {
    var found = 0
    for frame: UInt32 in 0..<5 {
      for pack: UInt32 in 1...6 where try await frames.content(of: FramePlace(pack: pack, frame: frame)) != nil {
        found += 1
      }
    }
    return found
  }

  @Test func `however many packs frames lie in, each is fetched once, for all versions`() async throws {
    let home = try await Home()
    let manifest = try await across(home)
    let whole = Locked(0)
    let tally = TallyingStore(CountingStore(home.store) { _ in whole.withLock { $0 += 1 } })
    let fetched = FetchedPacks(in: home.stateFolder)
    var requests: [Int] = []
    for _ in 1...2 {
      var frames = try await frames(of: manifest, home, at: tally, keeping: fetched)
      let before = tally.tally.gets
      let found = try await readAcross(&frames)
      #expect(found == 30)
      #expect(whole.withLock { $0 } == 6)
      requests.append(tally.tally.gets - before)
    }
    // The second asks for directories alone.
    #expect(requests == [6 + 3 * 6 + 6, 6])
  }

  /// It may be another answer the next time, for another version.
  @Test func `what is not what its name says is not kept`() async throws {
    let home = try await Home()
    let manifest = try await across(home)
    let table = try await PackTable(of: manifest, repository: home.repository, state: nil)
    let pack = try #require(table.numbered.first)
    let name = Layout.pack(pack.name, of: home.chain)
    let whole = try #require(home.store.content[name])
    home.store.content[name]?[Header.length + 9] ^= 1
    let fetched = FetchedPacks(in: home.stateFolder)
    var first = try await frames(of: manifest, home, at: home.store, keeping: fetched)
    var found = try await readAcross(&first)
    #expect(found == 29)
    #expect(first.spoilt == [pack.name])
    home.store.content[name] = whole
    var second = try await frames(of: manifest, home, at: home.store, keeping: fetched)
    found = try await readAcross(&second)
    #expect(found == 30)
  }
}
