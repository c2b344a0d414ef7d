import FoundationEssentials
import Glibc
import Repositories
import Sealing
import Storage
import TestKit
import Testing

@testable import Operations

/// What the target lost of a companion is mostly still beside the database.
@Suite struct CompanionRepairTests {
  /// A version of a small database and two files, most of it one of them.
  private struct Pushed {
    /// The last block of the file is so long.
    static let lastBlock = 60_000

    let road: Road
    let database: DatabaseSource
    let version: VersionSummary
    let content: [UInt8]
    var file: String { road.scratch.file("att/big") }

    /// - Parameter kind: of the database; `nil` is one of random rows.
    init(_ kind: SampleDatabase? = nil) async throws {
      let road = try await Road()
      var random = SeededRandom(7)
      let content = random.bytes(16 * 65_536 + Self.lastBlock)
      try FileManager.default.createDirectory(atPath: road.scratch.file("att"), withIntermediateDirectories: true)
      try writeFile(road.scratch.file("att/a"), Array("one".utf8))
      try writeFile(road.scratch.file("att/big"), content)
      let path = try kind.map { _ in road.scratch.file("app.db") } ?? road.database(rows: 20)
      try kind?.make(at: path)
      var database = DatabaseSource(name: "app", path: path)
      database.companions = [Companion("att")]
      version = try #require(try await road.push(database).pushed.first).version
      (self.road, self.database, self.content) = (road, database, content)
    }

    var packs: [ObjectName] { road.store.content.keys.filter { $0.text.hasPrefix("packs/") } }

    /// In the middle of the file.
    func flip() throws { try flip { $0 / 2 } }

    /// Behind it lie at most 32 KiB of padding and a few KiB of maps and directory.
    func flipInLastBlock() throws { try flip { $0 - (Self.lastBlock - 10_000) } }

    private func flip(_ place: (_ length: Int) -> Int) throws {
      let stored = road.store.content.filter { $0.key.text.hasPrefix("packs/") }
      let largest = try #require(stored.max { $0.value.count < $1.value.count })
      road.store.content[largest.key]?[place(largest.value.count)] ^= 1
    }

    func repair(_ world: World? = nil) async throws -> RepairRepository.Outcome {
      try await RepairRepository(world ?? road.world).run(.init(databases: [database]), at: road.target)
    }

    /// What is in the file now is nothing that was pushed.
    func loseFile() throws {
      var random = SeededRandom(8)
      try writeFile(file, random.bytes(content.count))
    }

    func drill() async throws -> Drill.Drilled? {
      try await Drill(road.world).run(Drill.Request(), at: road.target).drilled.first
    }

    /// Says of the version what somebody found damaged.
    func say(_ text: String) async throws {
      let lookup = try await VersionLookup(at: road.target, road.world)
      let facts = try #require(try await lookup.histories().first?.versions.first)
      let said = try await lookup.repository.annotations(of: facts.chain, state: lookup.state)
      let now = said.time(for: facts, now: road.world.now())
      try await lookup.repository.annotate(facts, [.init(.foundDamaged, text)], now: now, state: lookup.state)
    }

    /// The versions as a list shows them, oldest first.
    func listed() async throws -> [VersionSummary] {
      try await ListVersions(road.world).run(at: road.target).versions
    }

    func plan(last: Int) async throws -> ForgetVersions.Plan {
      try await ForgetVersions(road.world).plan(.init(.rulesForAll(RetentionRules(last: last))), at: road.target)
    }

    func pulled() async throws -> [UInt8] {
      let out = road.scratch.file("out.db")
      _ = try await Pull(road.world).run(.id(prefix: version.id), from: road.target, to: .file(out))
      return try fileBytes("\(out).companions/att/big")
    }
  }

  /// In another part it has changed since.
  @Test func `a damaged block of a companion is had from the file beside the database`() async throws {
    let pushed = try await Pushed()
    try pushed.flip()
    var changed = pushed.content
    changed[0] ^= 1
    changed += [1, 2, 3]
    try writeFile(pushed.file, changed)
    let repaired = try await pushed.repair()
    #expect(repaired.isWhole && repaired.saved.map(\.id) == [pushed.version.id] && repaired.lost.isEmpty)
    #expect(try await pushed.pulled() == pushed.content)
    let check = CheckRepository(pushed.road.world)
    #expect(try await check.run(at: pushed.road.target, databases: [], .all).harmed.isEmpty)
    #expect(try fileBytes(pushed.file) == changed)
  }

  /// Its last block is the beginning of a longer one now.
  @Test func `a file that has only grown since is as good as one that has not changed`() async throws {
    let pushed = try await Pushed()
    try pushed.flipInLastBlock()
    try writeFile(pushed.file, pushed.content + [1, 2, 3])
    let repaired = try await pushed.repair()
    #expect(repaired.isWhole && repaired.saved.map(\.id) == [pushed.version.id] && repaired.lost.isEmpty)
    #expect(try await pushed.pulled() == pushed.content)
  }

