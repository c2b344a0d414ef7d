import Storage
import TestKit
import Testing

@testable import Repositories
@testable import Sealing

/// Versions that are authentic, and say what cannot be: whoever has the key could write them.
@Suite struct CheckedStructureTests {
  private func check(_ home: Home, _ subset: CheckSubset? = nil) async throws -> CheckReport {
    let state = try home.state
    return try await RepositoryCheck(home.repository, state: state, tables: state.path, subset: subset).run()
  }

  private func expectWrong(_ home: Home, _ manifest: StoredManifest, _ subset: CheckSubset? = nil) async throws {
    let report = try await check(home, subset)
    #expect(report.damaged == [manifest.name.objectName.text])
    #expect(report.allFindings.contains { $0.kind == .wrong })
    #expect(report.harmed == [manifest.id])
    await #expect(throws: (any Error).self) { try await home.read(manifest) }
  }

  @Test func `a map that points at a frame, or a unit, that is not there`() async throws {
    for (frame, unit) in [(UInt32(1), UInt16(0)), (0, 1)] {
      let home = try await Home()
      let made = HandmadeVersion(home)
      let page = home.noise(4096, seed: 1)
      try await made.pack([made.raw([page])])
      made.place(pack: 1, frame: frame, unit: unit, count: 1)
      try await expectWrong(home, try await made.manifest(image: page))
    }
  }

