import FoundationEssentials
import Storage
import TestKit
import Testing

@testable import Operations
@testable import Snapshots

/// A drill finds out whether a version can be lived with, says so at the target, and leaves nothing behind.
@Suite struct DrillTests {
  private static func request(_ change: (inout Drill.Request) -> Void = { _ in }) -> Drill.Request {
    var request = Drill.Request()
    change(&request)
    return request
  }

  private func pushed(rows: Int = 300) async throws -> (Road, DatabaseSource) {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: rows))
    #expect(try await road.push(database).failures.isEmpty)
    return (road, database)
  }

  private func drill(
    _ road: Road, _ request: Drill.Request = Drill.Request(), at target: TargetAccess? = nil
  ) async throws -> Drill.Outcome {
    let outcome = try await Drill(road.world).run(request, at: target ?? road.target)
    expectNothingLeft(road)
    return outcome
  }

  private func expectNothingLeft(_ road: Road) {
    #expect(road.files(in: "\(road.world.stateFolder)/spool").filter { $0 != "lock" }.isEmpty)
  }

  /// What the list shows of the newest version.
  private func listed(_ road: Road) async throws -> VersionSummary {
    try #require(try await ListVersions(road.world).run(at: road.target).versions.last)
  }

  @Test func `a sound version passes, and says so afterwards`() async throws {
    let (road, _) = try await pushed()
    #expect(try await listed(road).drilledAt == nil)
    let outcome = try await drill(
      road, Self.request { $0.trials["app"] = Drill.Trial(query: "SELECT 1 FROM t WHERE id = 7") })
    #expect(outcome.failures.isEmpty)
    let drilled = try #require(outcome.drilled.first)
    #expect(drilled.hasPassed && drilled.recorded && drilled.unchecked.isEmpty)
    #expect(
      drilled.passed.contains("300 rows in 1 table as at push") && drilled.passed.contains("the query returned a row"))
    let version = try await listed(road)
    #expect(version.drillPassed == true && version.drilledAt == drilled.version.drilledAt)
    #expect(version.drillText == drilled.text)
  }

  @Test(arguments: SampleDatabase.allCases.filter(\.needsApplicationCode))
  func `what needs its application's code passes as far as it can be looked at`(_ kind: SampleDatabase) async throws {
    let road = try await Road()
    let path = road.scratch.file("app.db")
    try kind.make(at: path)
    let pushed = try await road.push(DatabaseSource(name: "app", path: path))
    #expect(pushed.failures.isEmpty && pushed.damage == nil)
    let outcome = try await drill(road)
    #expect(outcome.failures.isEmpty && outcome.drilled.first?.hasPassed == true, "\(outcome)")
  }

  @Test func `the target alone is enough, and this machine's memory is not asked`() async throws {
    let (road, _) = try await pushed()
    let pack = try #require(road.store.content.keys.first { $0.text.hasPrefix("packs/") })
    // Everything is remembered here; what counts is what is there.
    road.store.content[pack] = nil
    let drilled = try #require(try await drill(road).drilled.first)
    #expect(!drilled.hasPassed && drilled.findings.first?.hasPrefix("restore: ") == true)
    #expect(try await listed(road).drillPassed == false)
  }

  @Test func `the last drill counts, also when the clock has gone back since`() async throws {
    let (road, _) = try await pushed()
    var world = road.world
    world.now = { [now = world.now] in now() + 86_400_000 }
    _ = try await Drill(world).run(Drill.Request(), at: road.target)
    #expect(try await listed(road).drillPassed == true)
    let pack = try #require(road.store.content.keys.first { $0.text.hasPrefix("packs/") })
    road.store.content[pack]?[300] ^= 1
    let drilled = try #require(try await drill(road).drilled.first)
    #expect(!drilled.hasPassed && drilled.recorded)
    #expect(try await listed(road).drillPassed == false)
  }

  @Test func `a manifest that this machine has kept is read at the target all the same`() async throws {
    let (road, _) = try await pushed(rows: 20)
    let manifest = try #require(road.store.content.keys.first { $0.text.hasPrefix("versions/") })
    road.store.content[manifest]?[200] ^= 1
    let outcome = try await drill(road)
    #expect(outcome.drilled.isEmpty && outcome.failures.map(\.error.kind) == [.verificationFailed])
  }

  @Test func `a flipped byte in a pack makes it fail`() async throws {
    let (road, _) = try await pushed()
    let pack = try #require(road.store.content.keys.first { $0.text.hasPrefix("packs/") })
    road.store.content[pack]?[5000] ^= 1
    let drilled = try #require(try await drill(road).drilled.first)
    #expect(!drilled.hasPassed && drilled.recorded)
    #expect(try await listed(road).drillText == drilled.text)
  }

  @Test func `rows other than those at push make it fail`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20))
    var push = Push(road.world)
    push.count = { _ in [TableRows(table: "t", rows: 21)] }
    _ = try await push.run(Push.Request(database: database, targets: [road.target]))
    let drilled = try #require(try await drill(road).drilled.first)
    #expect(drilled.findings == ["row counts: table 't' has 20 rows, and had 21"])
  }

  @Test func `a push whose rows cannot be counted is a push`() async throws {
    let road = try await Road()
    let database = DatabaseSource(name: "app", path: try road.database(rows: 20))
    var push = Push(road.world)
    push.count = { _ in throw SnapshotError(.unreadable, "the disk is failing") }
    let outcome = try await push.run(Push.Request(database: database, targets: [road.target]))
    #expect(outcome.pushed.count == 1 && outcome.failures.isEmpty && outcome.damage == nil)
    let drilled = try #require(try await drill(road).drilled.first)
    #expect(drilled.hasPassed && drilled.unchecked == ["row counts: none were noted at push"])
  }

  @Test func `a query without a row makes it fail`() async throws {
    let (road, _) = try await pushed(rows: 20)
    let drilled = try #require(
      try await drill(road, Self.request { $0.otherwise = Drill.Trial(query: "SELECT 1 FROM t WHERE id > 20") }).drilled
        .first)
    #expect(drilled.findings == ["the query returned no row"])
    #expect(try await listed(road).drillPassed == false)
  }

  @Test(arguments: ["DELETE FROM t RETURNING id", "selct 1", "SELECT 1 UNION"])
  func `a query that writes or is no SQL is refused, and says nothing of the version`(_ query: String) async throws {
    let (road, _) = try await pushed(rows: 3000)
    let fetched = Counter()
    let store = HookedStore(
      road.store,
      beforeGet: { name async throws(StoreError) in
        if name.text.hasPrefix("packs/") { _ = fetched.add(1) }
      })
    let target = TargetAccess(name: "memory", store: store, unlock: road.target.unlock)
    let outcome = try await drill(road, Self.request { $0.otherwise = Drill.Trial(query: query) }, at: target)
    #expect(outcome.drilled.isEmpty)
    #expect(outcome.failures.first?.error.code == "query" && outcome.failures.first?.error.kind == .usage)
    #expect(fetched.add(0) == 0, "no version is fetched for it")
    #expect(try await listed(road).drilledAt == nil)
    #expect(try await drill(road, at: target).drilled.count == 1 && fetched.add(0) > 0)
  }

  @Test func `a database that was damaged when it was pushed fails`() async throws {
    let road = try await Road()
    let path = try road.database(rows: 300)
    try SQLite.run("UPDATE t SET body = NULL WHERE id = 7", on: path)
    try SQLite.run(
      """
      PRAGMA writable_schema=1;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id integer primary key, body blob NOT NULL)' WHERE name = 't';
      """, on: path)
    #expect(try await road.push(DatabaseSource(name: "app", path: path)).damage != nil)
    let drilled = try #require(try await drill(road).drilled.first)
    #expect(
      drilled.findings == [
        "integrity_check: NULL value in t.body (the database was damaged already when it was pushed)"
      ])
  }

  @Test func `credentials that only read can drill, and are told what is not noted`() async throws {
    let (road, _) = try await pushed(rows: 20)
    let before = road.store.content
    let reading = TargetAccess(name: "memory", store: ReadOnlyStore(road.store), unlock: road.target.unlock)
    let drilled = try #require(try await drill(road, at: reading).drilled.first)
    #expect(drilled.hasPassed && !drilled.recorded)
    #expect(road.notices.said.withLock { $0.contains { $0.contains("could not be noted") } })
    road.notices.said.withLock { $0 = [] }
    _ = try await drill(road, Self.request { $0.records = false }, at: reading)
    #expect(road.notices.said.withLock { $0.isEmpty })
    #expect(road.store.content == before)
  }

  @Test func `a target that shows less than this machine has seen is no target to trust`() async throws {
    let (road, database) = try await pushed(rows: 20)
    let before = road.store.content
    try await road.change(database.path)
    _ = try await road.push(database)
    road.store.content = before
    let outcome = try await drill(road)
    #expect(outcome.drilled.isEmpty)
    #expect(outcome.failures.map(\.error.kind) == [.verificationFailed])
    // Elsewhere nobody can know.
    let scratch = try Scratch()
    let other = try await Drill(road.withoutState(scratch)).run(Drill.Request(), at: road.target)
    #expect(other.drilled.first?.hasPassed == true)
  }

  private static let byName = Self.request { $0.choice = .versions([.latest(database: "app")]) }

  @Test func `a drill without a configuration restores however it chooses, and tells what is not noted`() async throws {
    let (road, _) = try await pushed(rows: 20)
    for name in road.store.content.keys where name.text.hasPrefix("config/") { road.store.content[name] = nil }
    let before = road.store.content
    for request in [Self.request(), Self.request { $0.databases = ["app"] }, Self.byName] {
      road.notices.said.withLock { $0 = [] }
      let drilled = try #require(try await drill(road, request).drilled.first)
      #expect(drilled.hasPassed && !drilled.recorded)
      let said = road.notices.said.withLock { $0 }
      #expect(said.contains { $0.contains("no configuration of the repository can be read") }, "\(said)")
      #expect(said.contains { $0.contains("until `sealift repair` on this machine") }, "\(said)")
      #expect(said.contains { $0.contains("could not be noted") }, "\(said)")
      var unrecorded = request
      unrecorded.records = false
      #expect(try await drill(road, unrecorded).drilled.map(\.hasPassed) == [true])
    }
    #expect(road.store.content == before)
  }

  @Test(arguments: [false, true])
  func `who only drills remembers the configuration however it chooses`(isByName: Bool) async throws {
    let (road, _) = try await pushed(rows: 20)
    let scratch = try Scratch()
    let world = road.withoutState(scratch)
    let request = isByName ? Self.byName : Self.request()
    #expect(try await Drill(world).run(request, at: road.target).drilled.map(\.hasPassed) == [true])
    for name in road.store.content.keys where name.text.hasPrefix("config/") { road.store.content[name] = nil }
    #expect(try await CheckRepository(world).run(at: road.target, databases: [], .structure).remembersConfiguration)
  }

  @Test func `a drill by name is none of another repository that the same key opens`() async throws {
    let (road, _) = try await pushed(rows: 20)
    let (other, _) = try await pushed(rows: 20)
    road.store.content = other.store.content
    for request in [Self.request(), Self.byName] {
      let error = await #expect(throws: OperationError.self) { try await drill(road, request) }
      #expect(error?.kind == .verificationFailed && error?.code == "rolledBack")
    }
    expectNothingLeft(road)
    #expect(road.store.content == other.store.content)
  }

  @Test func `a drill by name misses another chain of the database that this machine has seen`() async throws {
    let (road, database) = try await pushed(rows: 20)
    let before = road.store.content
    var forked = database
    forked.fork = 1
    try await road.change(database.path)
    #expect(try await road.push(forked).failures.isEmpty)
    #expect(try await drill(road, Self.byName).failures.isEmpty)
    // Of the newest version nothing is shown, or of its chain.
    let first = road.store.content
    try await road.change(database.path)
    #expect(try await road.push(forked).failures.isEmpty)
    for shown in [first, before] {
      road.store.content = shown
      let outcome = try await drill(road, Self.byName)
      #expect(outcome.drilled.isEmpty && outcome.failures.map(\.error.code) == ["rolledBack"])
    }
    // Elsewhere nobody can know.
    let scratch = try Scratch()
    #expect(try await Drill(road.withoutState(scratch)).run(Self.byName, at: road.target).drilled.count == 1)
  }

  @Test func `any version may be drilled, and forgotten ones are not`() async throws {
    let (road, database) = try await pushed(rows: 20)
    for _ in 0..<2 {
      try await road.change(database.path)
      _ = try await road.push(database)
    }
    let versions = try await ListVersions(road.world).run(at: road.target).versions
    for (index, version) in versions.enumerated() {
      var any = Drill(road.world)
      any.pick = { count in
        #expect(count == 3)
        return index
      }
      let outcome = try await any.run(Self.request { $0.choice = .random }, at: road.target)
      #expect(outcome.drilled.map(\.version.id) == [version.id])
      let named = try await drill(
        road, Self.request { $0.choice = .versions([.id(prefix: version.id), .latest(database: "nothing")]) })
      #expect(named.drilled.map(\.version.id) == [version.id])
      #expect(named.failures.map(\.error.kind) == [.noSuchVersion])
    }
    #expect(try await ListVersions(road.world).run(at: road.target).versions.allSatisfy { $0.drillPassed == true })
  }

  @Test func `this host's databases are drilled, others' when they are asked for`() async throws {
    let (road, database) = try await pushed(rows: 20)
    var other = road.world
    other.host = "other"
    _ = try await Push(other).run(Push.Request(database: database, targets: [road.target]))
    var second = database
    second.name = "second"
    _ = try await Push(other).run(Push.Request(database: second, targets: [road.target]))
    func hosts(_ world: World, _ change: (inout Drill.Request) -> Void = { _ in }) async throws -> [String] {
      let outcome = try await Drill(world).run(Self.request(change), at: road.target)
      #expect(outcome.failures.isEmpty)
      return outcome.drilled.map { "\($0.version.database)@\($0.version.host)" }
    }
    #expect(try await hosts(road.world) == ["app@host"])
    #expect(try await hosts(other) == ["app@other", "second@other"])
    #expect(try await hosts(road.world) { $0.allHosts = true } == ["app@host", "app@other", "second@other"])
    #expect(try await hosts(road.world) { $0.databases = ["second"] } == ["second@other"])
    var stranger = road.world
    stranger.host = "stranger"
    let error = await #expect(throws: OperationError.self) { try await hosts(stranger) }
    #expect(error?.code == "severalHosts")
  }

  @Test func `a manifest that cannot be read is not passed over`() async throws {
    let (road, database) = try await pushed(rows: 20)
    try await road.change(database.path)
    _ = try await road.push(database)
    let newest = try #require(road.store.content.keys.filter { $0.text.hasPrefix("versions/") }.max())
    road.store.content[newest]?[200] ^= 1
    let scratch = try Scratch()
    let outcome = try await Drill(road.withoutState(scratch)).run(Drill.Request(), at: road.target)
    #expect(outcome.drilled.isEmpty)
    #expect(outcome.failures.map(\.error.kind) == [.verificationFailed])
  }

  @Test func `what a dead drill left is gone after the next one`() async throws {
    let (road, _) = try await pushed(rows: 20)
    let spool = try Spool.open(in: road.scratch.file("scratch"))
    try writeFile("\(spool.path)/image", [1, 2, 3])
    var request = Drill.Request()
    request.scratch = road.scratch.file("scratch")
    // While it lives, nobody touches it.
    _ = try await Drill(road.world).run(request, at: road.target)
    #expect(road.files(in: road.scratch.file("scratch/spool")).filter { $0 != "lock" }.count == 1)
    let left = "\(road.scratch.file("scratch/spool"))/00000000deadbeef"
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: false)
    try writeFile("\(left)/image", [1, 2, 3])
    spool.remove()
    _ = try await Drill(road.world).run(request, at: road.target)
    #expect(road.files(in: road.scratch.file("scratch/spool")).filter { $0 != "lock" }.isEmpty)
  }
}