  @Test func `a block that is nowhere any more is lost`() async throws {
    let pushed = try await Pushed()
    try pushed.flip()
    try pushed.loseFile()
    let repaired = try await pushed.repair()
    #expect(repaired.saved.isEmpty && repaired.lost.map(\.id) == [pushed.version.id])
  }

  /// It may be the only one that has the rows of its time.
  @Test(arguments: [false, true])
  func `a version that lost a companion alone is flagged so, and stays where a rule would keep it`(packsAreGone: Bool)
    async throws
  {
    let pushed = try await Pushed()
    let packs = pushed.packs
    try pushed.flip()
    try pushed.loseFile()
    let repaired = try await pushed.repair()
    #expect(repaired.lost.map(\.sparesDatabase) == [true] && repaired.pushed.count == 1)
    let listed = try await pushed.listed()
    #expect(listed.map { $0.foundDamaged == nil } == [false, true])
    #expect(listed.map(\.losesCompanionsAlone) == [true, false])
    if packsAreGone { for pack in packs { pushed.road.store.content[pack] = nil } }
    let two = try await pushed.plan(last: 2)
    #expect(two.refusals.isEmpty && two.chains.map(\.plan.going.count) == [0])
    #expect(two.chains.flatMap(\.problems).map(\.code) == (packsAreGone ? ["incomplete"] : []))
    #expect(try await pushed.plan(last: 1).chains.flatMap { $0.plan.going.map(\.version.id) } == [pushed.version.id])
  }

  @Test func `a drill says that a companion alone is lost, and looks at the database all the same`() async throws {
    let pushed = try await Pushed()
    try pushed.flip()
    let drilled = try #require(try await pushed.drill())
    #expect(!drilled.hasPassed && !drilled.isRestored && drilled.version.losesCompanionsAlone)
    #expect(drilled.passed.contains { $0.hasPrefix("the database restored from the target alone") })
    #expect(drilled.passed.contains("20 rows in 1 table as at push"))
    #expect(try await pushed.listed().map(\.foundDamaged) == [drilled.version.foundDamaged])
    // Once more says nothing else, and what is whole again is taken back.
    #expect(try await pushed.drill()?.version.foundDamaged == drilled.version.foundDamaged)
    try pushed.flip()
    #expect(try await pushed.drill()?.hasPassed == true)
    #expect(try await pushed.listed().map(\.foundDamaged) == [nil])
  }

  @Test func `a drill that brings the database back leaves of a greater damage that a companion is lost`() async throws
  {
    let pushed = try await Pushed()
    try await pushed.say("restore: a pack is damaged")
    try pushed.flip()
    #expect(try await pushed.drill()?.version.losesCompanionsAlone == true)
    #expect(try await pushed.listed().map(\.losesCompanionsAlone) == [true])
  }

  /// What says that it is no sound database could look at it.
  @Test func `a drill that cannot check the database takes back nothing for a lost companion`() async throws {
    let pushed = try await Pushed(.applicationCollation)
    let found = "what was restored is no sound database: x"
    try await pushed.say(found)
    try pushed.flip()
    #expect(try await pushed.drill()?.version.foundDamaged == found)
    #expect(try await pushed.listed().map(\.foundDamaged) == [found])
  }

  /// An earlier release said of both the same.
  @Test func `a repair says anew of a version that was found damaged that its database is whole`() async throws {
    let pushed = try await Pushed()
    try await pushed.say("damaged or missing: packs/x")
    #expect(try await pushed.listed().map(\.losesCompanionsAlone) == [false])
    try pushed.flip()
    try pushed.loseFile()
    _ = try await pushed.repair()
    #expect(try await pushed.listed().map(\.losesCompanionsAlone) == [true, false])
    // Of a database that failed its check only a drill says so.
    let found = "what was restored is no sound database: x"
    try await pushed.say(found)
    _ = try await pushed.repair()
    #expect(try await pushed.listed().first?.foundDamaged == found)
  }

  enum Pages: CaseIterable {
    case whole, spoilt
    /// At the target; they are still on this machine.
    case spoiltThere
  }