  @Test func `a map that names a pack which no table has`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let page = home.noise(4096, seed: 1)
    try await made.pack([made.raw([page])])
    let second = try await made.pack([made.raw([home.noise(4096, seed: 2)])])
    made.place(pack: 1, frame: 0, count: 1)
    try await expectWrong(home, try await made.manifest(image: page, table: [second]))
  }

  /// To follow every version takes hours, and that pack is known.
  @Test func `who names a damaged pack has only versions followed that need something damaged`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let page = home.noise(4096, seed: 1)
    let first = try await made.pack([made.raw([page])])
    let second = try await made.pack([made.raw([home.noise(4096, seed: 2)])])
    made.place(pack: 1, frame: 0, count: 1)
    let good = try await made.manifest(image: page, table: [first])
    let wrong = try await made.manifest(image: page, sequence: 2, previous: good.id, table: [second])
    let state = try home.state
    let cases: [(suspects: Set<Digest>, harmed: Set<Digest>)] = [
      ([], [wrong.id]), ([first.name], [good.id]), ([second.name], [wrong.id]),
    ]
    for (suspects, harmed) in cases {
      let report = try await RepositoryCheck(
        home.repository, state: state, tables: state.path, subset: nil, suspects: suspects
      ).run()
      #expect(report.harmed == harmed)
      #expect(report.harmed.union(report.whole) == [good.id, wrong.id])
    }
    home.store.content[Layout.pack(first.name, of: home.chain)] = nil
    let report = try await RepositoryCheck(
      home.repository, state: state, tables: state.path, subset: nil, suspects: [second.name]
    ).run()
    #expect(report.harmed == [good.id, wrong.id])
  }

  @Test func `a map that covers less than its member`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let image = home.noise(2 * 4096, seed: 1)
    try await made.pack([made.raw([Array(image.prefix(4096)), Array(image.suffix(4096))])])
    made.place(pack: 1, frame: 0, count: 1)
    try await expectWrong(home, try await made.manifest(image: image))
  }

  @Test(arguments: [8, 9]) func `deltas on deltas, to a limit`(depth: Int) async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    var page = home.noise(4096, seed: 3)
    var below = try await made.pack([made.raw([page])])
    for step in 0..<depth {
      let prefix = page
      page[step * 7] ^= 0xFF
      let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
      below = try await made.pack([made.delta([page], on: [run], prefix: prefix)], basePacks: [below.name])
    }
    made.place(pack: UInt32(depth + 1), frame: 0, count: 1)
    let manifest = try await made.manifest(image: page)
    if depth == 9 { return try await expectWrong(home, manifest) }
    #expect(try await check(home, .all).isSound)
  }

  @Test func `a delta on a pack that is not in the table`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let base = home.noise(4096, seed: 1)
    var page = base
    page[9] ^= 1
    let below = try await made.pack([made.raw([base])])
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
    let delta = try await made.pack([made.delta([page], on: [run], prefix: base)], basePacks: [below.name])
    made.place(pack: 2, frame: 0, count: 1)
    try await expectWrong(home, try await made.manifest(image: page, table: [delta]))
  }

  /// A page, a delta on it, and a delta on that, each in a pack of its own; the image is the last alone.
  private func chain(_ made: HandmadeVersion, wrongPrefix: Bool = false) async throws -> StoredManifest {
    let home = made.home
    var pages = [home.noise(4096, seed: 1)]
    for step in 1...2 {
      pages.append(pages[step - 1])
      pages[step][step * 9] ^= 1
    }
    let run = BaseRun(pack: 0, frame: 0, firstUnit: 0, count: 1)
    let base = try await made.pack([made.raw([pages[0]])])
    let middle = try await made.pack(
      [made.delta([pages[1]], on: [run], prefix: pages[0])], basePacks: [base.name])
    let prefix = wrongPrefix ? pages[2] : pages[1]
    try await made.pack([made.delta([pages[2]], on: [run], prefix: prefix)], basePacks: [middle.name])
    made.place(pack: 3, frame: 0, count: 1)
    return try await made.manifest(image: pages[2])
  }

  @Test func `a pack that only deltas rest on harms whoever needs them`() async throws {
    for pack in 0..<2 {
      let home = try await Home()
      let made = HandmadeVersion(home)
      let manifest = try await chain(made)
      let name = Layout.pack(made.packs[pack].name, of: home.chain)
      let bytes = home.store.content[name]
      home.store.content[name] = nil
      for subset in [nil, CheckSubset.all] {
        let report = try await check(home, subset)
        #expect(report.damaged == [name.text] && report.harmed == [manifest.id])
      }
      home.store.content[name] = bytes
      home.store.content[name]?[130] ^= 1
      let report = try await check(home, .all)
      #expect(report.damaged == [name.text] && report.harmed == [manifest.id])
    }
  }

  @Test func `a delta that was made on something else is found, also when its bases are not read whole`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let manifest = try await chain(made, wrongPrefix: true)
    let name = Layout.pack(made.packs[2].name, of: home.chain)
    // Names are random: in so many parts that each pack is alone in one.
    func parts(_ count: Int) -> [Int] { made.packs.map { CheckSubset.part(of: $0.name, among: count) } }
    let count = try #require((1009...2000).first { Set(parts($0)).count == 3 })
    let report = try await check(home, .part(parts(count)[2], of: count))
    #expect(report.damaged == [name.text] && report.harmed == [manifest.id])
    #expect(report.chains.first?.packsRead == 1)
  }

  @Test func `what a pack rests on is fetched together, of packs that are not read`() async throws {
    let home = try await Home()
    let version = try await LevelledVersion(home, frames: 48)
    let top = try #require(version.packs.last)
    let count = try #require(
      (1009...2000).first { count in
        version.packs.count {
          CheckSubset.part(of: $0.name, among: count) == CheckSubset.part(of: top.name, among: count)
        }
          == 1
      })
    let tally = TallyingStore(home.store)
    let repository = Repository(
      store: tally, keys: home.repository.keys, random: home.repository.random, slot: home.repository.slot)
    let state = try home.state
    func requests(_ subset: CheckSubset?) async throws -> Int {
      let before = tally.tally.gets
      let report = try await RepositoryCheck(repository, state: state, tables: state.path, subset: subset).run()
      #expect(report.isSound && report.chains.first?.packsRead == (subset == nil ? 0 : 1))
      return tally.tally.gets - before
    }
    let structure = try await requests(nil)
    // 12 of its frames on the middle, and those on the anchor.
    let read = try await requests(.part(CheckSubset.part(of: top.name, among: count), of: count))
    #expect(read - structure < 10, "\(read) and \(structure)")
  }

  @Test func `pages in another order have another digest, which only reading shows`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let image = home.noise(2 * 4096, seed: 1)
    try await made.pack([made.raw([Array(image.suffix(4096)), Array(image.prefix(4096))])])
    made.place(pack: 1, frame: 0, count: 2)
    let manifest = try await made.manifest(image: image)
    #expect(try await check(home).isSound)
    try await expectWrong(home, manifest, .all)
  }

  @Test func `a lost pack that held the pack table harms its version`() async throws {
    let home = try await Home()
    let made = HandmadeVersion(home)
    let page = home.noise(4096, seed: 1)
    try await made.pack([made.raw([page])])
    made.place(pack: 1, frame: 0, count: 1)
    let holder = try await made.pack([made.raw([PackTableLeaf(entries: made.packs).encode()], .node)])
    let manifest = try await made.manifest(image: page, tableIn: holder)
    #expect(try await check(home, .all).isSound)
    let name = Layout.pack(holder.name, of: home.chain)
    home.store.content[name] = nil
    let report = try await check(home)
    #expect(report.damaged == [name.text] && report.harmed == [manifest.id])
  }

  @Test func `versions that were forgotten are not looked at, nor missed`() async throws {
    let home = try await Home()
    var versions: [StoredManifest] = []
    for seed in 0..<4 { versions.append(try await home.push(home.image(pages: 60, seed: UInt64(seed))).manifest) }
    let range = Tombstone.Range(first: 1, last: 2, previousOfFirst: .zero, coreHashOfLast: versions[1].id)
    try await home.repository.putRecord(
      .tombstone, Tombstone(chain: home.chain, time: 1, ranges: [range]).encode(),
      below: Layout.tombstones(of: home.chain))
    home.store.content[versions[0].name.objectName] = nil
    let report = try await check(home)
    #expect(report.isSound)
    #expect(report.whole == [versions[2].id, versions[3].id])
    #expect(report.chains.first?.forgotten == 1)
  }

  /// Of the same revision it may be another version.
  @Test(arguments: [0, 1] as [UInt32])
  func `a version of which only a damaged revision is newer is told apart`(revision: UInt32) async throws {
    let home = try await Home()
    let version = try await home.push(home.image(pages: 60, seed: 1)).manifest
    let junk = [UInt8](repeating: 9, count: 5000)
    func plant(sequence: UInt64, revision: UInt32) -> VersionName {
      let name = VersionName(
        chain: home.chain, sequence: sequence, revision: revision, length: junk.count, digest: .sha256(of: junk))
      home.store.content[name.objectName] = junk
      return name
    }
    let name = plant(sequence: 1, revision: revision)
    let report = try await check(home)
    #expect(report.damaged == [name.objectName.text])
    #expect(report.whole == [version.id])
  }

  /// Who takes the tombstone back needs it.
  @Test func `a manifest that cannot be read is damage as long as it stands`() async throws {
    let home = try await Home()
    var versions: [StoredManifest] = []
    for seed in 0..<3 { versions.append(try await home.push(home.image(pages: 60, seed: UInt64(seed))).manifest) }
    let tombstone = try await home.repository.forget([versions[1].facts], now: 1)
    home.store.content[versions[1].name.objectName]?[300] ^= 1
    let forgotten = try await check(home)
    #expect(!forgotten.isSound && forgotten.damaged == [versions[1].name.objectName.text])
    try await home.repository.annotate(versions[1].facts, [.init(unforget: [tombstone])], now: 2)
    let taken = try await check(home)
    #expect(!taken.isSound && taken.damaged == [versions[1].name.objectName.text])
  }

  @Test func `a chain of which everything is gone is missed by a machine that has seen it`() async throws {
    let home = try await Home()
    let version = try await home.push(home.image(pages: 60, seed: 1)).manifest
    for name in home.store.content.keys where name.text.hasPrefix("versions/") { home.store.content[name] = nil }
    let report = try await check(home)
    #expect(!report.isSound)
    #expect(report.harmed == [version.id])
    #expect(report.chains.first?.problems.map(\.code) == [.rolledBack])
  }
}
