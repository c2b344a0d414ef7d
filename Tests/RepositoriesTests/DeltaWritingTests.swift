import Sealing
import Storage
import TestKit
import Testing

@testable import Repositories

/// Versions that rest on others, written by the program itself: they cost little, restore exactly, and need nothing that
/// is kept on this machine.
@Suite struct DeltaWritingTests {
  @Test func `a vacuumed copy after an update costs a small part of its new pages`() async throws {
    let line = try await Line(rows: 40_000)
    let first = try await line.push(.anchor)
    try line.update(seed: 1)
    let second = try await line.push(.middle)
    #expect(second.level == .middle)
    try line.update(seed: 2)
    let third = try await line.push(.leaf)
    #expect(third.level == .leaf)
    #expect(second.bytesNew * 10 < first.bytesNew)
    #expect(line.stored(third) * 10 < first.bytesNew)
    for image in line.images { #expect(try await line.home.read(image.manifest) == image.bytes) }
    #expect(try await line.depth(of: third.manifest) == 2)
    let body = third.manifest.body
    #expect(body.bytesDecoded <= 3 * UInt64(line.images[2].bytes.count) && body.bytesDecoded > 0)
  }

  /// A middle takes known pages between its new ones along. Were they found where they lie alone, too, the map of the version
  /// after it would be another one from its first leaf to its last.
  @Test(arguments: [true, false]) func `what was taken along is referred to where the version before does`(
    isCut: Bool
  ) async throws {
    let line = try await Line(rows: 40_000)
    _ = try await line.push(.anchor)
    try line.database.run("UPDATE orders SET note = substr(hex(randomblob(99)), 1, length(note)) WHERE id % 150 < 30")
    if isCut { try await line.pushCut(.middle) }
    let second = try await line.push(.middle)
    try line.database.run("PRAGMA user_version = 7")
    let third = try await line.push(.leaf)
    let images = line.images.map(\.bytes)
    let places = try await line.places(in: second)
    let unchanged = stride(from: 0, to: images[0].count, by: 4096).filter {
      images[0][$0..<$0 + 4096] == images[1][$0..<$0 + 4096]
    }
    let takenAlong = unchanged.map { places[$0 / 4096] }.filter { $0.pack != 1 }
    try #require(takenAlong.contains { $0.unit == 0 }, "none begins a frame")
    let after = try await line.places(in: third)
    #expect(places.indices.filter { places[$0] != after[$0] } == [0])
    #expect(try await line.home.read(third.manifest) == images[2])
  }

  /// One row pays for as much of it as is new, and leaves the map alone behind that.
  @Test func `what was taken along in a pack that is hardly of use any more stays there until that is paid for`()
    async throws
  {
    let line = try await Line(rows: 40_000)
    _ = try await line.push(.anchor)
    try line.database.run("UPDATE orders SET note = substr(hex(randomblob(99)), 1, length(note)) WHERE id % 150 < 30")
    let second = try await line.push(.middle)
    let places = try await line.places(in: second)
    let stale = places.filter { $0.pack != 1 }.count
    try #require(stale > 100)
    try await line.forsake(second, packs: 2...)
    try line.database.run("PRAGMA user_version = 7")
    let third = try await line.push(.leaf)
    let after = try await line.places(in: third)
    let changed = places.indices.filter { places[$0] != after[$0] }
    #expect(changed.count * 10 < stale && changed.first == 0, "\(changed)")
    try await line.forsake(third, packs: 2...)
    try line.database.run("PRAGMA user_version = 8")
    let fourth = try await line.push(.shoot)
    #expect(try await line.places(in: fourth).allSatisfy { $0.pack == 1 || $0.pack > 2 })
    for image in line.images { #expect(try await line.home.read(image.manifest) == image.bytes) }
  }

  enum Loss: CaseIterable {
    case listsOfUnits
    case stateFolder
  }

  /// What lies only in the middle's deltas is not found again, and stored whole; what lies in the anchor is.
  @Test(arguments: Loss.allCases)
  func `lists of units that are lost, alone or with the state folder, cost bytes only`(loss: Loss) async throws {
    let line = try await Line()
    let first = try await line.push(.anchor)
    try line.replaceNotes()
    let second = try await line.push(.middle)
    try #require(second.bytesNew > 0, "it rides in its manifest, where no list is needed")
    try line.update(seed: 2)
    let third = try await line.push(.leaf)
    #expect(try await line.depth(of: third.manifest) == 2)
    switch loss {
    case .listsOfUnits: #expect(try line.forgetLists() > 0)
    case .stateFolder: line.home.forgetState()
    }
    try line.update(seed: 3)
    let after = try await line.push(.leaf)
    #expect(after.level == .leaf)
    #expect(try await line.depth(of: after.manifest) == 1)
    #expect(line.stored(after) > 2 * line.stored(third) && after.bytesNew < first.bytesNew)
    for image in line.images { #expect(try await line.home.read(image.manifest) == image.bytes) }
  }

  /// Leaves do not rest on each other, but what one has stored the next one finds, as long as the version between needs it.
  @Test func `a leaf refers to what the leaf before it has stored, another middle does not`() async throws {
    let line = try await Line(rows: 30_000)
    _ = try await line.push(.anchor)
    try line.update(seed: 1)
    let refined = try await line.push(.middle)
    try line.replaceNotes()
    let great = try await line.push(.leaf)
    try #require(refined.bytesNew > 0 && great.bytesNew > 0, "one rides in its manifest")
    let pack = try #require(try await line.packs(of: great).max())
    // Pages that changed, with others between them: those are not stored along with them.
    try line.database.run(
      "UPDATE orders SET note = substr(hex(randomblob(99)), 1, length(note)) WHERE id IN (777, 930)")
    let small = try await line.push(.leaf)
    let (before, after) = (line.images[2].bytes, line.images[3].bytes)
    let changed = stride(from: 0, to: after.count, by: 4096).filter {
      $0 + 4096 > before.count || before[$0..<$0 + 4096] != after[$0..<$0 + 4096]
    }
    let (places, moved) = (try await line.places(in: great), try await line.places(in: small))
    #expect(moved.indices.filter { $0 >= places.count || places[$0] != moved[$0] } == changed.map { $0 / 4096 })
    #expect(small.level == .leaf && line.stored(small) * 5 < great.bytesNew)
    #expect(try await line.packs(of: small).contains(pack))
    #expect(try await line.listsOfLeaves() > 0)
    #expect(try await line.depth(of: small.manifest) == 2)
    try line.database.run("UPDATE orders SET updated = updated + 5 WHERE id = 78")
    let alone = try await line.push(.shoot)
    #expect(alone.level == .shoot && alone.bytesNew * 2 > great.bytesNew)
    #expect(try await !line.packs(of: alone).contains(pack))
    #expect(try await line.listsOfLeaves(beside: alone) == 0)
    let middle = try await line.push(.middle)
    #expect(middle.level == .middle)
    #expect(try await line.listsOfLeaves(beside: middle) == 0)
    for image in line.images { #expect(try await line.home.read(image.manifest) == image.bytes) }
  }

  /// A middle is due, and what is to become one is all there: to the push that goes on nothing of it is new.
  @Test(arguments: [false, true]) func `a great change does not become a small one by being cut`(isCut: Bool)
    async throws
  {
    let line = try await Line(rows: 20_000)
    _ = try await line.push(.anchor)
    try line.update(seed: 1)
    _ = try await line.push(.middle)
    try line.replaceNotes()
    if isCut { try await line.pushCut(.middle) }
    #expect(try await line.push(.middle, leafUpTo: 8192).level == .middle)
    try line.database.run("UPDATE orders SET updated = updated + 5 WHERE id = 78")
    #expect(try await line.push(.middle, leafUpTo: 128 << 10).level == .leaf)
    for image in line.images { #expect(try await line.home.read(image.manifest) == image.bytes) }
  }

  @Test(arguments: 0..<8) func `a base that rotted is passed over`(seed: UInt64) async throws {
    let line = try await Line()
    _ = try await line.push(.anchor)
    try line.rot(.anchor, seed: seed)
    try line.update(seed: 1)
    let second = try await line.push(.middle)
    #expect(try await line.home.read(second.manifest) == line.images[1].bytes)
  }

  @Test(arguments: [DeltaLevel.anchor, .middle]) func `of a base that rotted in one place the rest is still one`(
    rotten: DeltaLevel
  ) async throws {
    let line = try await Line()
    let first = try await line.push(.anchor)
    if rotten == .anchor { try line.rot(.anchor, pages: 64..<72) }
    try line.replaceNotes()
    let second = try await line.push(.middle)
    #expect(try await line.depth(of: second.manifest) == 1)
    if rotten == .middle { try line.rot(.middle, pages: 64..<72) }
    try line.update(seed: 1)
    let third = try await line.push(.leaf)
    #expect(try await line.depth(of: third.manifest) == 2)
    for next in [second, third] { #expect(line.stored(next) * 3 < first.bytesNew) }
    for image in line.images { #expect(try await line.home.read(image.manifest) == image.bytes) }
  }

  @Test func `a base of another database is no base`() async throws {
    let line = try await Line()
    let other = try await Line(rows: 3000, seed: 77)
    _ = try await line.push(.anchor)
    _ = try await other.push(.anchor)
    line.bases = other.bases
    try line.update(seed: 1)
    let second = try await line.push(.middle)
    #expect(try await line.home.read(second.manifest) == line.images[1].bytes)
    #expect(try await line.depth(of: second.manifest) == 0)
  }

  @Test func `a target that missed the middle version rests on the anchor`() async throws {
    let line = try await Line()
    _ = try await line.push(.anchor)
    let late = try await Home(sharing: line.home, content: line.home.store.content)
    try line.update(seed: 1)
    _ = try await line.push(.middle)
    try line.update(seed: 2)
    let image = try line.vacuumed()
    let result = try await late.push(image, deltas: line.plan(.leaf, image))
    #expect(try await late.read(result.manifest) == image)
    #expect(result.bytesNew < image.count / 10)
  }

  @Test func `a new anchor refers to an old one only when they share most pages`() async throws {
    let line = try await Line()
    let first = try await line.push(.anchor)
    try line.database.run("UPDATE orders SET updated = updated + 1 WHERE id = 77")
    let near = try await line.push(.anchor)
    let old = try await Set(line.packs(of: first))
    #expect(try await !Set(line.packs(of: near)).isDisjoint(with: old))
    for seed in 1...20 { try line.update(seed: seed) }
    let far = try await line.push(.anchor)
    #expect(try await Set(line.packs(of: far)).isDisjoint(with: old))
    for image in line.images { #expect(try await line.home.read(image.manifest) == image.bytes) }
  }

  @Test func `a version that would be too dear to restore rests on less`() async throws {
    let line = try await Line(rows: 30_000)
    _ = try await line.push(.anchor)
    try line.update(seed: 1)
    _ = try await line.push(.middle)
    try line.database.run("DELETE FROM orders WHERE id % 10 < 7; DELETE FROM item WHERE id % 150 < 30")
    let small = try await line.push(.leaf)
    #expect(small.level < .shoot)
    #expect(try await line.home.read(small.manifest) == line.images[2].bytes)
    #expect(small.manifest.body.bytesDecoded <= 3 * UInt64(line.images[2].bytes.count))
  }

  /// What is left after the last whole pack, however little, must not ride: all of it would be stored once more.
  @Test(arguments: [(8 << 20) + 8192, 8192]) func `a middle of a pack and a little more is a base`(length: Int)
    async throws
  {
    let home = try await Home()
    let image = home.noise(length, seed: 1)
    let result = try await home.push(image, deltas: DeltaPlan(level: .middle))
    #expect(result.level == .middle && result.canBeBase == (length > 8192))
    #expect(try await home.read(result.manifest) == image)
  }

  /// Else the next version could not refer to it, and would store it with its own.
  @Test(arguments: [DeltaLevel.fresh, .anchor]) func `a little behind the packs of an anchor is stored once`(
    level: DeltaLevel
  ) async throws {
    let home = try await Home()
    var image = home.noise(PushSession.Policy.packLength + 15 * 4096, seed: 1)
    let first = try await home.push(image, deltas: DeltaPlan(level: level))
    #expect(first.level == level && first.canBeBase)
    image[0] ^= 1
    let second = try await home.push(image, deltas: DeltaPlan(level: .middle))
    #expect(second.bytesNew + second.manifest.name.length < 16 << 10)
    #expect(try await home.read(second.manifest) == image)
  }

  /// A leaf would decode the anchor, which is half as long again, the middle, and itself.
  @Test func `what becomes a middle because a leaf would be too dear is a base as any middle is`() async throws {
    let line = try await Line(rows: 40_000)
    _ = try await line.push(.anchor)
    try line.update(seed: 1)
    _ = try await line.push(.middle)
    try line.database.run("DELETE FROM orders WHERE id % 10 < 3; DELETE FROM item WHERE id % 10 < 3")
    let great = try await line.push(.leaf)
    #expect(great.level == .middle)
    try line.database.run("UPDATE orders SET customer = customer + 1 WHERE id = 77")
    let next = try await line.push(.leaf)
    #expect(next.level == .leaf && line.stored(next) * 5 < line.stored(great))
    #expect(try await line.home.read(next.manifest) == line.images.last?.bytes)
  }

  @Test func `what only other frames of a pack rest on is not needed`() async throws {
    let line = try await Line()
    _ = try await line.push(.anchor)
    try line.update(seed: 1)
    try line.database.run(
      """
      CREATE TABLE noise(id INTEGER PRIMARY KEY, body BLOB);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO noise SELECT i, randomblob(3900) FROM n;
      """)
    let second = try await line.push(.middle)
    try line.database.run("DROP TABLE orders; DROP TABLE item")
    let third = try await line.push(.anchor)
    #expect(try await line.depth(of: second.manifest) == 1)
    #expect(try await line.packs(of: second) == [1, 2])
    #expect(third.bytesNew < 100_000, "nothing of the second version was found again")
    #expect(try await line.packs(of: third).contains(1) == false)
    #expect(try await line.packs(of: third).contains(2))
    #expect(try await line.home.read(third.manifest) == line.images[2].bytes)
  }

  /// The second anchor finds the noise of the middle's pack, and stores its orders and items again, which lie there as deltas.
  @Test func `what was stored whole again is found, though older deltas hold it too`() async throws {
    let line = try await Line()
    _ = try await line.push(.anchor)
    try line.database.run(
      """
      UPDATE orders SET updated = updated + 1;
      UPDATE item SET price = price + 1;
      CREATE TABLE noise(id INTEGER PRIMARY KEY, body BLOB);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1800)
      INSERT INTO noise SELECT i, randomblob(3900) FROM n;
      """)
    let second = try await line.push(.middle)
    #expect(try await line.depth(of: second.manifest) == 1)
    try line.database.run("UPDATE orders SET updated = updated + 1 WHERE id = 7")
    let third = try await line.push(.anchor)
    #expect(third.bytesNew > 120_000, "what lies in deltas was not stored whole again")
    #expect(try await line.packs(of: third).contains(2), "nothing of the second version was found again")
    try line.database.run("UPDATE orders SET updated = updated + 1 WHERE id = 77")
    for level in [DeltaLevel.leaf, .middle, .anchor] {
      let next = try await line.push(level)
      #expect(next.bytesNew < 60_000, "\(level)")
      #expect(try await line.home.read(next.manifest) == line.images.last?.bytes)
    }
  }

  /// The same where the older deltas can still be followed, so that only their depth forbids them.
  @Test func `what was stored whole again is found by whoever may not refer to deltas`() async throws {
    let line = try await Line(rows: 20_000)
    _ = try await line.push(.anchor)
    try line.database.run(
      """
      UPDATE orders SET note = substr(hex(randomblob(99)), 1, length(note)) WHERE id % 200 = 0;
      CREATE TABLE noise(id INTEGER PRIMARY KEY, body BLOB);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
      INSERT INTO noise SELECT i, randomblob(3900) FROM n;
      """)
    _ = try await line.push(.middle)
    try line.database.run("UPDATE orders SET updated = updated + 1 WHERE id = 7")
    let third = try await line.push(.anchor)
    let packs = try await line.packs(of: third)
    #expect(packs.contains(1) && packs.contains(2) && third.bytesNew > 15_000, "\(packs), \(third.bytesNew)")
    try line.database.run("UPDATE orders SET updated = updated + 1 WHERE id = 77")
    let fourth = try await line.push(.middle)
    #expect(fourth.bytesNew < third.bytesNew / 2, "\(fourth.bytesNew) of \(third.bytesNew)")
    #expect(try await line.home.read(fourth.manifest) == line.images.last?.bytes)
  }

  /// Free pages are zeros: a large image may hold little.
  @Test func `what a version would take whole is measured by its content, not its length`() async throws {
    let home = try await Home()
    let full = home.noise(8 << 20, seed: 1)
    _ = try await home.push(full)
    var sparse = stride(from: 0, to: full.count, by: 16 * 4096).flatMap { full[$0..<$0 + 4096] }
    sparse += [UInt8](repeating: 0, count: 16 << 20)
    let second = try await home.push(sparse)
    #expect(second.manifest.body.bytesFetched <= 2 << 20)
    #expect(try await home.read(second.manifest) == sparse)
  }
}

/// A database that changes, and the versions pushed of it.
private final class Line {
  let home: Home
  let database: TestDatabase
  var bases: [DeltaLevel: String] = [:]
  private(set) var images: [(bytes: [UInt8], manifest: StoredManifest)] = []
  private let scratch: Scratch
  private var copies = 0

  init(rows: Int = 6000, seed: Int = 1) async throws {
    home = try await Home()
    scratch = try Scratch()
    database = try TestDatabase(scratch.path + "/live.db")
    try database.run(
      """
      CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, note TEXT, updated INTEGER);
      CREATE TABLE item(id INTEGER PRIMARY KEY, orders INTEGER, sku TEXT, price REAL);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO orders SELECT i, (i * 7919 + \(seed)) % 997, hex(i * 1234567 + \(seed)) || ' a note on order ' || i,
        1600000000 + (i * 104729) % 10000000 FROM n;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(2 * rows))
      INSERT INTO item SELECT i, (i * 31 + \(seed)) % \(rows), 'SKU-' || (i * 6151) % 100003, i % 977 + 0.25 FROM n;
      CREATE INDEX by_customer ON orders(customer);
      CREATE INDEX by_update ON orders(updated);
      CREATE INDEX by_sku ON item(sku, price);
      """)
  }

  /// Changes one row in a hundred.
  func update(seed: Int) throws {
    try database.run(
      """
      UPDATE orders SET note = 'changed by \(seed) ' || substr(note, 1, 20 + (id + \(seed)) % 30), updated = updated + 5
      WHERE (id * 7907 + \(seed) * 13) % 100 = 0;
      UPDATE item SET price = price + 1 WHERE (id * 7907 + \(seed) * 17) % 100 = 0;
      """)
  }

  /// So many that what a middle makes of them is worth a pack, each by one as long, so that no row moves.
  func replaceNotes() throws {
    try database.run("UPDATE orders SET note = substr(hex(randomblob(99)), 1, length(note)) WHERE id % 5 = 0")
  }

  func vacuumed() throws -> [UInt8] {
    copies += 1
    let path = "\(scratch.path)/copy-\(copies).db"
    try database.run("VACUUM INTO '\(path)'")
    return try #require(try StateFiles.read(path))
  }

  func plan(_ level: DeltaLevel, _ image: [UInt8]) throws -> DeltaPlan {
    let samples = BaseSamples(pages: image.count / 4096, pageSize: 4096, in: scratch.path)
    return DeltaPlan(level: level, anchor: base(.anchor), middle: base(.middle), samples: samples)
  }

  /// A pack is stored, and nothing said of it.
  func pushCut(_ level: DeltaLevel) async throws {
    let image = try vacuumed()
    let cut = HookedStore(
      home.store,
      beforePut: { name async throws(StoreError) in
        if name.text.hasPrefix("versions/") { throw StoreError(.unavailable, "the line was cut") }
      })
    let plan = try plan(level, image)
    await #expect(throws: StoreError.self) {
      try await home.push(image, at: cut, packsPerPartial: 1, deltas: plan)
    }
  }

  private func base(_ level: DeltaLevel) -> BaseImage? {
    bases[level].flatMap { BaseImage(at: $0, pageSize: 4096, in: scratch.path) }
  }

  func push(_ level: DeltaLevel, leafUpTo: Int? = nil) async throws -> PushSession.Result {
    let image = try vacuumed()
    var plan = try plan(level, image)
    plan.leafUpTo = leafUpTo
    let result = try await home.push(image, deltas: plan)
    images.append((image, result.manifest))
    if let samples = plan.samples, samples.haveBegun {
      let path = "\(scratch.path)/\(result.level)-\(images.count).base"
      try StateFiles.write(image, to: path)
      try samples.write(besides: path)
      bases[result.level] = path
    }
    return result
  }

  /// Where each page lies.
  func places(in result: PushSession.Result) async throws -> [Location] {
    let reader = try await VersionReader(
      result.manifest, repository: home.repository, state: nil, tables: home.stateFolder)
    let packs = try OpenPacks(reader.table, repository: home.repository, chain: home.chain, state: nil)
    let file = try #require(reader.core.members[0].file)
    var places: [Location] = []
    try await MapReader(manifest: result.manifest, packs: packs).forEachRun(
      of: file, root: result.manifest.body.maps[0]
    ) { run in
      for unit in 0..<run.count {
        places.append(Location(pack: run.pack, frame: run.frame, unit: run.firstUnit + unit))
      }
    }
    return places
  }

  /// The next push takes packs of such numbers for such that hardly anything is needed of.
  func forsake(_ result: PushSession.Result, packs numbers: PartialRangeFrom<UInt32>) async throws {
    let table = try await PackTable(of: result.manifest, repository: home.repository, state: nil)
    let names = table.all.filter { numbers.contains($0.number) }.map { $0.name.hex + "\n" }
    try StateFiles.write(Array(names.joined().utf8), to: home.state.folder(of: home.chain) + "/stale")
  }

  /// The numbers in the pack table.
  func packs(of result: PushSession.Result) async throws -> [UInt32] {
    try await PackTable(of: result.manifest, repository: home.repository, state: nil).numbered.map(\.number)
  }

  /// Packs and manifest.
  func stored(_ result: PushSession.Result) -> Int { result.bytesNew + result.manifest.name.length }

  /// Flips bits all over the base.
  func rot(_ level: DeltaLevel, seed: UInt64) throws {
    let path = try #require(bases[level])
    var bytes = try #require(try StateFiles.read(path))
    var random = SeededRandom(seed)
    for _ in 0..<200 {
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    }
    if seed == 7 { bytes = Array(bytes.prefix(bytes.count / 2)) }
    try StateFiles.write(bytes, to: path)
  }

  /// Flips a bit in each of these pages of the base.
  func rot(_ level: DeltaLevel, pages: Range<Int>) throws {
    let path = try #require(bases[level])
    var bytes = try #require(try StateFiles.read(path))
    for page in pages { bytes[page * 4096 + 2000] ^= 1 }
    try StateFiles.write(bytes, to: path)
  }

  /// How many lists of units are kept for the next push alone, of packs that a version does not need.
  func listsOfLeaves(beside result: PushSession.Result? = nil) async throws -> Int {
    var needed: [String] = []
    if let manifest = result?.manifest {
      needed = try await PackTable(of: manifest, repository: home.repository, state: nil).all.map(\.name).map(
        UnitList.passingName)
    }
    return StateFiles.names(in: try home.state.path + "/objects").count {
      $0.hasSuffix(".passing-units") && !needed.contains($0)
    }
  }

  /// - Returns: how many lists of units this machine had kept.
  func forgetLists() throws -> Int {
    let folder = try home.state.path + "/objects"
    let lists = StateFiles.names(in: folder).filter { $0.hasSuffix("units") }
    for list in lists { StateFiles.remove("\(folder)/\(list)") }
    return lists.count
  }

  /// The greatest depth among the frames of the packs that a version needs.
  func depth(of manifest: StoredManifest) async throws -> Int {
    let table = try await PackTable(of: manifest, repository: home.repository, state: nil)
    var known = try KnownPacks(in: scratch.path)
    for entry in table.all.sorted(by: { $0.number < $1.number }) {
      let directory = try await home.repository.directory(of: entry, chain: home.chain, state: nil)
      try known.add(entry, directory, unitsOfDeltas: nil)
    }
    return manifest.object.directory.frames.reduce(Int(known.frames.map(\.depth).max() ?? 0)) { deepest, rider in
      let bases = rider.bases.compactMap { run -> Int? in
        guard let pack = run.pack.flatMap({ table[manifest.object.directory.basePacks[Int($0)]] }),
          let ordinal = known.frame(at: UnitLocation(pack: pack.number, frame: run.frame, unit: 0))
        else { return nil }
        return Int(known.frames[Int(ordinal)].depth) + 1
      }
      return max(deepest, bases.max() ?? 0)
    }
  }
}