  /// Of the pack with the pages nobody read anything before.
  @Test(arguments: Pages.allCases)
  func `that a database is whole is said by who has read it, also where other packs were named`(_ state: Pages)
    async throws
  {
    let road = try await Road()
    var database = DatabaseSource(name: "app", path: try road.database(rows: 400))
    let first = try #require(try await road.push(database).pushed.first).version
    func packs() -> [ObjectName: [UInt8]] { road.store.content.filter { $0.key.text.hasPrefix("packs/") } }
    let before = packs()
    let pages = try #require(before.max { $0.value.count < $1.value.count }?.key)
    var random = SeededRandom(7)
    try writeFile(road.scratch.file("big"), random.bytes(1 << 20))
    database.companions = [Companion("big")]
    let second = try #require(try await road.push(database).pushed.first).version
    let new = packs().filter { before[$0.key] == nil }
    let blocks = try #require(new.max { $0.value.count < $1.value.count })
    let forget = ForgetVersions(road.world)
    let plan = try await forget.plan(.init(.versions([.id(prefix: first.id)])), at: road.target)
    _ = try await forget.carryOut(try #require(plan.chains.first), of: plan)
    road.store.content[blocks.key]?[blocks.value.count / 2] ^= 1
    if state != .whole { road.store.content[pages]?[5000] ^= 1 }
    try writeFile(road.scratch.file("big"), random.bytes(1 << 20))
    var request = RepairRepository.Request(databases: state == .spoiltThere ? [database] : [])
    request.packs = [blocks.key.text]
    let outcome = try await RepairRepository(road.world).run(request, at: road.target)
    let (lost, isWhole) = (outcome.lost + outcome.elsewhere, state == .whole)
    #expect(lost.map(\.id) == [second.id] && lost.map(\.sparesDatabase) == [isWhole])
    let listed = try await ListVersions(road.world).run(at: road.target).versions.first { $0.id == second.id }
    #expect(listed?.foundDamaged?.isEmpty == false && listed?.losesCompanionsAlone == isWhole)
    // The other pack is named, though nothing needs it but what is lost.
    #expect(outcome.failures.count { $0.message.hasPrefix("\(pages.text) is damaged, too") } == (isWhole ? 0 : 1))
  }

  /// Nothing says any more what lay where: the file of that name is tried. It may have grown since.
  @Test func `a companion is had from its file where all packs are gone`() async throws {
    let pushed = try await Pushed()
    let scratch = try Scratch()
    for pack in pushed.packs { pushed.road.store.content[pack] = nil }
    try writeFile(pushed.file, pushed.content + [1, 2, 3])
    let repaired = try await pushed.repair(pushed.road.withoutState(scratch))
    #expect(repaired.isWhole && repaired.saved.map(\.id) == [pushed.version.id] && repaired.lost.isEmpty)
    #expect(try await pushed.pulled() == pushed.content)
  }

  /// It was asked for, or is written as a whole anyhow. Elsewhere it has changed since, and it has grown.
  @Test(arguments: [DatabaseSource.Method.file, .vacuum], [false, true])
  func `a database that is kept as a file is had from the file`(_ method: DatabaseSource.Method, packsAreGone: Bool)
    async throws
  {
    let road = try await Road()
    var random = SeededRandom(9)
    let content = Array("bplist00".utf8) + random.bytes(16 * 65_536)
    let database = DatabaseSource(name: "app", path: road.scratch.file("store.binary"), method: method)
    try writeFile(database.path, content)
    let version = try #require(try await road.push(database).pushed.first).version
    #expect(!version.isDatabase)
    let scratch = try Scratch()
    var (now, world) = (content + [1, 2, 3], road.world)
    let packs = road.store.content.filter { $0.key.text.hasPrefix("packs/") }
    let largest = try #require(packs.max { $0.value.count < $1.value.count })
    if packsAreGone {
      for pack in packs.keys { road.store.content[pack] = nil }
      world = road.withoutState(scratch)
    } else {
      road.store.content[largest.key]?[largest.value.count / 2] ^= 1
      now[20] ^= 1
    }
    try writeFile(database.path, now)
    let repaired = try await RepairRepository(world).run(.init(databases: [database]), at: road.target)
    #expect(repaired.isWhole && repaired.saved.map(\.id) == [version.id] && repaired.lost.isEmpty)
    let out = road.scratch.file("out.binary")
    _ = try await Pull(road.world).run(.id(prefix: version.id), from: road.target, to: .file(out))
    #expect(try fileBytes(out) == content && fileBytes(database.path) == now)
    #expect(road.notices.said.withLock { $0 }.filter { $0.contains("of no help") }.isEmpty)
    #expect(road.files(in: "\(world.stateFolder)/spool").filter { $0 != "lock" }.isEmpty)
  }

  @Test func `no link is followed to a block`() async throws {
    let pushed = try await Pushed()
    try pushed.flip()
    try FileManager.default.moveItem(atPath: pushed.file, toPath: pushed.road.scratch.file("elsewhere"))
    try #require(symlink(pushed.road.scratch.file("elsewhere"), pushed.file) == 0)
    #expect(try await pushed.repair().lost.map(\.id) == [pushed.version.id])
  }
}
